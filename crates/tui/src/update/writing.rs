//! Keys while something is being written: a filter, a name, a prompt, a reply, a reason.
//!
//! Enter sends, Escape gives up; every other key is the line's.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a key that means nothing here is none of its business, whichever it is"
)]

use api::job::RowKind;
use vocab::message::Answer;

use crate::{
    editor::Editor,
    msg::{Command, Key, Named, Order},
    state::{Asking, Content, Mode, State},
    words,
};

impl State {
    pub(super) fn filter_key(&mut self, key: Key, mut editor: Editor) {
        match key {
            Key::Enter => {}
            Key::Esc => self.keep_filter(""),
            Key::Up => {
                self.list.move_by(-1);
                self.mode = Mode::Filter(editor);
            }
            Key::Down => {
                self.list.move_by(1);
                self.mode = Mode::Filter(editor);
            }
            key => {
                editor.key(key);
                self.list.set_filter(editor.text().trim());
                self.mode = Mode::Filter(editor);
            }
        }
    }

    pub(super) fn new_key(&mut self, key: Key, mut editor: Editor, commands: &mut Vec<Command>) {
        match key {
            Key::Esc => return,
            Key::Enter => {
                let text = editor.text().trim();
                if let Some(line) = text.strip_prefix('!') {
                    if let Some(command) = words::command(line) {
                        self.memory.begun = Some(text.to_owned());
                        self.order(Order::Start { command }, commands);
                    }
                } else if !text.is_empty() {
                    let prompt = text.to_owned();
                    self.memory.begun = Some(text.to_owned());
                    self.order(Order::Ask { prompt }, commands);
                }
                return;
            }
            key => _ = editor.key(key),
        }
        self.mode = Mode::New(editor);
    }

    pub(super) fn reply_key(
        &mut self,
        key: Key,
        (to, kind): (Named, RowKind),
        mut editor: Editor,
        commands: &mut Vec<Command>,
    ) {
        match key {
            Key::Esc => return,
            Key::Enter => {
                let text = editor.text();
                match kind {
                    // An empty line is an Enter, which is what some programs wait for.
                    RowKind::Job => {
                        let text = format!("{}\r", text.replace('\n', "\r"));
                        self.order(Order::Type { job: to.id, text }, commands);
                    }
                    RowKind::Session if text.trim().is_empty() => {}
                    RowKind::Session => {
                        let text = text.trim().to_owned();
                        self.order(Order::Say { session: to.id, text }, commands);
                    }
                }
                return;
            }
            key => _ = editor.key(key),
        }
        self.mode = Mode::Reply { to, kind, editor };
    }

    pub(super) fn rename_key(
        &mut self,
        key: Key,
        job: Named,
        mut editor: Editor,
        commands: &mut Vec<Command>,
    ) {
        match key {
            Key::Esc => return,
            Key::Enter => {
                let name = editor.text().trim().replace('\n', " ");
                if !name.is_empty() && name != job.name {
                    self.order(Order::Rename { job: job.id, name }, commands);
                }
                return;
            }
            key => _ = editor.key(key),
        }
        self.mode = Mode::Rename { job, editor };
    }

    /// Writes why not. Escape goes back to the question.
    pub(super) fn reason_key(&mut self, key: Key, mut asking: Asking, commands: &mut Vec<Command>) {
        match key {
            Key::Esc => asking.reason = None,
            Key::Enter => {
                let text = asking.reason.as_ref().map(|editor| editor.text().trim().to_owned());
                let reason = text.filter(|text| !text.is_empty());
                self.answer(asking, false, reason, commands);
                return;
            }
            key => {
                if let Some(editor) = &mut asking.reason {
                    editor.key(key);
                }
            }
        }
        self.mode = Mode::Answer(asking);
    }

    /// Sends an answer, and asks the next question where there is one.
    pub(super) fn answer(
        &mut self,
        asking: Asking,
        approved: bool,
        reason: Option<String>,
        commands: &mut Vec<Command>,
    ) {
        let (session, block) = (asking.session.id.clone(), asking.block.id);
        let next = self.watched.as_mut().filter(|watched| watched.who.id == session);
        let next = next.and_then(|watched| match &mut watched.content {
            Content::Transcript(transcript) => {
                transcript.questions.retain(|question| question.id != block);
                transcript.questions.first().cloned()
            }
            Content::Loading | Content::Screen(_) | Content::Failed(_) => None,
        });
        let answer = Answer { approved, reason };
        self.order(Order::Answer { session, block, answer }, commands);
        if let Some(next) = next {
            self.mode = Mode::Answer(Asking::new(asking.session, next));
        }
    }
}
