//! Usage: what the vendor says it charged. One billed record that cannot be read voids the figure.

use serde_json::{Map, Value};

use super::record::{Usage, Windows};
use crate::decode::Path;
use crate::fact::Tokens;

/// The usage read so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    total: Option<u64>,
    void: bool,
    parts: Tokens,
    cost: Option<f64>,
    windows: Option<Map<String, Value>>,
}

impl Tally {
    /// Takes one record in; true where it was a billed one.
    pub(super) fn take(&mut self, rule: &Usage, record: &Value) -> bool {
        if !rule.usage_when.matches(record) {
            return false;
        }
        match billed(rule, record) {
            Some(sum) if rule.cumulative => self.total = Some(sum),
            Some(sum) => match self.total.unwrap_or(0).checked_add(sum) {
                Some(total) => self.total = Some(total),
                None => self.void = true,
            },
            None => self.void = true,
        }
        self.add_parts(rule, record);
        self.add_cost(rule, record);
        true
    }

    /// Takes quota windows in; answers with them where the record held some.
    pub(super) fn take_windows(&mut self, rule: &Windows, record: &Value) -> Option<Value> {
        if !rule.when.matches(record) {
            return None;
        }
        let found = rule.path.get(record)?.as_object()?;
        let kept: Map<String, Value> = found
            .iter()
            .filter_map(|(name, window)| Some((name.clone(), window_of(rule, window)?)))
            .collect();
        if kept.is_empty() {
            return None;
        }
        self.windows = Some(kept.clone());
        Some(Value::Object(kept))
    }

    /// A record that might have been billed could not be read.
    pub(super) fn void(&mut self) {
        self.void = true;
    }

    pub(super) fn total(&self) -> Option<u64> {
        self.total.filter(|_| !self.void)
    }

    pub(super) fn tokens(&self) -> Tokens {
        if self.void { Tokens::default() } else { Tokens { total: self.total(), ..self.parts } }
    }

    pub(super) fn cost(&self) -> Option<f64> {
        self.cost.filter(|cost| !self.void && cost.is_finite())
    }

    pub(super) fn windows(&self) -> Option<&Map<String, Value>> {
        self.windows.as_ref()
    }

    fn add_parts(&mut self, rule: &Usage, record: &Value) {
        let cumulative = rule.cumulative;
        let add = |kept: &mut Option<u64>, path: &Option<Path>| {
            let Some(found) = path.as_ref().and_then(|p| p.get(record)).and_then(Value::as_u64)
            else {
                return;
            };
            *kept = Some(if cumulative { found } else { kept.unwrap_or(0).saturating_add(found) });
        };
        add(&mut self.parts.input, &rule.breakdown.input);
        add(&mut self.parts.output, &rule.breakdown.output);
        add(&mut self.parts.reasoning, &rule.breakdown.reasoning);
        add(&mut self.parts.cache_read, &rule.breakdown.cache_read);
        add(&mut self.parts.cache_write, &rule.breakdown.cache_write);
    }

    fn add_cost(&mut self, rule: &Usage, record: &Value) {
        let found = rule.cost_path.as_ref().and_then(|p| p.get(record)).and_then(Value::as_f64);
        if let Some(cost) = found {
            let before = if rule.cost_cumulative { 0.0 } else { self.cost.unwrap_or(0.0) };
            self.cost = Some(before + cost);
        }
    }
}

fn billed(rule: &Usage, record: &Value) -> Option<u64> {
    let figures = rule.usage_paths.iter().map(|path| path.get(record)?.as_u64());
    let first = sum(figures)?;
    match &rule.when_zero {
        Some(second) if first == 0 => {
            let Some(Value::Object(models)) = second.path.get(record) else { return Some(0) };
            let figures = models.values().flat_map(|model| {
                second.keys.iter().map(move |key| model.get(key).and_then(Value::as_u64))
            });
            sum(figures)
        }
        _ => Some(first),
    }
}

fn sum(mut figures: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    figures.try_fold(0_u64, |sum, figure| sum.checked_add(figure?))
}

fn window_of(rule: &Windows, window: &Value) -> Option<Value> {
    let window = window.as_object()?;
    let kept: Option<Map<String, Value>> = rule
        .keys
        .iter()
        .map(|key| Some((key.clone(), window.get(key).filter(|v| !v.is_null())?.clone())))
        .collect();
    kept.map(Value::Object)
}
