//! Pieces of a long text, read from a stream that drips.

use super::*;

const SMALL: Bounds = Bounds { lines: 4, bytes: 12 };

fn slice(text: &[u8], first: u64, limit: Option<u64>) -> Slice {
    // One byte at a time shows that nothing depends on how a stream is cut.
    struct Drip<'a>(&'a [u8]);
    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((byte, rest)) = self.0.split_first() else { return Ok(0) };
            buffer[0] = *byte;
            self.0 = rest;
            Ok(1)
        }
    }
    let wanted = Wanted { first, limit, bounds: SMALL };
    let whole = lines(&mut &text[..], wanted, &|| true).unwrap();
    assert_eq!(whole, lines(&mut Drip(text), wanted, &|| true).unwrap());
    whole
}

#[test]
fn lines_come_whole_and_the_total_is_that_of_the_stream() {
    let check = |text: &str, first, limit, kept: &str, cut, total| {
        let found = slice(text.as_bytes(), first, limit);
        assert_eq!((found.text.as_str(), found.cut), (kept, cut), "{text:?}");
        assert_eq!(found.total_lines, Some(total), "{text:?}");
    };
    check("", 1, None, "", None, 0);
    check("a", 1, None, "a", None, 1);
    check("a\n", 1, None, "a\n", None, 1);
    check("a\r\nb\n", 1, None, "a\r\nb\n", None, 2);
    check("a\nb\nc\n", 2, Some(1), "b", None, 3);
    check("a\nb\nc\n", 2, None, "b\nc\n", None, 3);
    check("a\nb\nc\n", 3, Some(9), "c\n", None, 3);
    check("a\nb\nc\n", 4, None, "", None, 3);
    check("1\n2\n3\n4\n5", 1, None, "1\n2\n3\n4", Some(Cut::Lines), 5);
    check("1\n2\n3\n4\n", 1, None, "1\n2\n3\n4\n", None, 4);
    check("aaaaa\nbbbbb\ncc\n", 1, None, "aaaaa\nbbbbb", Some(Cut::Bytes), 3);
    check("\n\n", 1, None, "\n\n", None, 2);
}

#[test]
fn a_line_longer_than_the_limit_is_measured_and_not_held() {
    let found = slice(b"a\nxxxxxxxxxxxxxxxxxxxx\nb\n", 2, None);
    assert_eq!((found.long_line, found.text.as_str()), (Some(20), ""));
    assert_eq!(found.total_lines, Some(3));
    let found = slice(b"a\nxxxxxxxxxxxxxxxxxxxx", 1, None);
    assert_eq!((found.long_line, found.text.as_str()), (None, "a"));
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_a_nul_is_told() {
    assert_eq!(slice(b"a\xff\n", 1, None).text, "a\u{fffd}\n");
    // Further behind a NUL is one more thing that is no text.
    for (before, is_binary) in [(1, true), (READ_SNIFF_BYTES - 1, true), (READ_SNIFF_BYTES, false)]
    {
        let content = [&vec![b'a'; before][..], b"\0b"].concat();
        let wanted = Wanted { first: 1, limit: None, bounds: SMALL };
        let slice = lines(&mut &content[..], wanted, &|| true).unwrap();
        assert_eq!(slice.binary, is_binary, "{before}");
    }
}

#[test]
fn a_stream_of_gigabytes_is_read_only_as_far_as_it_is_asked() {
    struct Endless {
        given: u64,
    }
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'\n');
            self.given += buffer.len() as u64;
            Ok(buffer.len())
        }
    }
    let mut endless = Endless { given: 0 };
    let wanted = Wanted { first: 5, limit: Some(3), bounds: SMALL };
    let found = lines(&mut endless, wanted, &|| true).unwrap();
    assert_eq!((found.lines, found.total_lines), (3, None));
    assert!(endless.given <= READ_SCAN_BYTES_MAX + (1 << 20));
    let stopped = lines(&mut endless, wanted, &|| false).unwrap_err();
    assert_eq!(stopped.kind(), io::ErrorKind::Interrupted);
}
