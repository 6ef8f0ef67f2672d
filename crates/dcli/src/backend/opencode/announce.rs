//! Where the server is: the line of its standard output that announces its address.
//!
//! It is one line for people, after others or none; opencode 1.18.33 writes no handshake.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::ears::{Ears, Told};
use super::fault::Fault;

const SIGN: &str = "opencode server listening on ";
/// How often standard output is looked at.
const PAUSE: Duration = Duration::from_millis(15);
/// The most that is read of what may come before the line: 1 MiB.
const MOST: usize = 1 << 20;
/// Hosts that are this machine and nothing else.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Waits for the line: the address, without a slash at its end.
pub(super) fn wait(announced: &File, ears: &mut Ears) -> Result<String, Fault> {
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        // A file that cannot be read now is read again: the startup deadline bounds it.
        let read = announced.read_at(&mut chunk, text.len() as u64).unwrap_or(0);
        text.extend_from_slice(&chunk[..read]);
        if let Some(found) = address(&String::from_utf8_lossy(&text)) {
            return found;
        }
        if text.len() > MOST {
            return Err(Fault::Unannounced);
        }
        if read == 0 {
            ears.pause(PAUSE).map_err(|Told| Fault::Told)?;
        }
    }
}

/// The address in the first whole line that announces one.
fn address(text: &str) -> Option<Result<String, Fault>> {
    let (whole, _) = text.rsplit_once('\n')?;
    let url = whole.lines().find_map(|line| line.trim().strip_prefix(SIGN))?.trim();
    let url = url.trim_end_matches('/');
    let is_here = url.strip_prefix("http://").and_then(|rest| rest.rsplit_once(':')).is_some_and(
        |(host, port)| LOOPBACK.contains(&host) && port.parse::<u16>().is_ok_and(|port| port != 0),
    );
    Some(match is_here {
        true => Ok(url.to_owned()),
        false => Err(Fault::Elsewhere { url: url.chars().take(200).collect() }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_taken_from_a_whole_line_whatever_comes_before_it() {
        let said = "Warning: something\n\nopencode server listening on http://127.0.0.1:4096\n";
        assert_eq!(address(said).unwrap().unwrap(), "http://127.0.0.1:4096");
        for cut in 0..said.len() {
            assert!(address(&said[..cut]).is_none(), "{cut}");
        }
    }

    #[test]
    fn an_address_that_is_not_this_machine_is_refused() {
        for host in ["http://10.0.0.7:80", "https://127.0.0.1:1", "http://127.0.0.1.evil:1", "x"] {
            let found = address(&format!("{SIGN}{host}\n")).unwrap();
            assert!(matches!(found, Err(Fault::Elsewhere { .. })), "{host}");
        }
        for host in ["http://localhost:1", "http://[::1]:65535/"] {
            assert!(address(&format!("{SIGN}{host}\n")).unwrap().is_ok(), "{host}");
        }
    }
}
