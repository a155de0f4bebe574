//! The operations.

use arbiter::fact::Report;
use screen::FOCUS_OUT;
use vocab::{limits::HOST_INPUT_BYTES_MAX, outcome::Failure};

use super::{Host, client::Client, crowd::Cost};
use crate::{
    hello::{self, Control, FEATURES, PROTOCOL, Reason, Reply, Status},
    text,
};

impl Host {
    /// Does what was asked and answers.
    pub(super) fn control(&mut self, id: u64, payload: &[u8]) -> Cost {
        // Who has told a size before it asks is answered with it.
        let is_resized = self.crowd.writer == Some(id) && self.follow_what_was_asked();
        let asked = hello::from_json::<Control>(payload);
        let is_dear = matches!(
            asked,
            Ok(Control::Snapshot { .. } | Control::Upgrade { .. } | Control::Flush)
        );
        let done = asked.and_then(|asked| self.operate(id, asked));
        let reply = done.unwrap_or_else(|error| Reply::Failed { error });
        if let Some(client) = self.crowd.find(id) {
            client.reply(&reply);
        }
        if is_resized || is_dear { Cost::Turn } else { Cost::Little }
    }

    fn operate(&mut self, id: u64, asked: Control) -> Result<Reply, Failure> {
        match asked {
            Control::Snapshot { whole: false } => {
                Ok(Reply::Snapshot { text: text::of(&self.mirror) })
            }
            Control::Snapshot { whole: true } => {
                Ok(Reply::Snapshot { text: text::whole(&self.mirror) })
            }
            Control::Status => Ok(Reply::Status(Box::new(self.status()))),
            Control::Detach => {
                for client in self.crowd.clients.iter_mut().filter(|client| client.watches()) {
                    client.let_go(Reason::Request, None);
                }
                Ok(Reply::Done { ok: true })
            }
            Control::Terminate => {
                self.terminate();
                Ok(Reply::Done { ok: true })
            }
            Control::Report { state, message, seq, source, token } => {
                self.refuse_when_ended()?;
                let source = source.unwrap_or_else(|| "report".to_owned());
                let report = Report { source, claim: state.into(), message, seq };
                self.program.watch.report(report, &token)?;
                Ok(Reply::Done { ok: true })
            }
            Control::Explain => Ok(Reply::Explained(Box::new(self.program.watch.explain()))),
            Control::Send { text } => self.send(&text),
            // Whoever goes on answers.
            Control::Upgrade { path } => Err(self.upgrade(id, &path)),
            Control::Flush => {
                self.paper.recorder.flush();
                Ok(Reply::Done { ok: true })
            }
        }
    }

    fn refuse_when_ended(&self) -> Result<(), Failure> {
        if self.program.end.is_running() {
            return Ok(());
        }
        Err(Failure::not_started("job_ended", "the program has ended"))
    }

    fn send(&mut self, text: &str) -> Result<Reply, Failure> {
        self.refuse_when_ended()?;
        if HOST_INPUT_BYTES_MAX < self.input.len() + text.len() {
            let why = "the program has not read what was typed before";
            return Err(Failure::not_started("input_full", why));
        }
        self.type_in(text.as_bytes());
        if !self.crowd.is_attended() {
            // A key makes a program believe that somebody looks.
            self.tell_focus(FOCUS_OUT);
        }
        self.program.watch.typed(text.as_bytes());
        Ok(Reply::Done { ok: true })
    }

    fn status(&self) -> Status {
        let size = self.mirror.size();
        let is_looking = |client: &&Client| client.watches();
        Status {
            worker_pid: self.program.child.id().pid,
            alive: self.program.end.is_running(),
            attached: self.crowd.clients.iter().filter(is_looking).count(),
            cols: size.columns(),
            rows: size.lines(),
            host_pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            features: FEATURES.iter().map(|feature| (*feature).to_owned()).collect(),
            title: self.mirror.title().to_owned(),
            recording: self.recording(),
            shown_within: self.crowd.shown_within(),
        }
    }
}
