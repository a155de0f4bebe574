//! What the view does: a state and something that is told become the next state, and what shall be done.
//!
//! Pure. Each message asks for as little as it can: what is being read is not asked for once more.

mod keys;
mod watch;
mod writing;

use api::job::JobRow;
use vocab::outcome::Failure;

use crate::{
    clean,
    editor::Editor,
    msg::{Command, Fact, Haste, Key, Link, Msg, Order},
    state::{Asking, Flight, Mode, Notice, State},
};

/// Facts of a session that change its row.
const OF_THE_LIST: &[&str] = &[
    "session_created",
    "session_titled",
    "session_pinned",
    "session_deleted",
    "run_started",
    "run_blocked",
    "block_answered",
    "run_resumed",
    "run_ended",
    "job_started",
    "job_changed",
    "job_ended",
    "job_edited",
    "job_removed",
];

/// Takes what is told.
pub(crate) fn update(mut state: State, msg: Msg) -> (State, Vec<Command>) {
    let mut commands = Vec::new();
    let asked = state.asked().map(|block| block.id.clone());
    state.take(msg, &mut commands);
    state.settle(&mut commands);
    if state.asked().is_some_and(|block| Some(&block.id) != asked.as_ref()) {
        commands.push(Command::ForgetTyped);
    }
    (state, commands)
}

impl State {
    fn take(&mut self, msg: Msg, commands: &mut Vec<Command>) {
        match msg {
            Msg::Key(key) => self.key(key, commands),
            Msg::Paste(text) => self.paste(&text),
            Msg::Resize(size) => self.size = size,
            Msg::Tick(now) => {
                self.now = now;
                if self.watches_a_screen() {
                    self.read_watched(commands);
                }
            }
            Msg::Link(link) => self.link(link, commands),
            Msg::Fact(fact) => self.fact(&fact, commands),
            Msg::Rows(got) => self.rows(got, commands),
            Msg::Screen { id, got } => self.screen(&id, got, commands),
            Msg::Session { id, got } => self.session(&id, got, commands),
            Msg::Chunks { id, chunks } => self.chunks(&id, &chunks),
            Msg::StreamEnded { id } => self.stream_ended(&id, commands),
            Msg::Done(result) => self.done(result, commands),
            Msg::Returned(result) => {
                if let Err(why) = result {
                    self.fail(&why);
                }
                self.read_rows(commands);
                self.read_watched(commands);
            }
        }
    }

    /// Keeps together what belongs together, whatever has changed.
    fn settle(&mut self, commands: &mut Vec<Command>) {
        self.follow_selection(commands);
        let n_lines = self.list_lines();
        self.list.scroll_to(n_lines);
        self.bound_scrolling();
    }

    fn link(&mut self, link: Link, commands: &mut Vec<Command>) {
        let is_live = link == Link::Live;
        self.link = link;
        if is_live {
            // Whatever was asked before may have gone to a daemon that is no more.
            self.rows = Flight::Idle;
            self.read_rows(commands);
            if let Some(watched) = &mut self.watched {
                watched.flight = Flight::Idle;
            }
            self.read_watched(commands);
        }
    }

    fn fact(&mut self, fact: &Fact, commands: &mut Vec<Command>) {
        if OF_THE_LIST.contains(&fact.kind.as_str()) {
            self.read_rows(commands);
        }
        let watched = self.watched.as_ref().filter(|watched| watched.who.id == fact.about);
        // The stream of a live run tells its steps; only what it does not tell is read.
        let is_told = matches!(
            fact.kind.as_str(),
            "step_ended" | "call_started" | "call_ended" | "step_retried"
        );
        if watched.is_some() && !is_told {
            self.read_watched(commands);
        }
    }

    fn read_rows(&mut self, commands: &mut Vec<Command>) {
        if !self.place.is_alone && self.rows.begin() {
            commands.push(Command::LoadRows(Haste::Now));
        }
    }

    fn rows(&mut self, got: Result<Vec<JobRow>, Failure>, commands: &mut Vec<Command>) {
        match got {
            Ok(rows) => self.list.set_rows(rows),
            // A daemon that is gone is told by its link.
            Err(failure) if self.link == Link::Live => self.fail(&failure.message),
            Err(_) => {}
        }
        if self.rows.end() {
            commands.push(Command::LoadRows(Haste::Soon));
        }
    }

    fn done(&mut self, result: Result<String, Failure>, commands: &mut Vec<Command>) {
        // With several under way nobody can tell which of them was refused.
        let is_alone = self.n_orders == 1;
        self.n_orders = self.n_orders.saturating_sub(1);
        let begun = self.memory.begun.take().filter(|_| is_alone);
        match result {
            Ok(text) if text.is_empty() => {}
            Ok(text) => {
                if text.starts_with("removed · ") {
                    self.memory.way_back = text.contains(" · saved: ").then(|| clean::line(&text));
                }
                self.say(&text);
            }
            Err(failure) => {
                if let (Some(text), Mode::Normal) = (begun, &self.mode) {
                    self.mode = Mode::New(Editor::new(&text));
                }
                let hint = failure.hint.as_deref().unwrap_or_default();
                // Flags are said to a command line, and there is none here.
                let hint = hint.lines().next().filter(|line| !line.contains("--"));
                let hint = hint.unwrap_or_default();
                let dash = if hint.is_empty() { "" } else { " — " };
                self.fail(&format!("{}{dash}{hint}", failure.message));
                // What was on its way may be otherwise than it was taken for.
                self.read_watched(commands);
            }
        }
    }

    fn order(&mut self, order: Order, commands: &mut Vec<Command>) {
        if vocab::limits::VIEW_ORDERS_MAX <= self.n_orders {
            self.fail("too much is being done already; wait a moment");
            return;
        }
        self.n_orders += 1;
        commands.push(Command::Order(order));
    }

    fn say(&mut self, text: &str) {
        self.notice = Some(Notice { text: clean::line(text), is_failure: false });
    }

    fn fail(&mut self, text: &str) {
        self.notice = Some(Notice { text: clean::line(text), is_failure: true });
    }

    fn key(&mut self, key: Key, commands: &mut Vec<Command>) {
        self.notice = None;
        if key == Key::Esc && matches!(self.mode, Mode::Normal) {
            self.memory.way_back = None;
        }
        if key == Key::Ctrl('c') {
            // What is being written is given up first, as in a shell.
            match self.mode {
                Mode::Normal | Mode::Help => commands.push(Command::Quit),
                Mode::Filter(_) => self.keep_filter(""),
                Mode::New(_) | Mode::Reply { .. } | Mode::Rename { .. } => self.mode = Mode::Normal,
                Mode::Confirm { .. } | Mode::Opening(_) | Mode::Answer(_) => {
                    self.mode = Mode::Normal;
                }
            }
            return;
        }
        match std::mem::replace(&mut self.mode, Mode::Normal) {
            Mode::Normal => self.command_key(key, commands),
            Mode::Help => {}
            Mode::Confirm { order, .. } => self.confirm(key, order, commands),
            Mode::Opening(who) => self.opening_key(key, who),
            Mode::Answer(asking) => self.answer_key(key, asking, commands),
            Mode::Filter(editor) => self.filter_key(key, editor),
            Mode::New(editor) => self.new_key(key, editor, commands),
            Mode::Reply { to, kind, editor } => self.reply_key(key, (to, kind), editor, commands),
            Mode::Rename { job, editor } => self.rename_key(key, job, editor, commands),
        }
    }

    fn paste(&mut self, text: &str) {
        let editor = match &mut self.mode {
            Mode::Filter(editor) | Mode::New(editor) => editor,
            Mode::Reply { editor, .. } | Mode::Rename { editor, .. } => editor,
            Mode::Answer(Asking { reason: Some(editor), .. }) => editor,
            // Elsewhere keys are commands, and a pasted text holds none.
            Mode::Normal
            | Mode::Help
            | Mode::Confirm { .. }
            | Mode::Opening(_)
            | Mode::Answer(_) => return,
        };
        editor.insert(text);
        if let Mode::Filter(editor) = &self.mode {
            let filter = editor.text().trim().to_owned();
            self.list.set_filter(&filter);
        }
    }

    fn keep_filter(&mut self, filter: &str) {
        self.list.set_filter(filter);
        self.mode = Mode::Normal;
    }
}

#[cfg(test)]
mod tests;
