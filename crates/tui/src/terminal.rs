//! The terminal while it is ours: raw, on its second screen, and given back whatever happens.
//!
//! What is drawn is decided elsewhere. A kill that nobody can hear is beyond it.

use std::{
    io::{self, BufWriter, IsTerminal as _, Stdout, Write as _},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, EnableBracketedPaste},
    execute,
    style::{Attribute, SetAttribute},
    terminal::{self, EnterAlternateScreen, LeaveAlternateScreen},
};
use ratatui::{Terminal, backend::CrosstermBackend};
use vocab::outcome::{Effect, Failure};

use crate::{
    input,
    msg::Size,
    state::State,
    view::{self, Palette},
};

/// Whether there is something to give back.
static IS_OURS: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Bytes that are collected before they are written: a full screen in one write.
const WRITE_BYTES: usize = 64 * 1024;

/// The screen. Dropping it gives the terminal back.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    palette: Palette,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn open(palette: Palette) -> Result<Self, Failure> {
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
        let backend = CrosstermBackend::new(BufWriter::with_capacity(WRITE_BYTES, io::stdout()));
        let terminal = Terminal::new(backend).map_err(|error| unusable(&error))?;
        let mut screen = Self { terminal, palette };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes the terminal again after it was given back.
    ///
    /// # Errors
    /// When it is gone.
    pub(crate) fn enter(&mut self) -> Result<(), Failure> {
        IS_OURS.store(true, Ordering::SeqCst);
        terminal::enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide))
            .and_then(|()| self.terminal.clear())
            .map_err(|error| unusable(&error))
    }

    /// Gives the terminal to somebody else for a while.
    pub(crate) fn leave(&mut self) {
        give_back();
    }

    /// Returns how large it is.
    ///
    /// # Errors
    /// When it is gone.
    pub(crate) fn size(&self) -> Result<Size, Failure> {
        terminal::size().map(input::size_of).map_err(|error| unusable(&error))
    }

    /// Draws the state.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub(crate) fn draw(&mut self, state: &State) -> Result<(), Failure> {
        let palette = self.palette;
        let drawn = self.terminal.draw(|frame| {
            if let Some(cursor) = view::draw(state, palette, frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        });
        drawn.map(drop).map_err(|error| unusable(&error))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Forgets what was typed and not read yet.
pub(crate) fn forget_typed() {
    rustix::termios::tcflush(rustix::stdio::stdin(), rustix::termios::QueueSelector::IFlush).ok();
}

/// Gives the terminal back, once. A terminal that is gone has nobody to be told.
fn give_back() {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let reset = SetAttribute(Attribute::Reset);
    execute!(out, reset, DisableBracketedPaste, LeaveAlternateScreen, Show).ok();
    out.flush().ok();
    terminal::disable_raw_mode().ok();
}

fn unusable(error: &io::Error) -> Failure {
    Failure::new(
        "terminal_gone",
        Effect::NotStarted,
        format!("the terminal cannot be used: {error}"),
    )
}
