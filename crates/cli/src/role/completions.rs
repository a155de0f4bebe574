//! Completions of shells and man pages, made from the same table of flags that is parsed.

use std::{path::Path, process::ExitCode};

use clap::CommandFactory as _;

use crate::{args::Args, exit, print};

/// Prints the completions of a shell.
pub(crate) fn shell(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "stead", &mut text);
    Ok(print::out(&String::from_utf8(text)?))
}

/// Writes the man pages, one for each command.
pub(crate) fn man(dir: &Path) -> anyhow::Result<ExitCode> {
    clap_mangen::generate_to(Args::command(), dir).map_err(|error| {
        let code =
            if error.kind() == std::io::ErrorKind::NotFound { "not_found" } else { "failed" };
        vocab::outcome::Failure::not_started(code, format!("{}: {error}", dir.display()))
    })?;
    print::err(&format!("stead: the man pages are in {}\n", dir.display()));
    Ok(ExitCode::from(exit::OK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_flags_is_sound() {
        Args::command().debug_assert();
    }
}
