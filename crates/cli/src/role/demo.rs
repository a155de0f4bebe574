//! `stead demo`: a scripted model fixes a small program with real tools, through the ordinary daemon.
//!
//! The turns are always the same; they go on only as long as the tools return what they expect, so in a
//! repository that is different they fail and say so.

mod scratch;

use std::{path::Path, process::ExitCode};

use api::agent::{RunMessage, RunRequest};
use vocab::{
    message::{Mode, Role, RunEnd, RunState},
    outcome::Failure,
};

use crate::{
    args::Demo,
    client,
    env::{self, Called, PROGRAM},
    exit,
    models::DEMO,
    print::{
        self, Look, Style, clean,
        words::{self, quoted},
    },
    role::run::{
        absolute,
        drive::{Driver, Ended, OUTPUT_CLOSED},
        show::Show,
    },
};

const PROMPT: &str =
    "The total that totals.sh prints is wrong. Find out why, fix it, and commit the fix.";

/// Runs the command.
pub(crate) fn run(args: &Demo) -> anyhow::Result<ExitCode> {
    let paths = env::paths()?;
    let root = match &args.repository {
        Some(dir) => absolute(dir)?,
        None => scratch::make(args.dir.as_deref())?.display().to_string(),
    };
    super::block_on(async move {
        let look = Look::of_process();
        let client = client::connect(&paths).await?;
        introduce(&root, look.err.style);
        let request = RunRequest {
            messages: vec![RunMessage {
                id: None,
                role: Role::User,
                content: Some(PROMPT.to_owned()),
                parts: None,
            }],
            provider_id: Some(DEMO.0.to_owned()),
            model_id: Some(DEMO.1.to_owned()),
            cwd: Some(root.clone()),
            mode: Some(Mode::Auto),
            interactive: Some(false),
            ..RunRequest::default()
        };
        let mut driver = Driver::new(&client, Show::person(look, false), false);
        let ended = match driver.run(&request).await {
            Err(failure) if failure.code == OUTPUT_CLOSED => return Ok(ExitCode::from(exit::OK)),
            other => other?,
        };
        conclude(&ended, Path::new(&root), look)
    })
}

fn introduce(root: &str, style: Style) {
    let root = clean::clean_line(root);
    print::err(&format!(
        "{}\n{}\n\n{} {PROMPT}\n\n",
        style.dim(&format!(
            "A scripted model, real tools, no key and no network. The repository: {root}"
        )),
        style.dim(
            "What it says is written beforehand; what the tools return decides whether it goes on."
        ),
        style.bold("you"),
    ));
}

fn conclude(ended: &Ended, root: &Path, look: Look) -> anyhow::Result<ExitCode> {
    let short = words::short_id(&ended.session);
    match &ended.state {
        RunState::Ended(RunEnd::Finished) => {}
        RunState::Ended(RunEnd::Aborted) => {
            print::err("stead: stopped\n");
            return Ok(ExitCode::from(exit::INTERRUPTED));
        }
        RunState::Ended(RunEnd::Failed { failure }) => {
            let failure = failure.clone().with_hint(format!(
                "the demonstration is over; all of it: stead sessions show {short}"
            ));
            return Err(failure.into());
        }
        RunState::Running
        | RunState::Parked { .. }
        | RunState::Ended(RunEnd::Interrupted | RunEnd::StepLimit { .. }) => {
            let word = vocab::live::state_word(&ended.state);
            let message = format!("the demonstration ended as {word}");
            return Err(
                Failure::new("failed", vocab::outcome::Effect::Indeterminate, message).into()
            );
        }
    }
    print::err(&format!("\n{}\n", look.err.style.bold("What changed")));
    print::out(&format!("\n{}\n", patch(&ended.last_output, look.out.style)));
    let root = quoted(&clean::clean_line(&root.display().to_string()));
    let stead = program();
    print::err(&format!(
        "{}\n\n  {stead} sessions show {short}          the whole conversation, as the daemon keeps it\n  \
         git -C {root} log -p\n  \
         {stead} run -C {root} \"…\"    with a model of yours; stead providers shows which\n",
        look.err.style.bold("Look further"),
    ));
    Ok(ExitCode::from(exit::OK))
}

/// Returns how this program is called: by its name where that finds one, by its path where it was only
/// built and not installed.
fn program() -> String {
    match env::called() {
        Some(Called::Path(path)) => quoted(&clean::clean_line(&path)),
        Some(Called::Name) | None => PROGRAM.to_owned(),
    }
}

/// Colors a patch.
fn patch(text: &str, style: Style) -> String {
    let color = |line: &str| match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => style.green(line),
        Some(b'-') if !line.starts_with("---") => style.red(line),
        Some(b'@') => style.code(line),
        _ => line.to_owned(),
    };
    clean::clean(text).lines().map(|line| color(line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_colored_by_its_marks() {
        let drawn = patch("a\n+++ b\n+x\n-y\n@@ 1 @@", Style(true));
        assert_eq!(
            drawn,
            "a\n+++ b\n\x1b[32m+x\x1b[0m\n\x1b[31m-y\x1b[0m\n\x1b[36m@@ 1 @@\x1b[0m\n"
        );
    }
}
