//! The loop: listens to the terminal and the daemon, and does what `update` asks for.
//!
//! It decides nothing about what is shown.

mod feed;
mod handover;
mod orders;
mod signals;

use std::{collections::BTreeMap, io, process::Child, sync::Arc, time::Duration};

use api::{client::Client, job::RowKind, secret::Key};
use stdx::clock::Clock;
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    task::{AbortHandle, JoinError, JoinSet},
    time::Instant,
};
use vocab::{
    limits::{VIEW_RELOAD_MS, VIEW_TOLD_MAX},
    outcome::{Effect, Failure},
};

use self::signals::{Signals, Told};
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

pub use crate::terminal::{Guard, Moment};

/// Shows everything that runs, until it is left.
///
/// # Errors
/// When there is no terminal, or it is gone.
pub async fn run(setup: Setup, wanted: Wanted, guard: Option<Guard<'_>>) -> Result<Left, Failure> {
    let place = Place { cwd: setup.ground.cwd.clone(), home: setup.home.clone(), is_alone: false };
    Loop::begin(setup, wanted, place, guard)?.go().await
}

/// Shows one session, until it is left. Its run goes on.
///
/// # Errors
/// When there is no terminal, or it is gone.
pub async fn session(setup: Setup, id: &str, guard: Option<Guard<'_>>) -> Result<Left, Failure> {
    let place = Place { cwd: setup.ground.cwd.clone(), home: setup.home.clone(), is_alone: true };
    let mut looping = Loop::begin(setup, Wanted::default(), place, guard)?;
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

struct Loop<'a> {
    screen: Screen<'a>,
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

impl<'a> Loop<'a> {
    fn begin(
        setup: Setup,
        wanted: Wanted,
        place: Place,
        guard: Option<Guard<'a>>,
    ) -> Result<Self, Failure> {
        let signals = Signals::new().map_err(|error| {
            let why = format!("signals cannot be heard: {error}");
            Failure::not_started("failed", why)
        })?;
        let screen = Screen::open(Palette { has_colors: setup.has_colors }, guard)?;
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

async fn rest(haste: Haste) {
    if haste == Haste::Soon {
        tokio::time::sleep(Duration::from_millis(VIEW_RELOAD_MS)).await;
    }
}

#[cfg(test)]
mod tests;
