//! What is looked at besides the list: the screen of a job, or the conversation of a session.
//!
//! It follows the selection while it is a peek, is read when something changes, and a live run is followed.

use api::job::RowKind;
use serde_json::Value;
use vocab::outcome::Failure;

use crate::{
    clean,
    msg::{Command, Haste, Key, Loaded, Named},
    question,
    state::{Asking, Content, Flight, Look, Mode, State, Watched},
    transcript::Transcript,
};

impl State {
    /// Begins to read what is watched, unless it is being read.
    pub(super) fn read_watched(&mut self, commands: &mut Vec<Command>) {
        self.read_watched_in(Haste::Now, commands);
    }

    fn read_watched_in(&mut self, haste: Haste, commands: &mut Vec<Command>) {
        if self.look == Look::Closed {
            return;
        }
        let Some(watched) = &mut self.watched else { return };
        if watched.flight.begin() {
            let id = watched.who.id.clone();
            commands.push(match watched.kind {
                RowKind::Job => Command::LoadScreen(id),
                RowKind::Session => Command::LoadSession(id, haste),
            });
        }
    }

    /// Opens a look at the selected row.
    pub(super) fn look_at_selected(&mut self, look: Look, commands: &mut Vec<Command>) {
        let Some(row) = self.list.selected() else { return };
        let is_new = self.watched.as_ref().is_none_or(|watched| watched.who.id != row.id);
        if is_new {
            self.watched = Some(Watched::of(row));
            commands.push(Command::Unfollow);
        }
        self.look = look;
        self.read_watched(commands);
    }

    /// Looks at the list alone.
    pub(super) fn close_look(&mut self, commands: &mut Vec<Command>) {
        self.look = Look::Closed;
        self.watched = None;
        commands.push(Command::Unfollow);
    }

    /// Lets a peek go with the selection, and a name with its row.
    pub(super) fn follow_selection(&mut self, commands: &mut Vec<Command>) {
        if self.look == Look::Peek && matches!(self.mode, Mode::Normal | Mode::Filter(_)) {
            let selected = self.list.selected().map(|row| row.id.as_str());
            let watched = self.watched.as_ref().map(|watched| watched.who.id.as_str());
            match selected {
                Some(_) if selected == watched => {}
                Some(_) => self.look_at_selected(Look::Peek, commands),
                None => self.close_look(commands),
            }
        }
        if let Some(watched) = &mut self.watched
            && let Some(row) = self.list.find(&watched.who.id)
        {
            watched.who.name.clone_from(&row.name);
        }
    }

    /// Keeps what is scrolled within what there is.
    pub(super) fn bound_scrolling(&mut self) {
        let (columns, n_lines) = (self.text_columns(), self.pane_lines());
        if let Some(watched) = self.watched.as_mut().filter(|watched| 0 < watched.up) {
            let n_all = n_lines_of(&watched.content, columns);
            watched.up = watched.up.min(n_all.saturating_sub(n_lines));
        }
        let room = self.question_lines();
        if let Mode::Answer(asking) = &mut self.mode {
            let n_all = question::wrapped(&asking.lines, columns).len();
            asking.top = asking.top.min(n_all.saturating_sub(room));
            asking.is_read |= n_all <= asking.top + room;
        }
    }

    /// Returns the cells of a line of text.
    pub(crate) fn text_columns(&self) -> usize {
        self.size.columns.saturating_sub(2)
    }

    /// Returns the lines of a question, without the line above it.
    pub(crate) fn question_lines(&self) -> usize {
        self.body_lines().saturating_sub(1)
    }

    /// Scrolls what is watched up by so many lines, or down.
    pub(super) fn scroll(&mut self, n_lines: isize) {
        if let Some(watched) = &mut self.watched {
            watched.up = watched.up.saturating_add_signed(n_lines);
        }
    }

    pub(super) fn screen(
        &mut self,
        id: &str,
        got: Result<String, Failure>,
        commands: &mut Vec<Command>,
    ) {
        let Some(watched) = self.watched.as_mut().filter(|watched| watched.who.id == id) else {
            return;
        };
        watched.content = match got {
            Ok(text) => Content::Screen(clean::lines(text.trim_end())),
            Err(failure) => Content::Failed(failure.message),
        };
        if watched.flight.end() {
            commands.push(Command::LoadScreen(id.to_owned()));
        }
    }

    pub(super) fn session(
        &mut self,
        id: &str,
        got: Result<Box<Loaded>, Failure>,
        commands: &mut Vec<Command>,
    ) {
        let Some(watched) = self.watched.as_mut().filter(|watched| watched.who.id == id) else {
            return;
        };
        let is_stale = watched.flight.end();
        match got {
            Ok(loaded) => {
                let transcript = Transcript::of(&loaded);
                loaded.detail.row.title.clone_into(&mut watched.who.name);
                if transcript.is_running && !is_stale {
                    commands.push(Command::Follow(id.to_owned()));
                }
                watched.content = Content::Transcript(Box::new(transcript));
            }
            Err(failure) => {
                watched.content = Content::Failed(failure.message);
                if matches!(&self.mode, Mode::Opening(who) if who.id == id) {
                    self.mode = Mode::Normal;
                }
            }
        }
        if is_stale {
            commands.push(Command::LoadSession(id.to_owned(), Haste::Soon));
        }
        self.ask_if_wanted();
    }

    /// Asks the person who wants to answer, once it is known what; a question that is asked and that nobody
    /// has to answer any more says so.
    pub(super) fn ask_if_wanted(&mut self) {
        let Some(watched) = self.watched.as_ref() else { return };
        let Some(told) = watched.transcript().filter(|_| watched.flight == Flight::Idle) else {
            return;
        };
        match &mut self.mode {
            Mode::Opening(who) if who.id == watched.who.id => {
                let question = told.questions.first().cloned();
                self.mode = Mode::Normal;
                match question {
                    Some(block) => {
                        let who = watched.who.clone();
                        self.mode = Mode::Answer(Asking::new(who, block));
                    }
                    None => self.say("nothing waits for an answer any more"),
                }
            }
            Mode::Answer(asking) if asking.session.id == watched.who.id => {
                asking.is_over = told.questions.iter().all(|block| block.id != asking.block.id);
            }
            Mode::Opening(_)
            | Mode::Answer(_)
            | Mode::Normal
            | Mode::Filter(_)
            | Mode::New(_)
            | Mode::Reply { .. }
            | Mode::Rename { .. }
            | Mode::Confirm { .. }
            | Mode::Help => {}
        }
    }

    /// Waits for what is asked: a key that comes before it is no answer to it, and nothing else.
    pub(super) fn opening_key(&mut self, key: Key, who: Named) {
        if !matches!(key, Key::Esc | Key::Char('q')) {
            self.mode = Mode::Opening(who);
        }
    }

    pub(super) fn chunks(&mut self, id: &str, chunks: &[Value]) {
        let columns = self.text_columns();
        let Some(watched) = self.watched.as_mut().filter(|watched| watched.who.id == id) else {
            return;
        };
        let Content::Transcript(transcript) = &mut watched.content else { return };
        let is_back = 0 < watched.up;
        let before = if is_back { transcript.n_lines(columns) } else { 0 };
        for chunk in chunks {
            transcript.hear(chunk);
        }
        if is_back {
            // What is being read stays where it is while more comes below it.
            let n_more = transcript.n_lines(columns).saturating_sub(before);
            watched.up += n_more;
        }
    }

    pub(super) fn stream_ended(&mut self, id: &str, commands: &mut Vec<Command>) {
        if self.watched.as_ref().is_some_and(|watched| watched.who.id == id) {
            // A stream that ends while its run goes on is opened again, and not in a circle without rest.
            self.read_watched_in(Haste::Soon, commands);
        }
    }
}

/// Returns how many lines something has.
fn n_lines_of(content: &Content, columns: usize) -> usize {
    match content {
        Content::Loading | Content::Failed(_) => 1,
        Content::Screen(lines) => lines.len(),
        Content::Transcript(transcript) => transcript.n_lines(columns),
    }
}
