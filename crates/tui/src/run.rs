//! The loop: listens to the terminal and the daemon, and does what `update` asks for.
//!
//! It decides nothing about what is shown.

mod feed;
mod orders;
mod signals;

use std::{
    collections::BTreeMap,
    io::{self, Read as _},
    process::Child,
    sync::Arc,
    time::Duration,
};

use api::{client::Client, job::RowKind, secret::Key};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use stdx::clock::Clock;
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    task::{AbortHandle, JoinError, JoinSet},
    time::Instant,
};
use vocab::{
    limits::{VIEW_ERROR_BYTES_MAX, VIEW_RELOAD_MS, VIEW_TOLD_MAX},
    outcome::{Effect, Failure},
};

use self::signals::{Beside, Signals, Told};
use crate::{
    msg::{Command, Haste, Msg, Named},
    state::{Look, Place, State, Watched},
    terminal::{Keys, LEAVE, Screen},
    update,
    view::Palette,
};

/// How long a moment lasts in which something watched may have changed.
const GLANCE: Duration = Duration::from_secs(1);
/// How long an age that is shown stays true enough.
const REST: Duration = Duration::from_secs(10);

/// What the view needs of the world.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The daemon. It may end and come back at the same address.
    pub client: Client,
    /// What new jobs and sessions are given.
    pub ground: Ground,
    /// The person's home, which is written `~`.
    pub home: Option<String>,
    /// Whether the terminal shows colors and the person wants them.
    pub has_colors: bool,
    /// Starts the program that shows a job in this terminal, its standard error in a pipe.
    pub attach: fn(job: &str) -> io::Result<Child>,
}

/// What new jobs and sessions are given.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// Where they begin. Absolute.
    pub cwd: String,
    /// What a job sees of the environment.
    pub env: BTreeMap<String, String>,
    /// Keys of providers, for the runs that are begun or go on here.
    pub keys: BTreeMap<String, Key>,
}

/// Which rows are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Also those that ended long ago.
    pub all: bool,
    /// Only those that work in this directory. Absolute.
    pub cwd: Option<String>,
}

/// Why the view was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The person left it.
    Quit,
    /// The process was told to end.
    Told,
}

/// What has to be written to the terminal when this process was killed while it showed the view. The terminal's
/// modes are raw then.
pub const FAREWELL: &str = LEAVE;

/// Shows everything that runs, until it is left.
///
/// # Errors
/// When there is no terminal, or it is gone.
pub async fn run(setup: Setup, wanted: Wanted) -> Result<Left, Failure> {
    let place = Place { cwd: setup.ground.cwd.clone(), home: setup.home.clone(), is_alone: false };
    Loop::begin(setup, wanted, place)?.go().await
}

/// Shows one session, until it is left. Its run goes on.
///
/// # Errors
/// When there is no terminal, or it is gone.
pub async fn session(setup: Setup, id: &str) -> Result<Left, Failure> {
    let place = Place { cwd: setup.ground.cwd.clone(), home: setup.home.clone(), is_alone: true };
    let mut looping = Loop::begin(setup, Wanted::default(), place)?;
    let who = Named { id: id.to_owned(), name: String::new() };
    looping.state.watched = Some(Watched::new(who, RowKind::Session));
    looping.state.look = Look::Full;
    looping.go().await
}

/// Makes the queue of what is told. Whoever tells more waits.
fn queue() -> (Sender<Msg>, Receiver<Msg>) {
    mpsc::channel(VIEW_TOLD_MAX)
}

/// What ended the wait of a turn.
enum Heard {
    Key(Option<Msg>),
    Told(Msg),
    Time,
    Signal(Told),
    Task(Result<(), JoinError>),
}

struct Loop {
    screen: Screen,
    state: State,
    setup: Arc<Setup>,
    wanted: Wanted,
    clock: Clock,
    signals: Signals,
    keys: Option<Keys>,
    sender: Sender<Msg>,
    told: Receiver<Msg>,
    tasks: JoinSet<()>,
    followed: Option<AbortHandle>,
    next: Next,
}

/// What a turn of the loop leaves to be done.
#[derive(Debug, Default)]
struct Next {
    attach: Option<String>,
    is_over: bool,
    /// A task broke down; what is shown may be old for ever.
    is_broken: bool,
}

impl Loop {
    fn begin(setup: Setup, wanted: Wanted, place: Place) -> Result<Self, Failure> {
        let signals = Signals::new().map_err(|error| {
            let why = format!("signals cannot be heard: {error}");
            Failure::not_started("failed", why)
        })?;
        let screen = Screen::open(Palette { has_colors: setup.has_colors })?;
        let clock = Clock::system();
        let state = State::new(place, screen.size()?, clock.now());
        let (sender, told) = queue();
        Ok(Self {
            screen,
            state,
            setup: Arc::new(setup),
            wanted,
            clock,
            signals,
            keys: Some(read_keys()?),
            sender,
            told,
            tasks: JoinSet::new(),
            followed: None,
            next: Next::default(),
        })
    }

    async fn go(mut self) -> Result<Left, Failure> {
        let (client, sender) = (self.setup.client.clone(), self.sender.clone());
        self.tasks.spawn(async move { feed::facts(&client, &sender).await });
        let mut looked = Instant::now();
        loop {
            self.screen.draw(&self.state)?;
            let pause = if self.state.watches_a_screen() { GLANCE } else { REST };
            let heard = tokio::select! {
                key = next_key(&mut self.keys) => Heard::Key(key),
                Some(msg) = self.told.recv() => Heard::Told(msg),
                told = self.signals.next() => Heard::Signal(told),
                Some(ended) = self.tasks.join_next() => Heard::Task(ended),
                () = tokio::time::sleep_until(looked + pause) => Heard::Time,
            };
            match heard {
                Heard::Key(Some(msg)) => self.take(msg),
                // A terminal that says nothing any more is gone.
                Heard::Key(None) | Heard::Signal(Told::End) => return Ok(Left::Told),
                Heard::Signal(Told::Size) => {
                    let size = self.screen.size()?;
                    self.take(Msg::Resize(size));
                }
                Heard::Signal(Told::Stop) => self.stop()?,
                Heard::Signal(Told::Again) => {
                    self.screen.again()?;
                    self.take(Msg::Resize(self.screen.size()?));
                }
                Heard::Told(msg) => {
                    self.take(msg);
                    self.take_all();
                }
                Heard::Time => {
                    looked = Instant::now();
                    self.take(Msg::Tick(self.clock.now()));
                }
                Heard::Task(ended) => self.reap(&ended),
            }
            if self.next.is_broken {
                let why = "a part of the view broke down";
                return Err(Failure::new("failed", Effect::Indeterminate, why));
            }
            if self.next.is_over {
                return Ok(Left::Quit);
            }
            if let Some(job) = self.next.attach.take()
                && self.attach(&job).await? == Left::Told
            {
                return Ok(Left::Told);
            }
        }
    }

    fn take(&mut self, msg: Msg) {
        let state = std::mem::replace(&mut self.state, State::nothing());
        let (state, commands) = update::update(state, msg);
        self.state = state;
        for command in commands {
            self.act(command);
        }
    }

    fn reap(&mut self, ended: &Result<(), JoinError>) {
        self.next.is_broken |= ended.as_ref().is_err_and(JoinError::is_panic);
    }

    /// Takes what came together, so that it is drawn together.
    fn take_all(&mut self) {
        for _ in 0..VIEW_TOLD_MAX {
            let Ok(msg) = self.told.try_recv() else { return };
            self.take(msg);
        }
    }

    fn act(&mut self, command: Command) {
        let (setup, sender) = (Arc::clone(&self.setup), self.sender.clone());
        let tell = |msg: Msg| async move { sender.send(msg).await.ok() };
        match command {
            Command::LoadRows(haste) => {
                let wanted = self.wanted.clone();
                self.tasks.spawn(async move {
                    rest(haste).await;
                    tell(Msg::Rows(feed::rows(&setup.client, &wanted).await)).await;
                });
            }
            Command::LoadScreen(id) => {
                self.tasks.spawn(async move {
                    let got = feed::screen(&setup.client, &id).await;
                    tell(Msg::Screen { id, got }).await;
                });
            }
            Command::LoadSession(id, haste) => {
                self.tasks.spawn(async move {
                    rest(haste).await;
                    let got = feed::session(&setup.client, &id).await.map(Box::new);
                    tell(Msg::Session { id, got }).await;
                });
            }
            Command::Follow(id) => {
                self.unfollow();
                let sender = self.sender.clone();
                let following = async move { feed::run(&setup.client, &id, &sender).await };
                self.followed = Some(self.tasks.spawn(following));
            }
            Command::Unfollow => self.unfollow(),
            Command::Order(order) => {
                self.tasks.spawn(async move {
                    let result = orders::carry_out(&setup.client, &setup.ground, order).await;
                    tell(Msg::Done(result)).await;
                });
            }
            Command::ForgetTyped => {
                if let Some(keys) = &mut self.keys {
                    keys.forget();
                }
            }
            Command::Attach(job) => self.next.attach = Some(job),
            Command::Quit => self.next.is_over = true,
        }
    }

    fn unfollow(&mut self) {
        if let Some(followed) = self.followed.take() {
            followed.abort();
        }
    }

    /// Gives the terminal back, stops until somebody lets this process go on, and takes it again.
    fn stop(&mut self) -> Result<(), Failure> {
        // Two readers of one terminal would share its keys between them.
        self.keys = None;
        self.screen.leave();
        signals::stop();
        self.screen.enter()?;
        self.keys = Some(read_keys()?);
        self.take(Msg::Resize(self.screen.size()?));
        Ok(())
    }

    /// Gives the terminal to a job until it is let go of. What is told meanwhile is taken, and not drawn.
    async fn attach(&mut self, job: &str) -> Result<Left, Failure> {
        // Two readers of one terminal would share its keys between them.
        self.keys = None;
        self.screen.leave();
        let mut left = Left::Quit;
        let result = match (self.setup.attach)(job) {
            Err(error) => Err(format!("the job cannot be shown: {error}")),
            Ok(child) => {
                // A handle means this process also when its number means another one.
                let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
                let mut waiting = tokio::task::spawn_blocking(move || ended(child));
                loop {
                    tokio::select! {
                        result = &mut waiting => {
                            break result.unwrap_or_else(|_| Err("waiting for it failed".to_owned()));
                        }
                        Some(msg) = self.told.recv() => self.take(msg),
                        Some(ended) = self.tasks.join_next() => self.reap(&ended),
                        told = self.signals.beside() => match (told, &handle) {
                            (Beside::End, handle) => {
                                left = Left::Told;
                                if let Ok(handle) = handle {
                                    pidfd_send_signal(handle, Signal::TERM).ok();
                                }
                            }
                            (Beside::Stop, Ok(handle)) => signals::stop_with(handle).await,
                            (Beside::Stop, Err(_)) => signals::stop(),
                        },
                    }
                }
            }
        };
        if left == Left::Told {
            return Ok(left);
        }
        self.screen.enter()?;
        self.keys = Some(read_keys()?);
        self.take(Msg::Resize(self.screen.size()?));
        self.take(Msg::Returned(result));
        Ok(left)
    }
}

fn read_keys() -> Result<Keys, Failure> {
    Keys::read()
        .map_err(|error| Failure::not_started("failed", format!("keys cannot be read: {error}")))
}

/// Waits for the next key, for ever where nobody reads any.
async fn next_key(keys: &mut Option<Keys>) -> Option<Msg> {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for what shows a job; tells what it said where it failed.
fn ended(mut child: Child) -> Result<(), String> {
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        // What it says is a line or two; bytes that are no text say nothing.
        stderr.take(VIEW_ERROR_BYTES_MAX).read_to_string(&mut said).ok();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let first = said.lines().next().unwrap_or_default();
    let first = first.strip_prefix("stead: ").unwrap_or(first);
    match status.success() {
        true => Ok(()),
        false if first.is_empty() => Err(format!("the job could not be shown: {status}")),
        false => Err(first.to_owned()),
    }
}

async fn rest(haste: Haste) {
    if haste == Haste::Soon {
        tokio::time::sleep(Duration::from_millis(VIEW_RELOAD_MS)).await;
    }
}

#[cfg(test)]
mod tests;
