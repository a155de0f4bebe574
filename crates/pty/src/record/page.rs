//! The last screen of a recording with its scrollback, as one page that needs nothing else: no script, no
//! font, no address that a browser would ask.
//!
//! What the program wrote becomes text, whatever it is; of its links only those that lead to the web or
//! to mail are kept.

use std::fmt::Write as _;

use stdx::clock::Timestamp;

use super::{Reader, RecordingError, cast, player};
use crate::job::JobRecord;

mod style;

use style::Style;

/// The page's own look, and that of the sixteen colors.
const LOOK: &str = "\
body{margin:0;background:#181818;color:#d8d8d8}\
header{padding:.6em 1em;border-bottom:1px solid #444;font:14px sans-serif}\
header code{color:#9a9a9a}\
pre{margin:1em;font:14px/1.25 ui-monospace,Menlo,Consolas,monospace}\
a{color:inherit}";

/// Returns the page.
///
/// # Errors
/// When a file cannot be read, or is of an unknown version.
pub fn page(reader: &mut Reader, job: &JobRecord) -> Result<String, RecordingError> {
    let began = Timestamp::from_millis(reader.began());
    let lines = player::last(reader)?.map(|mirror| mirror.styled_lines()).unwrap_or_default();
    let n_shown = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let name = escaped(&job.name);
    let command = escaped(&cast::command_line(&job.command));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{name}</title>\n<style>{LOOK}</style>\n</head>\n<body>\n\
         <header>{name} <code>{command}</code> {began}</header>\n<pre>"
    );
    for line in &lines[..n_shown] {
        write_line(line, &mut out);
        out.push('\n');
    }
    out.push_str("</pre>\n</body>\n</html>\n");
    Ok(out)
}

/// Writes a line, which begins and ends plain.
fn write_line(line: &[u8], out: &mut String) {
    let line = String::from_utf8_lossy(line);
    let (mut style, mut link, mut rest) = (Style::default(), None, line.as_ref());
    while !rest.is_empty() {
        let n_text = rest.find('\x1b').unwrap_or(rest.len());
        let (text, sequence) = rest.split_at(n_text);
        write_text(text, &style, link, out);
        rest = match sequence.as_bytes().get(1) {
            None => "",
            Some(b'[') => {
                let end = sequence[2..].find(|c: char| ('@'..='~').contains(&c));
                let (params, after) = sequence[2..].split_at(end.unwrap_or(sequence.len() - 2));
                if after.starts_with('m') {
                    style.select(params);
                }
                after.get(1..).unwrap_or_default()
            }
            Some(b']') => {
                let (command, after) = sequence[2..].split_once("\x1b\\").unwrap_or_default();
                let address = command.strip_prefix("8;").and_then(|rest| rest.split_once(';'));
                link = address.map(|(_, address)| address).filter(|address| leads_out(address));
                after
            }
            // Nothing else stands in such a line.
            Some(_) => sequence.get(1..).unwrap_or_default().trim_start_matches('\x1b'),
        };
    }
}

fn write_text(text: &str, style: &Style, link: Option<&str>, out: &mut String) {
    if text.is_empty() {
        return;
    }
    let (css, text) = (style.css(), escaped(text));
    if let Some(address) = link {
        let address = escaped(address);
        // A string takes whatever is written.
        write!(out, "<a href=\"{address}\" rel=\"noopener noreferrer\">").ok();
    }
    if css.is_empty() {
        out.push_str(&text);
    } else {
        write!(out, "<span style=\"{css}\">{text}</span>").ok();
    }
    if link.is_some() {
        out.push_str("</a>");
    }
}

fn leads_out(address: &str) -> bool {
    let begins = |scheme: &str| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    ["https://", "http://", "mailto:"].into_iter().any(begins)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Reading order and invisible letters could make it say something else than was shown.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
