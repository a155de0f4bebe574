//! `stead logs` as it was typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum, ValueHint};

use super::Json;

/// `stead logs`
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Logs {
    /// The id or name of a job, or of a session, whose transcript is printed; or a unique part of either
    #[arg(value_name = "ID", value_hint = ValueHint::Other)]
    pub(crate) job: String,
    /// Go on with what its program writes, until the job ends; without a terminal, as plain text
    #[arg(short, long, conflicts_with_all = ["replay", "export", "json"])]
    pub(crate) follow: bool,
    /// Show what was recorded, at the pace at which it happened; space pauses, q ends it
    #[arg(long, conflicts_with_all = ["export", "json"])]
    pub(crate) replay: bool,
    /// So many times faster
    #[arg(long, value_name = "N", requires = "replay", value_parser = above_zero, value_hint = ValueHint::Other)]
    pub(crate) speed: Option<f64>,
    /// Shorten silences to so many seconds
    #[arg(long, value_name = "SECONDS", requires = "replay", value_parser = above_zero, value_hint = ValueHint::Other)]
    pub(crate) idle_limit: Option<f64>,
    /// Write what was recorded as a file for others
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) export: Option<Export>,
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Where an export goes.
#[derive(Debug, ClapArgs)]
pub(crate) struct Place {
    /// Where to, a new file; standard output when absent
    #[arg(short, long, value_name = "FILE", requires = "export", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file where it is there already
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

const EXAMPLES: &str = "Examples:
  stead logs 3fa2c01b                        the screen as it is, as text
  stead logs 3fa2c01b -f | grep error
  stead logs 3fa2c01b --replay --speed 4 --idle-limit 1
  stead logs 3fa2c01b --export cast3 -o job.cast
  stead logs 3fa2c01b --export html -o job.html";

/// A format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Export {
    /// asciicast v3, for asciinema 3 and players
    Cast3,
    /// asciicast v2, for older ones
    Cast2,
    /// The last screen and its scrollback, as text
    Txt,
    /// The same with its colors, as a page
    Html,
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && 0.0 < number => Ok(number),
        _ => Err("a number above zero".to_owned()),
    }
}
