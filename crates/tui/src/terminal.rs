//! The terminal while it is ours: raw, on its second screen, and given back whatever happens.
//!
//! What is drawn is decided elsewhere. It asks the terminal nothing, so that no answer can be taken for keys.
//! A kill that nobody can hear is beyond it, and a matter for whoever starts a guard.

mod keys;
mod paint;

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Mutex, Once, PoisonError},
};

use ratatui_core::{buffer::Buffer, layout::Rect};
use rustix::{
    stdio::{stdin, stdout},
    termios::{self, OptionalActions, QueueSelector, Termios},
};
use vocab::outcome::{Effect, Failure};

pub(crate) use keys::Keys;

use crate::{
    msg::Size,
    state::State,
    view::{self, Palette},
};

/// The second screen, pasted texts as such, no cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?2004h\x1b[?25l";
/// The same where the second screen was not left: to enter it again would forget where the cursor of the first is.
const RETAKE: &str = "\x1b[?2004h\x1b[?25l";
/// All of that back, and no style.
pub(crate) const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?2004l\x1b[?1049l";
const CLEAR: &str = "\x1b[0m\x1b[2J";

/// How the terminal was, while it is ours.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// What happens to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It is about to be taken. What it is like now is how it has to be given back.
    Taken,
    /// It was given back.
    Given,
}

/// Whoever gives the terminal back where this process is killed while it has it. It is told each time the terminal is
/// taken and given back, since somebody else has it in between.
pub type Guard<'a> = &'a dyn Fn(Moment) -> Result<(), Failure>;

/// The screen. Dropping it gives the terminal back.
pub(crate) struct Screen<'a> {
    palette: Palette,
    guard: Option<Guard<'a>>,
    /// What the terminal shows; none when that is not known.
    shown: Option<Buffer>,
}

impl<'a> Screen<'a> {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn open(palette: Palette, guard: Option<Guard<'a>>) -> Result<Self, Failure> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            let why = "the view needs a terminal, and input or output is none";
            return Err(Failure::not_started("not_a_terminal", why)
                .with_hint("stead ls lists the same, also for programs: --json"));
        }
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                // What is said of it shall be read on the screen that stays.
                give_back();
                before(info);
            }));
        });
        let mut screen = Self { palette, guard, shown: None };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes the terminal again after it was given back.
    ///
    /// # Errors
    /// When it is gone.
    pub(crate) fn enter(&mut self) -> Result<(), Failure> {
        self.shown = None;
        self.tell(Moment::Taken)?;
        let before = termios::tcgetattr(stdin()).map_err(|error| unusable(&error.into()))?;
        let mut raw = before.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        termios::tcsetattr(stdin(), OptionalActions::Now, &raw)
            .map_err(|error| unusable(&error.into()))?;
        write(ENTER).map_err(|error| unusable(&error))
    }

    /// Takes the terminal again that was never given back: this process was stopped without a warning, and what
    /// it shows and its modes are not known.
    ///
    /// # Errors
    /// When it is gone.
    pub(crate) fn again(&mut self) -> Result<(), Failure> {
        self.shown = None;
        let mut raw = termios::tcgetattr(stdin()).map_err(|error| unusable(&error.into()))?;
        raw.make_raw();
        termios::tcsetattr(stdin(), OptionalActions::Now, &raw)
            .map_err(|error| unusable(&error.into()))?;
        write(RETAKE).map_err(|error| unusable(&error))
    }

    /// Gives the terminal to somebody else for a while.
    pub(crate) fn leave(&mut self) {
        give_back();
        // A guard that is gone gives nothing back either.
        self.tell(Moment::Given).ok();
    }

    fn tell(&self, moment: Moment) -> Result<(), Failure> {
        self.guard.map_or(Ok(()), |guard| guard(moment))
    }

    /// Returns how large it is; what a terminal does not know is what most are.
    ///
    /// # Errors
    /// When it is gone.
    pub(crate) fn size(&self) -> Result<Size, Failure> {
        let told = termios::tcgetwinsize(stdout()).map_err(|error| unusable(&error.into()))?;
        let known = |cells: u16, usual: usize| if cells == 0 { usual } else { cells.into() };
        Ok(Size { columns: known(told.ws_col, 80), lines: known(told.ws_row, 24) })
    }

    /// Draws the state: what has changed since it was last drawn, in one write.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn draw(&mut self, state: &State) -> Result<(), Failure> {
        let cells = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let area = Rect::new(0, 0, cells(state.size.columns), cells(state.size.lines));
        let mut next = Buffer::empty(area);
        let cursor = view::draw(state, self.palette, &mut next);
        let mut out = String::new();
        let shown = match self.shown.take().filter(|shown| shown.area == area) {
            Some(shown) => shown,
            None => {
                out.push_str(CLEAR);
                Buffer::empty(area)
            }
        };
        paint::paint(&shown, &next, cursor, &mut out);
        self.shown = Some(next);
        write(&out).map_err(|error| unusable(&error))
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Forgets what was typed and not read yet.
pub(crate) fn forget_typed() {
    termios::tcflush(stdin(), QueueSelector::IFlush).ok();
}

/// Gives the terminal back, once. A terminal that is gone has nobody to be told.
fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        write(LEAVE).ok();
        termios::tcsetattr(stdin(), OptionalActions::Now, &before).ok();
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

fn unusable(error: &io::Error) -> Failure {
    let why = format!("the terminal cannot be used: {error}");
    Failure::new("terminal_gone", Effect::NotStarted, why)
}
