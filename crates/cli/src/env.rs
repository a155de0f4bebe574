//! The one reader of the environment: where state lives, which keys are there, what children may see.

#![expect(clippy::disallowed_methods, reason = "the one room that reads the environment")]

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use api::secret::Key;
use daemon::paths::{Paths, SOCKET_NAME};
use pty::ask::Within;
use stdx::{paths, program};
use vocab::{
    ids::{JOB_MARKER, RUN_MARKER},
    outcome::Failure,
};

/// Returns a variable that is set and not empty.
pub(crate) fn get(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the socket and the token of the job that this process runs in, if it does.
pub(crate) fn job() -> Option<(PathBuf, String)> {
    Some((get("STEAD_JOB_SOCK")?.into(), get("STEAD_JOB_TOKEN")?))
}

/// Returns all variables, for the tools' environment to be built from.
pub(crate) fn all() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Returns all variables but those that hold keys: by their names, and by what providers say of them.
pub(crate) fn without_keys(paths: &Paths) -> Vec<(OsString, OsString)> {
    let config = crate::config::load(paths).unwrap_or_default();
    let configured = config.providers.values().filter_map(|entry| entry.key_env.as_deref());
    let vendors = provider::catalog::VENDORS.iter().flat_map(|vendor| vendor.key_variables);
    let keys: Vec<&str> = configured.chain(vendors.copied()).collect();
    let mut all = all();
    all.retain(|(name, _)| {
        !sandbox::environ::is_filtered(name) && !keys.iter().any(|key| name == *key)
    });
    all
}

/// Tells whether a word names a program: one that is found through `PATH`, or a file that can be run.
pub(crate) fn is_program(word: &str) -> bool {
    if word.contains('/') { program::can_run(Path::new(word)) } else { in_path(word).is_some() }
}

fn in_path(name: &str) -> Option<PathBuf> {
    program::find(&std::env::var_os("PATH").unwrap_or_default(), name.as_ref())
}

/// How this program is called by what was told to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Called {
    /// By its name: that finds this file, and the one that is put in its place.
    Name,
    /// By its path, since its name finds nothing or another one.
    Path(String),
}

/// The name of this program.
pub(crate) const PROGRAM: &str = "stead";

/// Has the kernel call this process by the program's name, wherever it was started from.
pub(crate) fn be_called() {
    rustix::thread::set_name(c"stead").ok();
}

/// Returns how this program is called; none where it cannot be said where it is.
pub(crate) fn called() -> Option<Called> {
    // Through /proc it is this very file, also where its name is gone.
    if in_path(PROGRAM).is_some_and(|file| paths::is_same(&file, Path::new("/proc/self/exe"))) {
        return Some(Called::Name);
    }
    let path = std::env::current_exe().ok()?.into_os_string().into_string().ok()?;
    Some(Called::Path(path))
}

/// Returns the directory the command was started in.
///
/// # Errors
/// When it is gone.
pub(crate) fn cwd() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::not_started("not_found", format!("the current directory cannot be read: {error}"))
    })
}

/// Returns where this program lies.
///
/// # Errors
/// When it has been removed or replaced since it was started.
pub(crate) fn own_program() -> Result<PathBuf, Failure> {
    let found = std::env::current_exe().ok().filter(|path| path.exists());
    found.ok_or_else(|| {
        Failure::not_started("program_unusable", "this program was replaced since it was started")
            .with_hint("run it again")
    })
}

/// The state root below a user's home where nothing else is said.
const USUAL_STATE: &str = ".local/state/stead";

/// Returns where Stead's files are. Inside a job they are those of the job's own daemon, unless another state
/// root is named: a job is told of it, and not of what led the daemon there.
///
/// # Errors
/// When neither the state directory nor a home is named.
pub(crate) fn paths() -> Result<Paths, Failure> {
    let path = |name: &str| get(name).map(PathBuf::from);
    // The XDG specification has relative ones ignored.
    let xdg =
        |name: &str| path(name).filter(|path| path.is_absolute()).map(|dir| dir.join("stead"));
    for name in ["STEAD_HOME", "STEAD_RUNTIME_DIR", "STEAD_CONFIG", "HOME"] {
        whole(name, path(name).as_deref())?;
    }
    let home = path("HOME");
    let missing = |what: &str| {
        Failure::not_started("usage", format!("neither {what} nor HOME is set"))
            .with_hint(format!("set {what}"))
    };
    let below_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
    let of_job = of_job();
    let state = path("STEAD_HOME")
        .or_else(|| of_job.as_ref().map(|(state, _)| state.clone()))
        .or_else(|| xdg("XDG_STATE_HOME"))
        .or_else(|| below_home(USUAL_STATE))
        .ok_or_else(|| missing("STEAD_HOME"))?;
    let config = path("STEAD_CONFIG")
        .or_else(|| xdg("XDG_CONFIG_HOME").map(|dir| dir.join("config.toml")))
        .or_else(|| below_home(".config/stead/config.toml"))
        .ok_or_else(|| missing("STEAD_CONFIG"))?;
    let uid = rustix::process::geteuid().as_raw();
    let own_runtime = path("STEAD_RUNTIME_DIR");
    if let (Some((state, socket)), None) = (&of_job, &own_runtime)
        && let (Some(runtime), Some(name)) = (socket.parent(), socket.file_name())
    {
        let (home, runtime) = (state.clone(), runtime.to_path_buf());
        let socket_name = name.to_string_lossy().into_owned();
        return Ok(Paths { home, runtime, socket_name, config });
    }
    let is_shared = own_runtime.is_none();
    let runtime = own_runtime
        .or_else(|| xdg("XDG_RUNTIME_DIR"))
        .unwrap_or_else(|| PathBuf::from(format!("/tmp/stead-{uid}")));
    // All are whole; this writes them one way, without doubled slashes.
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let state = absolute(state);
    // The runtime directory is one for all state roots of a user, unless it was chosen for this one.
    let socket_name =
        if is_shared { Paths::shared_socket_name(&state) } else { SOCKET_NAME.to_owned() };
    Ok(Paths { home: state, runtime: absolute(runtime), socket_name, config: absolute(config) })
}

/// What a job is told of where it is: its directory below the state root, and its daemon's socket.
const JOB_PLACES: [&str; 2] = ["STEAD_JOB_DIR", "STEAD_DAEMON_SOCK"];

/// Returns the state root and the daemon's socket of the job that this process runs in, if it does and no
/// other root is named: by `STEAD_HOME`, or by a state directory or a home that is not what the job was given.
fn of_job() -> Option<(PathBuf, PathBuf)> {
    if get("STEAD_HOME").is_some() {
        return None;
    }
    let [dir, socket] = JOB_PLACES.map(|name| get(name).map(PathBuf::from));
    let (dir, socket) = (dir?, socket?);
    // The directory is STEAD_HOME/jobs/<id>.
    let state = dir.parent()?.parent()?;
    if !state.is_absolute() || !socket.is_absolute() {
        return None;
    }
    // What was given is known as long as its record is there. Of a state directory that is named without one,
    // somebody has said it here.
    let id = dir.file_name()?.to_str()?.parse().ok()?;
    let record = pty::job::JobFiles::new(state, socket.parent()?, &id).read();
    let given = record.map(|record| record.env).unwrap_or_default();
    let xdg = get("XDG_STATE_HOME").filter(|dir| Path::new(dir).is_absolute());
    let (named, was_given, below) = match xdg {
        Some(dir) => (dir, given.get("XDG_STATE_HOME"), "stead"),
        None => {
            let was_given = given.get("HOME");
            (
                get("HOME").filter(|_| was_given.is_some()).unwrap_or_default(),
                was_given,
                USUAL_STATE,
            )
        }
    };
    let is_other = !named.is_empty() && was_given != Some(&named);
    let is_other = is_other && Path::new(&named).join(below) != state;
    (!is_other).then(|| (state.to_path_buf(), socket))
}

/// Changes the environment of a daemon that is started from inside a job: it is none of the job's processes,
/// must not end with it, and is told where its files are as every other one is.
pub(crate) fn leave_job(daemon: &mut std::process::Command, paths: &Paths) {
    for name in [&[JOB_MARKER][..], &JOB_PLACES].concat() {
        daemon.env_remove(name);
    }
    if of_job().is_none() {
        return;
    }
    daemon.env("STEAD_HOME", &paths.home);
    if paths.socket_name == SOCKET_NAME {
        daemon.env("STEAD_RUNTIME_DIR", &paths.runtime);
    } else if paths.runtime.ends_with("stead") {
        // The directory that state roots share.
        daemon.env("XDG_RUNTIME_DIR", paths.runtime.parent().unwrap_or(Path::new("/")));
    }
}

/// Returns the directory of a person's data that is Stead's: not its state, which no tool may reach.
/// Without a home it falls into the state, where no worktree is made.
pub(crate) fn data(paths: &Paths) -> PathBuf {
    let whole = |name: &str| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let below_home = || whole("HOME").map(|home| home.join(".local/share"));
    match whole("XDG_DATA_HOME").or_else(below_home) {
        Some(dir) => dir.join("stead"),
        None => paths.home.join("data"),
    }
}

/// Refuses a relative path: every command and the daemon would look for it somewhere else.
fn whole(name: &str, path: Option<&Path>) -> Result<(), Failure> {
    match path.filter(|path| path.is_relative()) {
        None => Ok(()),
        Some(path) => {
            let why = format!("{name} is the relative path {:?}", path.display().to_string());
            Err(Failure::not_started("usage", why)
                .with_hint(format!("set {name} to a whole path, from / on")))
        }
    }
}

/// Returns the keys that the environment holds for the named variables, by provider.
pub(crate) fn keys<'a>(wanted: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, Key> {
    wanted
        .filter_map(|(provider, variable)| {
            get(variable).map(|key| (provider.to_owned(), key.into()))
        })
        .collect()
}

/// Says to the host of a job that its job is shown in ours, as far as the environment says that we are in one,
/// for as long as what is returned is held.
///
/// # Errors
/// When that job shows ours.
pub(crate) fn within(shown: &Path) -> Result<Option<Within>, Failure> {
    let own = get("STEAD_JOB_SOCK").map(PathBuf::from).filter(|own| own.is_absolute());
    own.map(|own| Within::say(shown, &own)).transpose()
}

/// Tells whether this is a process of a run, or of a job that is an agent's, as far as the environment says.
pub(crate) fn is_agents() -> bool {
    let of_agent = |job: &str| {
        let files = job
            .parse()
            .ok()
            .zip(paths().ok())
            .map(|(id, paths)| pty::job::JobFiles::new(&paths.home, &paths.runtime, &id));
        files.and_then(|files| files.read().ok()).is_some_and(|record| record.agent)
    };
    get(RUN_MARKER).is_some() || get(JOB_MARKER).is_some_and(|job| of_agent(&job))
}

/// Returns what is said here of the terminal.
pub(crate) fn terminal() -> pty::attach::Known {
    let [program, version, colors] = ["TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORFGBG"].map(get);
    pty::attach::Known::read(program.as_deref(), version.as_deref(), colors.as_deref())
}

/// Returns the keys that a person wants to let go of jobs with.
pub(crate) fn detach_keys() -> Option<String> {
    get("STEAD_DETACH_KEYS")
}

/// Tells whether output may carry colors.
pub(crate) fn colors(is_terminal: bool) -> bool {
    is_terminal && get("NO_COLOR").is_none() && get("TERM").is_none_or(|term| term != "dumb")
}
