//! One job on two terminals of different sizes: both show what the program shows, whoever types.

use crate::{
    attached::Shell,
    home::{Home, write},
    host::ready_of,
};

/// Waits until a terminal shows these lines, and nothing else.
#[track_caller]
fn shows(shell: &Shell, expected: &[String]) {
    let what = expected.join("\n");
    shell.tmux.wait_until(&what, |screen| {
        screen.lines().map(str::trim_end).eq(expected.iter().map(|line| line.trim_end()))
    });
}

/// A text that fills the width of what it is shown on, from a line on.
fn text(first: usize, n_lines: usize, n_columns: usize) -> Vec<String> {
    let line = |line: usize| format!("{line:03} {}", "abcdefghi ".repeat(10));
    (first..first + n_lines).map(|at| line(at).chars().take(n_columns).collect()).collect()
}

#[test]
fn two_terminals_of_different_sizes_show_the_same_program() {
    let home = Home::new();
    write(
        &home.path("work/text"),
        &text(0, 400, 90).iter().map(|l| format!("{l}\n")).collect::<String>(),
    );
    let host = ready_of(&home, &["less", "-S", "text"]);
    let (large, small) = (Shell::new(&home), Shell::new(&home));
    small.tmux.tmux(&["resize-window", "-x", "50", "-y", "10"]);
    large.attach(&host.id());
    large.tmux.wait_for("022 abc");
    small.attach(&host.id());
    small.tmux.wait_for("008 abc");
    // The small one gives the size. The last line is less's own.
    let mut expected = text(0, 9, 49);
    let marked =
        |lines: Vec<String>| lines.into_iter().map(|line| format!("{line}>")).collect::<Vec<_>>();
    expected = marked(expected);
    expected.push(":".to_owned());
    shows(&small, &expected);
    let mut padded = expected.clone();
    padded.resize(24, String::new());
    shows(&large, &padded);
    assert!(large.tmux.modes().contains("alternate_on=1"));

    // The large one types: it gives the size, and the small one follows the cursor, which stands below.
    large.tmux.keys(&["g"]);
    let mut expected = marked(text(0, 23, 79));
    expected.push(":".to_owned());
    shows(&large, &expected);
    let cut = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| line.chars().take(50).collect()).collect()
    };
    shows(&small, &cut(&expected[14..]));
    large.tmux.keys(&["Space"]);
    let mut expected = marked(text(23, 23, 79));
    expected.push(":".to_owned());
    shows(&large, &expected);
    shows(&small, &cut(&expected[14..]));

    // A window that only looks may change its size as well.
    small.tmux.tmux(&["resize-window", "-x", "60", "-y", "12"]);
    let cut_wider: Vec<String> =
        expected[12..].iter().map(|line| line.chars().take(60).collect()).collect();
    shows(&small, &cut_wider);
    small.tmux.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    shows(&small, &expected);
    small.tmux.tmux(&["resize-window", "-x", "50", "-y", "10"]);
    shows(&small, &cut(&expected[14..]));

    // The small one types: both are right again.
    small.tmux.keys(&["g"]);
    let mut expected = marked(text(0, 9, 49));
    expected.push(":".to_owned());
    shows(&small, &expected);
    expected.resize(24, String::new());
    shows(&large, &expected);
    // A program that hears of a new size may forget a key that came with it.
    large.tmux.keys(&["g"]);
    large.tmux.wait_for("022 abc");
    large.tmux.keys(&["q"]);
    for shell in [&large, &small] {
        shell.tmux.wait_for("job ended");
        shell.tmux.tmux(&["resize-window", "-x", "80", "-y", "24"]);
        shell.is_restored();
    }
}
