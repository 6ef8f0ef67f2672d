//! A stand-in of the same shape until the pure redactor is there.

use serde_json::Value;

/// Stand-in.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    values: Vec<(String, String)>,
}

impl Redactor {
    /// Nothing is a secret.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// These are.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { values: values.into_iter().collect() }
    }

    /// Covers the strings in `value`.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for (name, secret) in &self.values {
                    *text = text.replace(secret, &format!("«redacted:{name}»"));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.value(item)),
            _ => {}
        }
    }

    /// Stand-in.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream { values: self.values.clone(), held: Vec::new() }
    }
}

/// Stand-in: holds everything back until it is finished.
#[derive(Debug)]
pub struct Stream {
    values: Vec<(String, String)>,
    held: Vec<u8>,
}

impl Stream {
    /// More bytes.
    pub fn push(&mut self, bytes: &[u8], _out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
    }

    /// The last of them.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let mut text = String::from_utf8_lossy(&self.held).into_owned();
        self.held.clear();
        for (name, secret) in &self.values {
            text = text.replace(secret, &format!("«redacted:{name}»"));
        }
        out.extend_from_slice(text.as_bytes());
    }
}
