//! `stead bg`: a program in a terminal of its own, or a run of a session, in the background.

use std::{collections::BTreeMap, ffi::OsStr, path::Path, process::ExitCode};

use api::{
    client::{Client, Target},
    job::{DispatchJob, JobRow, WorktreeWish},
    routes::Endpoint,
};
use sandbox::Environment;
use vocab::outcome::Failure;

use crate::{
    args::Bg,
    env, exit,
    print::{self, clean},
    role::run,
};

pub(super) async fn run(client: &Client, args: Bg) -> anyhow::Result<ExitCode> {
    if args.command.is_empty() {
        if !args.prompt {
            is_prompt(&args.words)?;
        }
        return run::in_background(client, args).await;
    }
    if args.command.first().is_some_and(String::is_empty) {
        let failure = Failure::not_started("usage", "the program has an empty name");
        return Err(failure.with_hint("stead bg -- PROGRAM [ARGUMENT…]").into());
    }
    let cwd = args.dir.as_deref().unwrap_or(Path::new("."));
    let (env, env_names) = environment(&args.env)?;
    let wish = DispatchJob {
        command: args.command,
        cwd: run::absolute(cwd)?.into(),
        name: args.name,
        env,
        env_names,
        session_file: match &args.session_file {
            Some(file) => Some(run::absolute(file)?.into()),
            None => None,
        },
        worktree: args.worktree.map(|branch| WorktreeWish {
            branch: Some(branch).filter(|branch| !branch.is_empty()),
        }),
        origin: Some("bg".to_owned()),
        record: !args.no_record,
        ..DispatchJob::default()
    };
    let row: JobRow = client
        .json(Endpoint::JobDispatch, Target::default(), Some(&wish))
        .await
        .map_err(Failure::from)?;
    if args.json.json {
        return Ok(print::json(&row));
    }
    let (id, name) = (&row.id, clean::clean_line(&row.name));
    print::out(&format!("backgrounded · {id} · {name}\n"));
    if let Some(tree) = &row.worktree {
        let (branch, path) = (clean::clean_line(&tree.branch), clean::clean_line(&tree.path));
        print::err(&format!("  on branch {branch}, in {path}\n"));
    }
    for (command, about) in [
        (format!("stead attach {id}"), "look at it and type; Ctrl-] d lets go"),
        (format!("stead logs {id}"), "its screen as text"),
        (format!("stead stop {id}"), "end it"),
        ("stead ls".to_owned(), "everything that runs"),
    ] {
        print::err(&format!("  {command:<24}{about}\n"));
    }
    Ok(ExitCode::from(exit::OK))
}

/// Refuses the name of a program where a prompt stands: a model that is asked "claude" has nothing to do, and
/// whoever typed it wants the program. More than the name may be either, and is only told.
fn is_prompt(words: &[String]) -> Result<(), Failure> {
    let Some(first) = words.first().filter(|word| !word.contains(char::is_whitespace)) else {
        return Ok(());
    };
    let is_agent = arbiter::agent::of(std::slice::from_ref(first)).is_some();
    if !is_agent && !env::is_program(first) {
        return Ok(());
    }
    let shown = clean::clean_line(&words.join(" "));
    if words.len() > 1 {
        print::err(&format!(
            "stead: taken as a prompt for a session; the program is started by: stead bg -- {shown}\n"
        ));
        return Ok(());
    }
    let why = format!("{shown} is a program, and without -- a word is a prompt for a session");
    Err(Failure::not_started("usage", why).with_hint(format!(
        "stead bg -- {shown} starts the program\nstead bg --prompt {shown} asks a session"
    )))
}

/// Returns what the program sees of the environment, and the names among it that a person gave. It is
/// this command's environment: the daemon's is whoever's who started it.
pub(crate) fn environment(
    named: &[String],
) -> Result<(BTreeMap<String, String>, Vec<String>), Failure> {
    let all = env::all();
    let mut built = Environment::for_jobs(&all, &[]);
    let mut names = Vec::new();
    for wish in named {
        let name = wish.split_once('=').map_or(wish.as_str(), |(name, _)| name);
        if name.is_empty() || name.contains(|char: char| char.is_whitespace() || char.is_control())
        {
            let failure = Failure::not_started("usage", format!("{name:?} names no variable"));
            return Err(failure.with_hint("--env NAME[=VALUE]"));
        }
        let (name, value) = match wish.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (wish.as_str(), env::get(wish).ok_or_else(|| unset(wish))?),
        };
        built.set(name, value).map_err(|error| {
            Failure::not_started(error.code(), error.to_string()).with_hint("--env NAME[=VALUE]")
        })?;
        names.push(name.to_owned());
    }
    names.sort();
    names.dedup();
    let text = |text: &OsStr| text.to_str().map(str::to_owned);
    // What is no text cannot stand in the record; nothing that programs need is of that kind.
    let pairs = built.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    Ok((pairs.collect(), names))
}

fn unset(name: &str) -> Failure {
    Failure::not_started("usage", format!("{name} is not set here"))
        .with_hint(format!("--env {name}=VALUE gives it one"))
}
