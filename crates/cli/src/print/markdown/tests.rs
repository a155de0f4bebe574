//! What is drawn of a text, and that cuts do not matter.

use super::*;

fn draw(pieces: &[&str], colors: bool) -> String {
    let mut markdown = Markdown::new(Style(colors));
    let mut out: String = pieces.iter().map(|piece| markdown.feed(piece)).collect();
    out.push_str(&markdown.finish());
    out
}

fn check(text: &str, expected: &str) {
    let marked = draw(&[text], true)
        .replace("\x1b[0m", "⟩")
        .replace("\x1b[1m", "b⟨")
        .replace("\x1b[2m", "d⟨")
        .replace("\x1b[36m", "c⟨");
    assert_eq!(marked, expected, "{text:?}");
    let whole = draw(&[text], true);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    for &first in &places {
        for &second in places.iter().filter(|second| **second >= first) {
            let pieces = [&text[..first], &text[first..second], &text[second..]];
            assert_eq!(draw(&pieces, true), whole, "{text:?} cut at {first} and {second}");
        }
    }
}

#[test]
fn words_of_a_line() {
    check("plain words\n", "plain words\n");
    check("a **strong** word", "a b⟨strong⟩ word");
    check("**a `b` c**", "b⟨a b c⟩");
    check("2 ** 3 and *.rs and **open", "2 ** 3 and *.rs and **open");
    check("use `cargo test` or ``a`b``.", "use c⟨cargo test⟩ or c⟨a`b⟩.");
    check("an `open tick\nnext", "an `open tick\nnext");
    check("see [the page](https://x.y/z) now", "see the page d⟨(https://x.y/z)⟩ now");
    check("[x](x) [ ] a[0](b c) [a[b](c)", "x [ ] a[0](b c) [ab d⟨(c)⟩");
    check(r"\*not\* \x", r"*not* \x");
}

#[test]
fn lines_of_a_text() {
    check("# Title `x` #\ntext\n####### no\n#no\n", "b⟨Title x⟩\ntext\n####### no\n#no\n");
    check(
        "- one\n  * `two`\n+ three\n1. four\n-five\n---\n",
        "• one\n  • c⟨two⟩\n• three\n1. four\n-five\n---\n",
    );
    check("> quoted **x**\n>\n", "d⟨│⟩ quoted b⟨x⟩\n>\n");
    check("", "");
    check("\n\n", "\n\n");
    check("**bold** first", "b⟨bold⟩ first");
    check("`code` first", "c⟨code⟩ first");
    check("   ", "   ");
}

#[test]
fn fenced_blocks_are_untouched() {
    check(
        "```sh\nls **x** `y`\n\n  # no\n```\nafter `z`\n",
        "d⟨```sh⟩\n  d⟨ls **x** `y`⟩\n\n  d⟨  # no⟩\nd⟨```⟩\nafter c⟨z⟩\n",
    );
    check("~~~\n```\n~~~~\n*x*", "d⟨~~~⟩\n  d⟨```⟩\nd⟨~~~~⟩\n*x*");
    check("````\n```\n````", "d⟨````⟩\n  d⟨```⟩\nd⟨````⟩");
    check("```\nopen end", "d⟨```⟩\n  d⟨open end⟩");
    check("- item\n\n  ```js\n  f()\n  ```\n", "• item\n\nd⟨  ```js⟩\n  d⟨  f()⟩\nd⟨  ```⟩\n");
}

#[test]
fn without_colors_no_sequence_is_printed_and_controls_are_shown() {
    let text = "# T\n**b** `c` \x1b[2J\x1b[31mx\n```\ncode\n```\n> q\n";
    let drawn = draw(&[text], false);
    assert_eq!(drawn, "T\nb c ␛[2Jx\n```\n  code\n```\n│ q\n");
}

#[test]
fn an_endless_construct_is_let_go() {
    let text = format!("`{}", "x".repeat(3 * MARKDOWN_HELD_BYTES_MAX));
    let mut markdown = Markdown::new(Style(true));
    assert!(markdown.feed(&text).len() > MARKDOWN_HELD_BYTES_MAX);
    assert!(markdown.held.len() <= MARKDOWN_HELD_BYTES_MAX);
}
