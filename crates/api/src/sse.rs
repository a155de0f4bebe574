//! A decoder for the daemon's event streams: bytes in, events with their ids out.
//!
//! It keeps ids, which a reader needs to come back at its position. It does no I/O, and it bounds what
//! it holds.

use vocab::limits::CLIENT_EVENT_BYTES_MAX;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty when the stream gave none.
    pub name: String,
    /// Its data, lines joined by line feeds.
    pub data: String,
    /// Its id, where it carries one.
    pub id: Option<String>,
}

/// An event is larger than any that a daemon sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {CLIENT_EVENT_BYTES_MAX} bytes")]
pub struct TooLarge;

/// The state between two chunks of bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_cr: bool,
}

impl Decoder {
    /// Takes the next bytes and appends the events they complete.
    ///
    /// # Errors
    /// When an event grows beyond its bound; the stream is then of no use any more.
    pub fn feed(&mut self, bytes: &[u8], out: &mut impl Extend<Event>) -> Result<(), TooLarge> {
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => out.extend(self.end_line()),
                _ if self.line.len() + self.event.data.len() >= CLIENT_EVENT_BYTES_MAX => {
                    return Err(TooLarge);
                }
                _ => self.line.push(byte),
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.name),
            "id" => self.event.id = Some(value.to_owned()),
            // Comments keep the connection warm; `retry` is ours to decide.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str, Option<&str>)]) {
        for cut in 0..=text.len() {
            let (mut decoder, mut events) = (Decoder::default(), Vec::new());
            decoder.feed(&text.as_bytes()[..cut], &mut events).unwrap();
            decoder.feed(&text.as_bytes()[cut..], &mut events).unwrap();
            let told: Vec<_> = events
                .iter()
                .map(|e| (e.name.as_str(), e.data.as_str(), e.id.as_deref()))
                .collect();
            assert_eq!(told, expected, "cut at {cut}");
        }
    }

    #[test]
    fn events_come_out_whole_wherever_the_bytes_are_cut() {
        check(
            ": hi\n\nevent: stead-session\ndata: {}\n\nid: run_1.2.0\r\ndata: aü\r\ndata:b\r\n\r\nid: x\n\n",
            &[("stead-session", "{}", None), ("", "aü\nb", Some("run_1.2.0"))],
        );
        check("data: [DONE]\n\ndata: unfinished", &[("", "[DONE]", None)]);
        check("data\n\n", &[("", "", None)]);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let piece = vec![b'x'; 1 << 20];
        let fed =
            (0..=CLIENT_EVENT_BYTES_MAX >> 20).try_for_each(|_| decoder.feed(&piece, &mut events));
        assert_eq!(fed, Err(TooLarge));
    }
}
