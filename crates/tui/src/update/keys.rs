//! Keys as commands: what each does to the list, to what is watched, and to a question.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a key that means nothing here is none of its business, whichever it is"
)]

use api::job::{JobRow, RowKind};

use crate::{
    editor::Editor,
    list::is_live,
    msg::{Command, Key, Named, Order},
    state::{Asking, Look, Mode, State},
};

/// What a command is about: the selected row, or what fills the screen.
struct Target {
    who: Named,
    kind: RowKind,
    row: Option<JobRow>,
}

impl Target {
    /// Tells whether its program runs, or its run is at work or waits.
    fn is_live(&self) -> bool {
        self.row.as_ref().is_none_or(is_live)
    }
}

impl State {
    /// Does what a key stands for while nothing is being written.
    pub(super) fn command_key(&mut self, key: Key, commands: &mut Vec<Command>) {
        if self.look == Look::Full {
            if self.full_key(key, commands) {
                return;
            }
        } else if self.list_key(key, commands) {
            return;
        }
        match key {
            Key::Char('a') => self.reply(commands),
            Key::Char('s') => self.stop(),
            Key::Char('x') => self.remove(),
            Key::Char('r') => self.rename(),
            Key::Char('p') => self.pin(commands),
            Key::Char('R') => self.respawn(commands),
            Key::Char('?') => self.mode = Mode::Help,
            _ => {}
        }
    }

    /// Moves in the list; false when the key does not.
    fn list_key(&mut self, key: Key, commands: &mut Vec<Command>) -> bool {
        let page = isize::try_from(self.list_lines().saturating_sub(1).max(1)).unwrap_or(1);
        let half = isize::try_from(self.pane_lines() / 2).unwrap_or(1);
        match key {
            Key::Down | Key::Char('j') => self.list.move_by(1),
            Key::Up | Key::Char('k') => self.list.move_by(-1),
            Key::PageDown => self.list.move_by(page),
            Key::PageUp => self.list.move_by(-page),
            Key::Home | Key::Char('g') => self.list.move_by(isize::MIN),
            Key::End | Key::Char('G') => self.list.move_by(isize::MAX),
            Key::Ctrl('u') => self.scroll(half),
            Key::Ctrl('d') => self.scroll(-half),
            Key::Enter => self.open(commands),
            Key::Char(' ') | Key::Tab => match self.look {
                Look::Closed => self.look_at_selected(Look::Peek, commands),
                Look::Peek | Look::Full => self.close_look(commands),
            },
            Key::Esc => match self.look {
                Look::Closed => self.list.set_filter(""),
                Look::Peek | Look::Full => self.close_look(commands),
            },
            Key::Char('/') => self.mode = Mode::Filter(Editor::new(self.list.filter())),
            Key::Char('n') => self.mode = Mode::New(Editor::default()),
            Key::Char('q') => commands.push(Command::Quit),
            _ => return false,
        }
        true
    }

    /// Moves in what fills the screen; false when the key does not.
    fn full_key(&mut self, key: Key, commands: &mut Vec<Command>) -> bool {
        let page = isize::try_from(self.pane_lines().saturating_sub(1).max(1)).unwrap_or(1);
        match key {
            Key::Up | Key::Char('k') => self.scroll(1),
            Key::Down | Key::Char('j') => self.scroll(-1),
            Key::PageUp | Key::Ctrl('u') => self.scroll(page),
            Key::PageDown | Key::Ctrl('d') | Key::Char(' ') => self.scroll(-page),
            Key::Home | Key::Char('g') => self.scroll(isize::MAX),
            Key::End | Key::Char('G') => self.scroll(isize::MIN),
            Key::Enter => self.reply(commands),
            Key::Esc | Key::Char('q') if self.place.is_alone => commands.push(Command::Quit),
            Key::Esc | Key::Char('q') => self.close_look(commands),
            _ => return false,
        }
        true
    }

    fn target(&self) -> Option<Target> {
        let of_row = |row: &JobRow| Target {
            who: Named { id: row.id.clone(), name: row.name.clone() },
            kind: row.kind,
            row: Some(row.clone()),
        };
        match (self.look, &self.watched) {
            (Look::Full, Some(watched)) => Some(Target {
                who: watched.who.clone(),
                kind: watched.kind,
                row: self.list.find(&watched.who.id).cloned(),
            }),
            _ => self.list.selected().map(of_row),
        }
    }

    /// Goes into what is selected: to the terminal of a job that runs, else to its screen or conversation.
    fn open(&mut self, commands: &mut Vec<Command>) {
        let Some(target) = self.target() else { return };
        if target.kind == RowKind::Job && target.is_live() {
            commands.push(Command::Attach(target.who.id));
        } else {
            self.look_at_selected(Look::Full, commands);
        }
    }

    /// Begins to answer, or to say something.
    fn reply(&mut self, commands: &mut Vec<Command>) {
        let Some(target) = self.target() else { return };
        if target.kind == RowKind::Job && !target.is_live() {
            self.fail("it has ended; R starts it again");
            return;
        }
        let waits = match &target.row {
            Some(row) => row.waiting_for.is_some(),
            None => {
                let told = self.watched.as_ref().and_then(|watched| watched.transcript());
                told.is_some_and(|transcript| !transcript.questions.is_empty())
            }
        };
        if target.kind == RowKind::Session && waits {
            if self.look == Look::Closed {
                self.look_at_selected(Look::Peek, commands);
            }
            if let Some(watched) = &mut self.watched {
                watched.is_answering = true;
            }
            self.ask_if_wanted();
            return;
        }
        let (to, kind) = (target.who, target.kind);
        self.mode = Mode::Reply { to, kind, editor: Editor::default() };
    }

    fn stop(&mut self) {
        let Some(target) = self.target() else { return };
        if !target.is_live() {
            self.fail("it has ended already");
            return;
        }
        let who = target.who;
        let (question, order) = match target.kind {
            RowKind::Job => (format!("end {}?", who.name), Order::StopJob(who)),
            RowKind::Session => (format!("stop the run of {}?", who.name), Order::StopSession(who)),
        };
        self.mode = Mode::Confirm { question, order };
    }

    fn remove(&mut self) {
        let Some(target) = self.target() else { return };
        let ends = if target.is_live() { "end and " } else { "" };
        let who = target.who;
        let (question, order) = match target.kind {
            RowKind::Job => {
                (format!("{ends}remove {} with its files?", who.name), Order::RemoveJob(who))
            }
            RowKind::Session => {
                (format!("delete {} with all it holds?", who.name), Order::RemoveSession(who))
            }
        };
        self.mode = Mode::Confirm { question, order };
    }

    fn rename(&mut self) {
        match self.target() {
            Some(Target { who, kind: RowKind::Job, .. }) => {
                let editor = Editor::new(&who.name);
                self.mode = Mode::Rename { job: who, editor };
            }
            Some(_) => self.fail("only jobs can be renamed"),
            None => {}
        }
    }

    fn pin(&mut self, commands: &mut Vec<Command>) {
        match self.target() {
            Some(Target { who, kind: RowKind::Job, row: Some(row) }) => {
                let pinned = !row.pinned;
                self.order(Order::Pin { job: who, pinned }, commands);
            }
            Some(_) => self.fail("only jobs can be pinned"),
            None => {}
        }
    }

    fn respawn(&mut self, commands: &mut Vec<Command>) {
        match self.target() {
            Some(target) if target.kind == RowKind::Session => {
                self.fail("a session goes on when something is said to it: a");
            }
            Some(target) if target.is_live() => self.fail("it still runs"),
            Some(target) => self.order(Order::Respawn(target.who), commands),
            None => {}
        }
    }

    /// Agrees, or does not: any other key is a no.
    pub(super) fn confirm(
        &mut self,
        key: Key,
        question: String,
        order: Order,
        commands: &mut Vec<Command>,
    ) {
        match key {
            Key::Char('y' | 'Y') => self.order(order, commands),
            Key::Char('n' | 'N' | 'q') | Key::Esc => self.say("nothing was done"),
            _ => self.mode = Mode::Confirm { question, order },
        }
    }

    /// Answers, or reads on.
    pub(super) fn answer_key(&mut self, key: Key, mut asking: Asking, commands: &mut Vec<Command>) {
        if asking.reason.is_some() {
            self.reason_key(key, asking, commands);
            return;
        }
        let page = self.question_lines().saturating_sub(1).max(1);
        match key {
            Key::Up | Key::Char('k') => asking.top = asking.top.saturating_sub(1),
            Key::Down | Key::Char('j') => asking.top += 1,
            Key::PageUp => asking.top = asking.top.saturating_sub(page),
            Key::PageDown | Key::Char(' ') => asking.top += page,
            Key::Home | Key::Char('g') => asking.top = 0,
            Key::End | Key::Char('G') => asking.top = usize::MAX / 2,
            Key::Char('y' | 'Y') if asking.is_read => {
                self.answer(asking, true, None, commands);
                return;
            }
            Key::Char('y' | 'Y') => self.fail("read it to its end first: PgDn"),
            Key::Char('n') => {
                self.answer(asking, false, None, commands);
                return;
            }
            Key::Char('N') => asking.reason = Some(Editor::default()),
            Key::Esc | Key::Char('q') => {
                self.say("it still waits for an answer");
                return;
            }
            _ => {}
        }
        self.mode = Mode::Answer(asking);
    }
}
