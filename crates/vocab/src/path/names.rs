//! Names in print: what a listing shows always leads back to the file.
//!
//! Quoting for shells is not done here.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write,
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// Prints a name on one line: control and direction-changing characters, backslashes and bytes that
/// are no UTF-8 appear as `\n`, `\t`, `\r`, `\\` or `\xHH`. [`decode`] undoes it.
#[must_use]
pub fn display_name(name: &OsStr) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        for ch in chunk.valid().chars() {
            push_char(&mut out, ch);
        }
        push_bytes(&mut out, chunk.invalid());
    }
    out
}

fn push_char(out: &mut String, ch: char) {
    match ch {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        // Line and paragraph separators break lines; the others let a name pose as another one.
        '\u{2028}'
        | '\u{2029}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}' => push_bytes(out, ch.encode_utf8(&mut [0; 4]).as_bytes()),
        ch if ch.is_control() => push_bytes(out, ch.encode_utf8(&mut [0; 4]).as_bytes()),
        ch => out.push(ch),
    }
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(out, "\\x{byte:02x}").ok();
    }
}

/// Undoes the escapes of [`display_name`]; none when the text holds no escape or a broken one.
#[must_use]
pub fn decode(text: &str) -> Option<OsString> {
    if !text.contains('\\') {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next()? {
            b'\\' => b'\\',
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'x' => hex_byte(bytes.next()?, bytes.next()?)?,
            _ => return None,
        });
    }
    Some(OsString::from_vec(out))
}

pub(super) fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}
