//! `stead run`: sends a prompt, streams the answer, asks the person where a call needs it.

pub(crate) mod ask;
pub(crate) mod drive;
pub(crate) mod follow;
mod input;
pub(crate) mod show;
pub(crate) mod tell;
mod waiting;

use std::{path::Path, process::ExitCode};

use api::{
    agent::{Done, RunMessage, RunRequest},
    client::{Client, Target},
    job::JobRow,
    routes::Endpoint,
    session::{CreateSession, SessionDetail, SessionRow},
};
use vocab::{
    ids::RunId,
    message::{ModelRef, Role, RunEnd, RunState},
    outcome::Failure,
};

use crate::{
    args::{Bg, Run},
    client, config, env, exit, models,
    print::{self, Look},
    role::sessions::resolve,
};
use drive::{Driver, Ended, OUTPUT_CLOSED};
use show::Show;
pub(crate) use waiting::how_to_answer;

/// Runs the command.
pub(crate) fn run(args: Run) -> anyhow::Result<ExitCode> {
    args.check()?;
    super::block_on(async move {
        if args.answer.is_some() {
            return waiting::run(&args).await;
        }
        let Some(parts) = input::parts(&args.prompt, &args.files)? else {
            // Without a word, a session is asked what it waits for.
            return match &args.session {
                Some(_) => waiting::run(&args).await,
                None => Err(input::nothing_asked().into()),
            };
        };
        let paths = env::paths()?;
        let config = config::load_and_tell(&paths)?;
        let look = Look::of_process();
        let client = client::connect(&paths).await?;
        let session_id = match &args.session {
            Some(text) => Some(resolve::session(&client, text).await?.id),
            None => None,
        };
        let (provider_id, model_id) = split_model(args.model.as_deref());
        let cwd = match (&args.dir, &args.workspace, &session_id) {
            (Some(dir), ..) => Some(absolute(dir)?),
            (None, None, None) => Some(absolute(Path::new("."))?),
            _ => None,
        };
        let interactive = print::stdin_is_terminal() && look.err.terminal && !args.json;
        let keys = models::environment_keys(&config);
        let request = RunRequest {
            messages: vec![RunMessage {
                id: None,
                role: Role::User,
                content: None,
                parts: Some(parts),
            }],
            session_id,
            model_id,
            provider_id,
            workspace_id: args.workspace.clone(),
            cwd,
            mode: args.mode.map(Into::into),
            interactive: Some(interactive),
            // Any id that is nobody else's will do: it says that a second request is the same one.
            idempotency_key: Some(RunId::generate().to_string()),
            keys,
        };
        let show = if args.json { Show::json() } else { Show::person(look, args.thinking) };
        let mut driver = Driver::new(&client, show, interactive);
        let ended = match driver.run(&request).await {
            Err(failure) if failure.code == OUTPUT_CLOSED => return Ok(ExitCode::from(exit::OK)),
            Err(failure) if failure.code == "run_parked" => {
                let session = request.session_id.as_deref().unwrap_or_default();
                return Err(failure.with_hint(how_to_answer(session)).into());
            }
            other => other?,
        };
        conclude(driver, ended).await
    })
}

/// Begins a run of a new session and leaves it to the daemon. What it wants to know waits for its answer.
pub(crate) async fn in_background(client: &Client, args: Bg) -> anyhow::Result<ExitCode> {
    let how_to_ask = "stead bg \"PROMPT\", or stead bg -- COMMAND";
    let parts =
        input::parts(&args.words, &[]).map_err(|failure| match failure.hint.as_deref() {
            Some(input::HOW_TO_ASK) => failure.with_hint(how_to_ask),
            _ => failure,
        })?;
    let Some(parts) = parts else {
        let why = "neither a prompt nor a command is given";
        return Err(Failure::not_started("usage", why).with_hint(how_to_ask).into());
    };
    let config = config::load_and_tell(&env::paths()?)?;
    let cwd = match (&args.dir, &args.workspace) {
        (Some(dir), _) => Some(absolute(dir)?),
        (None, None) => Some(absolute(Path::new("."))?),
        (None, Some(_)) => None,
    };
    let (provider_id, model_id) = split_model(args.model.as_deref());
    let session = CreateSession {
        title: args.name,
        workspace_id: args.workspace,
        cwd,
        mode: args.mode.map(Into::into),
        ..CreateSession::default()
    };
    let session: SessionRow = client
        .json(Endpoint::SessionCreate, Target::default(), Some(&session))
        .await
        .map_err(Failure::from)?;
    let content = None;
    let request = RunRequest {
        messages: vec![RunMessage { id: None, role: Role::User, content, parts: Some(parts) }],
        session_id: Some(session.id.clone()),
        model_id,
        provider_id,
        workspace_id: None,
        cwd: None,
        mode: None,
        interactive: Some(true),
        idempotency_key: Some(RunId::generate().to_string()),
        keys: models::environment_keys(&config),
    };
    let begun = client.events(Endpoint::AgentRun, Target::default(), Some(&request), None).await;
    if let Err(error) = begun {
        // An empty session would be all that is left of it.
        let target = Target::of(&session.id);
        client.json::<(), Done>(Endpoint::SessionDelete, target, None).await.ok();
        return Err(Failure::from(error).into());
    }
    if args.json.json {
        let target = Target { parameter: "", query: "all=true" };
        let rows: Vec<JobRow> =
            client.json::<(), _>(Endpoint::JobList, target, None).await.map_err(Failure::from)?;
        return Ok(print::json(&rows.into_iter().find(|row| row.id == session.id)));
    }
    let target = Target::of(&session.id);
    let detail: SessionDetail =
        client.json::<(), _>(Endpoint::SessionShow, target, None).await.map_err(Failure::from)?;
    let id = print::words::short_id(&session.id);
    let title = print::clean::clean_line(&detail.row.title);
    print::out(&format!("backgrounded · {id} · {title}\n"));
    print::err(&format!("  stead sessions show {id}   what it has done so far\n"));
    print::err(&format!("  stead run -s {id}          answer what it waits for\n"));
    print::err(&format!("  stead stop {id}            end its run\n"));
    Ok(ExitCode::from(exit::OK))
}

/// Tells how the run ended, with which code, and last how to go on.
async fn conclude(mut driver: Driver<'_>, ended: Ended) -> anyhow::Result<ExitCode> {
    let session = print::words::short_id(&ended.session).to_owned();
    let go_on = format!("stead run -s {session} \"go on\"");
    let say = |line: &str, code: u8| {
        print::err(&format!("stead: {line}\n"));
        ExitCode::from(code)
    };
    let code = match &ended.state {
        RunState::Ended(RunEnd::Finished) => ExitCode::from(exit::OK),
        RunState::Ended(RunEnd::Aborted) => say("stopped", exit::INTERRUPTED),
        RunState::Ended(RunEnd::StepLimit { steps_max }) => {
            let line = format!("stopped after {steps_max} steps, the limit\n  hint: {go_on}");
            say(&line, exit::FAILED)
        }
        RunState::Ended(RunEnd::Interrupted) => {
            let line = format!("the daemon died while the run worked\n  hint: {go_on}");
            say(&line, exit::FAILED)
        }
        RunState::Ended(RunEnd::Failed { failure }) => exit::report(&failure.clone().into()),
        RunState::Parked { .. } => {
            let hint = how_to_answer(&ended.session);
            say(&format!("the run waits for an answer\n  hint: {hint}"), exit::REFUSED)
        }
        RunState::Running => {
            say(&format!("the run goes on: stead sessions show {session}"), exit::OK)
        }
    };
    driver.closing_line(&ended).await;
    Ok(code)
}

/// Splits `provider/model`; a name without a slash is a model of whichever provider is the default.
pub(crate) fn split_model(text: Option<&str>) -> (Option<String>, Option<String>) {
    match text.map(|text| (ModelRef::parse(text), text)) {
        Some((Some(model), _)) => (Some(model.provider), Some(model.model)),
        Some((None, text)) => (None, Some(text.to_owned())),
        None => (None, None),
    }
}

/// Makes the path of a directory absolute.
///
/// # Errors
/// When no directory is there.
pub(crate) fn directory(dir: &Path) -> Result<String, Failure> {
    let whole = absolute(dir)?;
    if Path::new(&whole).is_dir() {
        return Ok(whole);
    }
    Err(Failure::not_started("cwd_missing", format!("{whole} is no directory that is there")))
}

/// Makes a path absolute without following links, as the person sees it.
pub(crate) fn absolute(dir: &Path) -> Result<String, Failure> {
    let whole = env::cwd()?.join(dir);
    let plain: std::path::PathBuf = whole.components().collect();
    plain.into_os_string().into_string().map_err(|name| {
        Failure::not_started(
            "usage",
            format!("the directory's name is not UTF-8: {}", name.display()),
        )
    })
}
