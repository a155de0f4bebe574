//! Where xtask prints: results to stdout, remarks to stderr.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for people at a terminal"
)]

/// Prints a line of the result.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Prints a remark.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
