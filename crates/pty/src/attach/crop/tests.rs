//! What a terminal is told while its size is the screen's, and while it is another one.

use super::*;

const STATE: &[u8] =
    br#"{"role":"attach","writer":false,"cols":20,"rows":4,"state":"of another age"}"#;
const WRITER: &[u8] = br#"{"writer":true,"cols":10,"rows":3}"#;

/// A client that looks at a screen of 20 by 4 cells.
fn looking(terminal: (u32, u32)) -> (Crop, bool) {
    let mut crop = Crop::default();
    crop.hear(STATE);
    let is_painted = crop.begin(br#"{"bytes":5}"#, terminal);
    (crop, is_painted)
}

/// Returns the lines of a terminal of that size that was told this.
fn shown(told: &[u8], size: (u16, u16)) -> Vec<String> {
    let mut terminal = Mirror::new(Size::clamped(size.0, size.1));
    terminal.feed(told);
    terminal.screen_text()
}

#[test]
fn bytes_pass_while_the_sizes_are_equal_or_not_known() {
    for terminal in [(20, 4), (0, 0), (0, 4)] {
        let (mut crop, is_painted) = looking(terminal);
        assert!(!is_painted && !crop.feed(b"abc") && crop.paint().is_none(), "{terminal:?}");
    }
    // Who types gives the size; what the host made of it comes later.
    let mut crop = Crop::default();
    crop.hear(WRITER);
    assert!(!crop.begin(b"{}", (20, 4)) && !crop.feed(b"abc"));
    // Nothing was said yet.
    assert!(!Crop::default().begin(b"{}", (20, 4)));
}

#[test]
fn another_size_is_painted_once_the_snapshot_is_whole() {
    let (mut crop, is_painted) = looking((10, 2));
    assert!(is_painted && crop.feed(b"12") && crop.paint().is_none());
    assert!(crop.feed(b"345\r\nand more than ten"));
    assert_eq!(shown(&crop.paint().unwrap(), (10, 2)), ["", "han ten"]);
}

#[test]
fn a_new_size_of_the_terminal_is_painted_at_once() {
    let (mut crop, _) = looking((10, 3));
    crop.feed(b"first\r\nsecond");
    crop.paint().unwrap();
    assert!(crop.paint().is_none());
    crop.resize((5, 1));
    assert_eq!(shown(&crop.paint().unwrap(), (5, 1)), ["cond"]);
}

#[test]
fn who_begins_to_type_gets_the_whole_and_then_the_bytes() {
    let (mut crop, _) = looking((10, 3));
    crop.feed(b"1234567890abcde");
    crop.paint().unwrap();
    crop.hear(WRITER);
    // It still belongs to the picture, whose size has changed at this place.
    assert!(crop.feed(b"f\x1b[1m"));
    let whole = crop.paint().unwrap();
    let mut expected = Mirror::new(Size::clamped(20, 4));
    expected.feed(b"1234567890abcde");
    expected.resize(Size::clamped(10, 3));
    expected.feed(b"f");
    assert_eq!(shown(&whole, (10, 3)), expected.screen_text());
    assert!(!crop.feed(b"more") && crop.paint().is_none());
    // A host that sends a snapshot of its own is believed.
    let (mut crop, _) = looking((10, 3));
    crop.hear(WRITER);
    assert!(!crop.begin(b"{}", (10, 3)) && !crop.feed(b"its own") && crop.paint().is_none());
}
