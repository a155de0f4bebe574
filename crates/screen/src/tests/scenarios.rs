//! The scenarios in which serialisers of terminals fail, each cut at every byte.
//!
//! The first 29 are the ones that other emulators were measured with.

use super::{
    referee,
    same::{SMALL, difference, dirty, mirror},
};
use crate::snapshot::Depth;

/// Who else can tell whether the rebuilt terminal is right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Alacritty's own terminal understands all of it the same way.
    ToReferee,
    /// Only we keep this.
    ToUs,
}

use Known::{ToReferee, ToUs};

/// Name, what the program writes, what it writes after the snapshot, who knows it.
#[rustfmt::skip]
pub(super) const SCENARIOS: &[(&str, &str, &str, Known)] = &[
    ("colours and attributes", "\x1b[1;31mbold\x1b[22;2mdim\x1b[0;3;4mit\r\n\x1b[7;38;5;200minv\x1b[0;9;48;2;1;2;3mrgb\x1b[m \x1b[8;93;104mhid\x1b[28mshow", "\x1b[1mmore", ToReferee),
    ("undercurl and underline colour", "\x1b[4:3;58:2::9:8:7mcurl\x1b[4:2mdouble\x1b[4:4;58:5:33mdot\x1b[59m\x1b[4:5mdash\x1b[24mno", "x", ToReferee),
    ("background-colour erase", "text\x1b[44m\x1b[K\r\n\x1b[41mab\x1b[2;10H\x1b[1K\x1b[42m\x1b[4;3H\x1b[J\x1b[45m\x1b[1;3H\x1b[3X", "end", ToReferee),
    ("pen kept", "\x1b[1;4:3;32;48;5;17;58:5:99mpen", "same pen", ToReferee),
    ("wide, combining and joined", "e\u{301}中文\u{1f469}\u{200d}\u{1f52c}x\u{327}\u{302}\r\n\u{301}start", "\u{308}more", ToReferee),
    ("wide glyph at the margin", "1234567890123456789中after", "文", ToReferee),
    ("pending wrap", "12345678901234567890", "next", ToReferee),
    ("soft wrap kept", "123456789012345678901234567890 wrapped\r\nnot", "x", ToReferee),
    ("hidden cursor", "\x1b[?25lhidden", "x", ToReferee),
    ("cursor shape", "\x1b[5 qbar", "x", ToReferee),
    ("alternate screen shown", "main text\x1b[?1049h\x1b[2Jalternate\x1b[5;5H\x1b[33mhere", "more", ToReferee),
    ("leave alternate", "main \x1b[35mtext\r\nsecond\x1b[?1049h\x1b[Halt\x1b[36mernate", "\x1b[?1049lback", ToReferee),
    ("bracketed paste", "\x1b[?2004h$ ", "x", ToReferee),
    ("mouse 1002 and 1006", "\x1b[?1002h\x1b[?1006hmouse", "x", ToReferee),
    ("focus", "\x1b[?1004hfocus", "x", ToReferee),
    ("application cursor and keypad", "\x1b[?1h\x1b=app", "x", ToReferee),
    ("kitty push", "\x1b[>5ukitty", "\x1b[?u", ToReferee),
    ("kitty push twice and pop", "\x1b[>1u\x1b[>5u", "\x1b[<1ux", ToReferee),
    ("hyperlink", "\x1b]8;id=a;http://x/y;z\x1b\\link\x1b]8;;\x1b\\ no \x1b]8;id=b;http://b\x07two", "still\x1b]8;;\x07no", ToReferee),
    ("scroll region, then output", "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;4r\x1b[4;1H", "a\r\nb\r\nc", ToReferee),
    ("origin mode", "1\r\n2\r\n3\r\n4\r\n5\x1b[2;5r\x1b[?6h\x1b[2;3Hhere", "\x1b[3;1Hthere", ToReferee),
    ("tab stops", "\x1b[3g\x1b[5G\x1bH\x1b[12G\x1bH\r", "a\tb\tc\td", ToUs),
    ("insert mode", "abcdef\x1b[3G\x1b[4h", "XY\x1b[4lZ", ToReferee),
    ("autowrap off", "\x1b[?7l1234567890123456789", "abcdef", ToReferee),
    ("DEC graphics", "\x1b(0lqqk\x1b(B \x1b)0\x0ex", "qx\x0fqx", ToReferee),
    ("saved cursor", "ab\x1b[2;3H\x1b[31m\x1b7\x1b[m\x1b[5;5Hthere", "\x1b8here", ToReferee),
    ("scrollback", "", "last", ToReferee),
    ("cut inside a sequence", "ab\x1b[3", "1mred", ToReferee),
    ("cut inside a character", "ab中", "cd", ToReferee),
    // What came after the first 29.
    ("wide and combining, as all count it", "e\u{301}中文x\u{327}\u{302} 漢\u{301}字", "\u{308}more", ToReferee),
    ("saved cursor below scrollback", "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\x1b[3;4H\x1b7\x1b[6;1H", "more\x1b8here", ToReferee),
    ("tab stops behind the alternate screen", "\x1b[3g\x1b[5G\x1bH\x1b[?1049h", "\x1b[?1049l\ta", ToUs),
    ("British letters", "\x1b(A#\x1b)A\x1b)0\x1b*A\x0eq#", "#\x1bn#\x0f#\x1b(B#", ToUs),
    ("British letters at a saved cursor", "\x1b(A\x1b7\x1b(B#", "\x1b8#", ToUs),
    ("cursor of the terminal's own shape that does not blink", "\x1b[?12l\x1b[?25h", "x", ToReferee),
    ("cursor of the terminal's own shape that blinks", "\x1b[5 q\x1b[0 q\x1b[?12h", "x", ToReferee),
    ("cursor of another shape that no longer blinks", "\x1b[5 q\x1b[?12l", "x", ToReferee),
    ("modifyOtherKeys", "\x1b[>4;2mkeys", "x", ToUs),
    ("alternate scroll off", "\x1b[?1007l", "x", ToReferee),
    ("theme, clusters and size told", "\x1b[?2031h\x1b[?2027h\x1b[?2048h", "x", ToUs),
    ("mouse 1003 and 1016", "\x1b[?1000h\x1b[?1003h\x1b[?1016h", "\x1b[?1003l", ToUs),
    ("mouse 1005, 1015 and X10", "\x1b[?9h\x1b[?1005h\x1b[?1015h", "x", ToUs),
    ("palette", "\x1b]4;1;#abcdef;200;rgb:1/22/3333\x1b\\\x1b]10;#fff\x07\x1b]11;#000000;#123123\x07", "\x1b]104;1\x07x", ToUs),
    ("title and its stack", "\x1b]2;one\x07\x1b[22t\x1b]0;two\x1b\\\x1b[22;0t\x1b]2;three\x07", "\x1b[23tx\x1b[23t", ToUs),
    ("directory and progress", "\x1b]7;file://host/a%20b\x07\x1b]9;4;1;40\x07", "x", ToUs),
    ("what programs say of their state", "\x1b]7501;state=working:progress=40:app=codex\x07\x1b]7501;state=done:id=a/b:msg=aGk=\x1b\\", "\x1b]7501;state=clear:id=a\x07x", ToUs),
    ("reverse video and new-line mode", "\x1b[?5h\x1b[20hab\ncd", "\nef", ToUs),
    ("soft reset", "\x1b[2;4r\x1b[?1h\x1b[4h\x1b[31mab\x1b[!p", "cd", ToUs),
    ("blinking text", "\x1b[5mblink\x1b[25mno\x1b[5m", "yes", ToUs),
    ("older alternate screens", "main\x1b[?1047hother\x1b7\x1b[3;3H", "x\x1b[?1047ly\x1b8z", ToUs),
    ("oldest alternate screen", "main\x1b[?47h\x1b[32mother", "x\x1b[?47ly", ToUs),
    ("keyboards of both screens", "\x1b[=1u\x1b[>3u\x1b[?1049h\x1b[>7u\x1b[>15u", "\x1b[<u\x1b[?1049l\x1b[<u", ToUs),
    ("both screens' saved cursors", "ab\x1b[2;4H\x1b7\x1b[?1049h\x1b[4;5H\x1b[32m\x1b7\x1b[H", "\x1b8x\x1b[?1049ly\x1b8z", ToReferee),
    ("saved about to wrap", "12345678901234567890\x1b7\r\n\x1b[34mother", "\x1b8wrapped", ToReferee),
    ("saved about to wrap, then wrapped", "12345678901234567890\x1b7more", "\x1b8over", ToUs),
    ("wide about to wrap", "123456789012345678中", "x", ToReferee),
    ("margins and origin at a saved cursor", "\x1b[2;4r\x1b[?6h\x1b[2;2H\x1b7\x1b[?6l\x1b[r\x1b[6;6H", "\x1b8x\x1b[2;2Hy", ToUs),
    ("line graphics saved", "\x1b)0\x0e\x1b7\x0f\x1b)Bq", "\x1b8q", ToUs),
    ("cut inside a title", "\x1b]2;some ti", "tle\x07x", ToReferee),
    ("cut inside a device string", "\x1bP+q544e", "\x1b\\x", ToReferee),
    ("cut inside an ignored string", "\x1b_Gi=1;AAAA", "BBBB\x1b\\x", ToReferee),
    ("cut after a control inside a sequence", "ab\x1b[3\n", "1mred", ToReferee),
    ("repeat", "ab\x1b[3bc", "\x1b[2b", ToReferee),
    ("wrapped text into history", "1\r\n2\r\n3\r\n12345678901234567890123456789012345678901234567890\r\n5\r\n6", "\r\n7\r\n8\r\n9\r\n10", ToReferee),
    ("coloured wrap at the bottom", "\x1b[6;1H\x1b[41m1234567890123456789012345\x1b[m\r\nx", "\r\ny", ToReferee),
    ("insert and delete", "abcdef\r\n中文中文\r\nxyz\x1b[2;2H\x1b[@\x1b[1;2H\x1b[2P\x1b[3;1H\x1b[L\x1b[2;1H\x1b[M", "z", ToUs),
    ("synchronized frame", "\x1b[?2026hframe", "more\x1b[?2026lend", ToReferee),
    ("full screen and scroll down", "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[H\x1bM\x1bMtop", "\x1bMx", ToReferee),
    ("a line that wraps at the last line below the region", "\x1b[1;3r\x1b[6;1H123456789012345678901234", "5", ToUs),
    ("origin mode off", "\x1b[2;5r\x1b[?6h\x1b[2;3Hhere", "\x1b[?6lhome", ToUs),
    ("letters E", "\x1b#8\x1b[3;3H", "x", ToReferee),
    ("link cut at the margin", "\x1b]8;;http://a\x1b\\1234567890123456789012345", "6\x1b]8;;\x1b\\7", ToReferee),
];

/// Returns what a scenario writes before and after the snapshot.
pub(super) fn streams(name: &str, before: &str, after: &str) -> (Vec<u8>, Vec<u8>) {
    let mut before = before.as_bytes().to_vec();
    if name == "scrollback" {
        for line in 0..300 {
            before
                .extend_from_slice(format!("\x1b[3{}mline {line}\x1b[m\r\n", line % 8).as_bytes());
        }
    }
    let mut after = after.as_bytes().to_vec();
    if name == "cut inside a character" {
        let cut = before.len() - 1;
        after.splice(..0, before.split_off(cut));
    }
    (before, after)
}

fn check(name: &str, before: &[u8], after: &[u8], known: Known) {
    let mut left = mirror(SMALL);
    left.feed(before);
    let snapshot = left.snapshot(Depth::Replace);
    for mut right in [mirror(SMALL), dirty(SMALL)] {
        right.feed(&snapshot);
        if let Some(difference) = difference(&left, &right) {
            panic!(
                "{name}, cut after {:?}:\n{difference}\nsnapshot: {}",
                before.escape_ascii().to_string(),
                snapshot.escape_ascii()
            );
        }
        let mut on = mirror(SMALL);
        on.feed(before);
        on.feed(after);
        right.feed(after);
        if let Some(difference) = difference(&on, &right) {
            panic!("{name}, going on with {:?}:\n{difference}", after.escape_ascii().to_string());
        }
    }
    if known == Known::ToReferee {
        referee::check(name, before, &snapshot, after);
    }
}

#[test]
fn a_rebuilt_terminal_is_the_same_and_goes_on_the_same() {
    for (name, before, after, known) in SCENARIOS {
        let (before, after) = streams(name, before, after);
        check(name, &before, &after, *known);
    }
}

#[test]
fn a_terminal_can_be_rebuilt_at_every_byte() {
    for (name, before, after, known) in SCENARIOS.iter().filter(|row| row.0 != "scrollback") {
        let (mut stream, after) = streams(name, before, after);
        stream.extend_from_slice(&after);
        for cut in 0..=stream.len() {
            let (before, after) = stream.split_at(cut);
            check(name, before, after, *known);
        }
    }
}

#[test]
fn the_first_scenarios_are_the_measured_ones() {
    let n_measured = SCENARIOS.iter().position(|row| row.0.starts_with("wide and combining"));
    assert_eq!(n_measured, Some(29));
}
