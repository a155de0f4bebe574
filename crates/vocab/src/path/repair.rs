//! What models and clipboards do to names, undone: mention marks, Unicode spaces, curly quotes.
//!
//! Only texts are made here; whether such a file exists is asked by whoever holds a root.

/// Drops one leading `@`, the mark of a mention.
pub(super) fn without_at(text: &str) -> &str {
    text.strip_prefix('@').unwrap_or(text)
}

/// Turns Unicode spaces into plain ones.
pub(super) fn plain_spaces(text: &str) -> String {
    let is_space = |ch: char| {
        matches!(ch, '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
    };
    text.chars().map(|ch| if is_space(ch) { ' ' } else { ch }).collect()
}

/// Returns the repaired readings in the order to try; some may equal the text or each other.
pub(super) fn readings(text: &str) -> Vec<String> {
    let bare = without_at(text);
    let plain = plain_spaces(bare);
    let narrow = narrow_before_meridiem(&plain);
    let curly = |text: &str| text.replace('\'', "\u{2019}");
    let (plain_curly, narrow_curly) = (curly(&plain), curly(&narrow));
    vec![bare.to_owned(), plain_spaces(text), plain, narrow, plain_curly, narrow_curly]
}

/// Puts the narrow space before `AM.` and `PM.` that screenshots on one system carry in their names.
fn narrow_before_meridiem(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, ch) in text.char_indices() {
        let rest = &text.as_bytes()[index..];
        let meridiem = rest.get(1..4).is_some_and(|word| {
            word.eq_ignore_ascii_case(b"am.") || word.eq_ignore_ascii_case(b"pm.")
        });
        out.push(if ch == ' ' && meridiem { '\u{202F}' } else { ch });
    }
    out
}
