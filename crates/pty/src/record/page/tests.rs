//! The page as text: what is on it, and what can never be.

use super::super::tests::Desk;
use super::*;

fn shown(bytes: &[u8]) -> String {
    let mut desk = Desk::new();
    desk.resize(60, 6);
    desk.show(bytes);
    desk.recorder.flush();
    let id = desk.files.id().clone();
    let job = JobRecord {
        id,
        name: "<script>alert(1)</script>".into(),
        cwd: "/".into(),
        command: vec!["echo".into(), "<b>".into()],
        env: Default::default(),
        env_names: Vec::new(),
        token: String::new(),
        session_file: None,
        worktree: None,
        origin: "bg".into(),
        agent: false,
        asked: crate::job::Asked::default(),
        created_at: 0,
        daemon_socket: None,
        stead_version: "0".into(),
        record: true,
    };
    let page = page(&mut desk.reader(), &job).unwrap();
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page:?}");
    let body = page.split_once("<pre>").unwrap().1;
    body.split_once("</pre>").unwrap().0.to_owned()
}

#[test]
fn text_is_shown_with_its_looks() {
    #[rustfmt::skip]
    let cases: &[(&str, &str)] = &[
        ("plain", "plain\n"),
        ("<i>&\"'", "&lt;i&gt;&amp;&quot;&#39;\n"),
        ("\x1b[1;31mred\x1b[m!", "<span style=\"color:#cc6666;font-weight:bold;\">red</span>!\n"),
        ("\x1b[38;2;1;2;3;48;5;16mx", "<span style=\"color:#010203;background:#000000;\">x</span>\n"),
        ("\x1b[38;5;231;7mx", "<span style=\"color:#181818;background:#ffffff;\">x</span>\n"),
        ("\x1b[4:3;58:2::255:0:0mx", "<span style=\"text-decoration:underline wavy;text-decoration-color:#ff0000;\">x</span>\n"),
        ("\x1b[9;3mx", "<span style=\"font-style:italic;text-decoration:line-through;\">x</span>\n"),
        ("\x1b[97;100mx", "<span style=\"color:#eaeaea;background:#707070;\">x</span>\n"),
        ("漢字\r\n\r\nend", "漢字\n\nend\n"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(shown(bytes.as_bytes()), *expected, "{bytes:?}");
    }
}

#[test]
fn links_lead_out_or_nowhere() {
    let link =
        |address: &str| shown(format!("\x1b]8;;{address}\x1b\\text\x1b]8;;\x1b\\").as_bytes());
    let kept = "<a href=\"https://a.b/?x=1&amp;y=&quot;\" rel=\"noopener noreferrer\">text</a>\n";
    assert_eq!(link("https://a.b/?x=1&y=\""), kept);
    for address in ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "//a.b"] {
        assert_eq!(link(address), "text\n", "{address}");
    }
}

#[test]
fn scrollback_is_on_the_page_and_the_alternate_screen_too() {
    let lines: String = (0..20).map(|n| format!("line {n}\r\n")).collect();
    let text = shown(lines.as_bytes());
    assert_eq!(text.lines().filter(|line| line.starts_with("line ")).count(), 20, "{text}");
    let text = shown(format!("{lines}\x1b[?1049h\x1b[Hmenu").as_bytes());
    assert!(text.starts_with("line 0\n") && text.ends_with("menu\n"), "{text}");
}
