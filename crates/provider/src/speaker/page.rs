//! What a page says without its tags.

use vocab::limits::PROVIDER_ERROR_CHARS_MAX;

/// Returns the first words of a page, at least as many as are quoted. It reads each byte a bounded number
/// of times, as the page may be made to be slow.
pub(super) fn words(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    let mut kept = 0;
    while !rest.is_empty() && kept < PROVIDER_ERROR_CHARS_MAX {
        let (text, after) = rest.split_once('<').unwrap_or((rest, ""));
        for word in text.split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
                kept += 1;
            }
            out.push_str(word);
            kept += word.chars().count();
        }
        rest = skip_tag(after);
    }
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Returns what follows a tag, and for style and script what follows their end: without one, nothing.
fn skip_tag(tag: &str) -> &str {
    let after = |text: &'_ str| text.split_once('>').map_or(text.len(), |(name, _)| name.len() + 1);
    for name in ["style", "script"] {
        if !begins(tag, name) {
            continue;
        }
        let mut ends = tag.match_indices("</").map(|(at, _)| &tag[at..]);
        return ends.find(|end| begins(&end[2..], name)).map_or("", |end| &end[after(end)..]);
    }
    &tag[after(tag)..]
}

fn begins(text: &str, name: &str) -> bool {
    text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}
