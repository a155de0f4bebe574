//! Numbers as people say them: ages, durations, tokens, short ids.
//!
//! Programs get the exact values; nothing here is read back.

use std::time::Duration;

use stdx::clock::Timestamp;

/// Says how long ago something was.
pub(crate) fn ago(now: Timestamp, at: &str) -> String {
    let Some(at) = Timestamp::parse(at) else { return at.to_owned() };
    let seconds = now.since(at).as_secs();
    match seconds {
        0..=9 => "just now".to_owned(),
        10..=59 => format!("{seconds} s ago"),
        60..=3_599 => format!("{} min ago", seconds / 60),
        3_600..=86_399 => format!("{} h ago", seconds / 3_600),
        86_400..=2_591_999 => format!("{} d ago", seconds / 86_400),
        _ => at.to_string().chars().take(10).collect(),
    }
}

/// Says how long something took.
pub(crate) fn took(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..=59 => format!("{:.1} s", duration.as_secs_f64()),
        60..=3_599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Says a large count in few digits.
pub(crate) fn count(n: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", n / unit, n % unit * 10 / unit);
    match n {
        0..=9_999 => n.to_string(),
        10_000..=999_999 => format!("{}k", tenths(1_000)),
        _ => format!("{}M", tenths(1_000_000)),
    }
}

/// Says how many bytes, in the unit that fits.
pub(crate) fn bytes(n: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((name, unit)) = units.iter().find(|(_, unit)| *unit <= n) else {
        return format!("{n} B");
    };
    format!("{}.{} {name}", n / unit, n % unit * 10 / unit)
}

/// Says how large a model's window is, as its maker does: in round thousands, of either kind.
pub(crate) fn window(tokens: u32) -> String {
    for (unit, name) in [(1_000_000, "M"), (1 << 20, "M"), (1_000, "k"), (1 << 10, "k")] {
        if tokens >= unit && tokens.is_multiple_of(unit) {
            return format!("{}{name}", tokens / unit);
        }
    }
    count(tokens.into())
}

/// Says how many lines, with the right word.
pub(crate) fn lines(n: usize) -> String {
    if n == 1 { "1 line".to_owned() } else { format!("{n} lines") }
}

/// Shortens a session's id to its random end, which is what people type back.
pub(crate) fn short_id(id: &str) -> &str {
    id.len().checked_sub(8).and_then(|at| id.get(at..)).unwrap_or(id)
}

/// Quotes a word for a shell, where it needs it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_said_as_people_say_them() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let before =
            |seconds: i64| Timestamp::from_millis(1_700_000_000_000 - seconds * 1_000).to_string();
        for (seconds, said) in [
            (3, "just now"),
            (12, "12 s ago"),
            (61, "1 min ago"),
            (7_300, "2 h ago"),
            (90_000, "1 d ago"),
        ] {
            assert_eq!(ago(now, &before(seconds)), said);
        }
        assert_eq!(ago(now, &before(3_000_000)), "2023-10-11");
        assert_eq!(ago(now, "?"), "?");
        assert_eq!(took(Duration::from_millis(840)), "0.8 s");
        assert_eq!(took(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(took(Duration::from_secs(7_320)), "2 h 2 min");
        assert_eq!(
            (count(9_999), count(12_345), count(3_210_000)),
            ("9999".into(), "12.3k".into(), "3.2M".into())
        );
        for (tokens, said) in [
            (32_768, "32k"),
            (128_000, "128k"),
            (4_096, "4k"),
            (1_048_576, "1M"),
            (1_000_000, "1M"),
            (12_345, "12.3k"),
            (0, "0"),
        ] {
            assert_eq!(window(tokens), said);
        }
        assert_eq!((lines(1), lines(0)), ("1 line".into(), "0 lines".into()));
        assert_eq!(short_id("ses_0190aaaabbbbccccddddeeeeffff0000"), "ffff0000");
        assert_eq!(short_id("abc"), "abc");
    }

    #[test]
    fn a_path_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("/tmp/a-b_c.d"), "/tmp/a-b_c.d");
        assert_eq!(quoted("/tmp/it's here"), r"'/tmp/it'\''s here'");
    }
}
