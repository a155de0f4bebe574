//! Who is connected, who types, and what they are told about it.
//!
//! One client is the writer: what it types reaches the program, and its size is the terminal's. Whoever
//! attaches becomes the writer, and one that lost the place takes it back by typing. The others look.

use std::path::PathBuf;

use arbiter::fact::What;
use screen::{Depth, FOCUS_IN, FOCUS_OUT, Persona, Size};
use stdx::memory;
use vocab::{
    limits::{HOST_CLIENTS_MAX, HOST_SNAPSHOT_BYTES_MAX, SOCKET_PATH_BYTES_MAX},
    outcome::Failure,
};

use super::{
    Host,
    client::{Client, Flow},
    typed::{Sorted, Wants},
};
use crate::{
    frame::{Frame, Kind},
    hello::{
        self, Focus, Hello, PROTOCOL, Reason, Resize, Role, STATES, Scrollback, State, Terminal,
    },
};

/// Who gets the whole after the size has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whole {
    /// Everyone who looks.
    All,
    /// Everyone but the writer.
    Others,
}

#[derive(Debug, Default)]
pub(super) struct Crowd {
    pub(super) clients: Vec<Client>,
    pub(super) writer: Option<u64>,
    /// The program has asked the writer's terminal something.
    pub(super) is_asked: bool,
    pub(super) n_seen: u64,
    /// The writer has told another size, which is followed once per turn of the loop.
    pub(super) is_resized: bool,
    /// Who has asked for more than one turn's work. The rest of what it said waits in its decoder.
    pub(super) waiting: Vec<u64>,
}

/// What a frame costs the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    /// Next to nothing.
    Little,
    /// So much that the others have their turn before its client's next frame.
    Turn,
}

impl Crowd {
    pub(super) fn find(&mut self, id: u64) -> Option<&mut Client> {
        self.clients.iter_mut().find(|client| client.id == id)
    }

    /// Returns the sockets of hosts in whose jobs this one is shown, or about to be, each once.
    pub(super) fn shown_within(&self) -> Vec<PathBuf> {
        let open = self.clients.iter().filter(|client| client.is_open());
        let mut within: Vec<PathBuf> = open.filter_map(|client| client.within.clone()).collect();
        within.sort();
        within.dedup();
        within
    }

    pub(super) fn is_attended(&self) -> bool {
        self.clients.iter().any(Client::is_attached)
    }
}

impl Host {
    /// Takes those who wait at the door.
    pub(super) fn welcome(&mut self) {
        while let Some(stream) = self.door.take() {
            self.crowd.n_seen += 1;
            let mut client = Client::new(self.crowd.n_seen, stream);
            if HOST_CLIENTS_MAX <= self.crowd.clients.len() {
                // Whoever has said nothing since it came, or is only being let go of, makes room.
                let idle = |other: &Client| other.role.is_none() || !other.is_open();
                let Some(at) = self.crowd.clients.iter().position(idle) else {
                    let text = format!("the job has {HOST_CLIENTS_MAX} clients");
                    let error = Failure::not_started("too_many_clients", text);
                    client.let_go(Reason::Refused, Some(error));
                    client.flush();
                    continue;
                };
                self.crowd.clients.remove(at);
            }
            self.crowd.clients.push(client);
        }
    }

    /// Does what a client's whole frames say, up to a turn of it.
    pub(super) fn read_frames(&mut self, id: u64) {
        loop {
            let Some(client) = self.crowd.find(id).filter(|client| client.is_open()) else {
                return;
            };
            let done = match client.decoder.take() {
                Ok(None) => return,
                Ok(Some(frame)) => self.read_frame(id, &frame),
                Err(long) => Err(Failure::new(long.code(), long.effect(), long.to_string())),
            };
            match (done, self.crowd.find(id)) {
                (Ok(Cost::Turn), _) => return self.crowd.waiting.push(id),
                (Err(failure), Some(client)) => client.let_go(Reason::Refused, Some(failure)),
                _ => {}
            }
        }
    }

    /// Goes on with those whose turn was over before all was done that they had said.
    pub(super) fn hear_those_who_wait(&mut self) {
        for id in std::mem::take(&mut self.crowd.waiting) {
            self.read_frames(id);
        }
    }

    fn read_frame(&mut self, id: u64, frame: &Frame) -> Result<Cost, Failure> {
        let role = self.crowd.find(id).and_then(|client| client.role);
        match (frame.kind, role) {
            (Kind::Hello, None) => self.greet(id, hello::from_json(&frame.payload)?),
            (_, None) => {
                return Err(Failure::not_started("hello_missing", "the first frame is HELLO"));
            }
            (Kind::Control, Some(_)) => return Ok(self.control(id, &frame.payload)),
            (Kind::Data, Some(Role::Attach)) => self.hear_typing(id, &frame.payload),
            (Kind::Resize, Some(Role::Attach | Role::View)) => {
                let Resize { cols, rows } = hello::from_json(&frame.payload)?;
                self.hear_size(id, size(Some(cols), Some(rows)));
            }
            (Kind::Focus, Some(Role::Attach)) => {
                let Focus { focused } = hello::from_json(&frame.payload)?;
                if self.crowd.writer == Some(id) {
                    self.tell_focus(if focused { FOCUS_IN } else { FOCUS_OUT });
                }
            }
            // What a looker types goes nowhere, and what only hosts say is no use from a client.
            _ => {}
        }
        Ok(Cost::Little)
    }

    fn greet(&mut self, id: u64, hello: Hello) {
        let Some(client) = self.crowd.find(id) else { return };
        client.role = Some(hello.role);
        client.size = size(hello.cols, hello.rows);
        let is_path = |path: &PathBuf| path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX;
        client.within = hello.within.filter(is_path);
        match hello.role {
            Role::Control => {
                client.follows = hello.features.iter().any(|feature| feature == STATES);
                return self.tell_states();
            }
            Role::Tail => return self.tell_states(),
            Role::View => {}
            Role::Attach => {
                let before = self.crowd.writer.take();
                if let Some(persona) = hello.terminal.map(persona) {
                    self.mirror.set_persona(persona);
                }
                if let (true, Some(client)) =
                    (hello.steal, before.and_then(|before| self.crowd.find(before)))
                {
                    client.let_go(Reason::Takeover, None);
                }
                self.make_writer(id);
            }
        }
        if let Some(idx) = self.crowd.clients.iter().position(|client| client.id == id) {
            let depth = match hello.scrollback {
                Scrollback::Append => Depth::History,
                Scrollback::Replace => Depth::Replace,
                Scrollback::None => Depth::Screen,
            };
            self.resync(idx, depth);
        }
    }

    /// Gives a client the whole as it is now.
    pub(super) fn resync(&mut self, idx: usize, depth: Depth) {
        let mut snapshot = self.mirror.snapshot(depth);
        if HOST_SNAPSHOT_BYTES_MAX < snapshot.len() {
            snapshot = self.mirror.snapshot(Depth::Screen);
        }
        let state = self.state_of(&self.crowd.clients[idx]);
        self.crowd.clients[idx].resync(state, &snapshot);
    }

    fn make_writer(&mut self, id: u64) {
        let was_attended =
            self.crowd.clients.iter().any(|other| other.is_attached() && other.id != id);
        self.crowd.writer = Some(id);
        self.crowd.is_asked = false;
        self.mirror.set_audience(screen::Audience::Client);
        self.follow_size(id, Whole::All);
        if !was_attended {
            self.tell_focus(FOCUS_IN);
        }
        self.tell_states();
    }

    fn hear_size(&mut self, id: u64, size: Option<Size>) {
        let Some(idx) = self.crowd.clients.iter().position(|client| client.id == id) else {
            return;
        };
        let before = std::mem::replace(&mut self.crowd.clients[idx].size, size);
        if self.crowd.writer == Some(id) {
            self.crowd.is_resized = true;
        } else if before != size {
            // What it shows was for its size before, and the program will paint nothing anew. It gets the
            // whole with the end of this turn, however often it tells a size.
            self.crowd.clients[idx].queue.fall_behind();
        }
    }

    /// Follows the last of the sizes that the writer has told; tells whether there was one.
    pub(super) fn follow_what_was_asked(&mut self) -> bool {
        let is_resized = std::mem::take(&mut self.crowd.is_resized);
        if let (true, Some(writer)) = (is_resized, self.crowd.writer) {
            self.follow_size(writer, Whole::Others);
        }
        is_resized
    }

    /// Gives the terminal the writer's size. The program is told once per round.
    fn follow_size(&mut self, id: u64, whole: Whole) {
        let size = self.crowd.find(id).and_then(|client| client.size);
        let Some(size) = size.filter(|size| *size != self.mirror.size()) else { return };
        self.mirror.resize(size);
        self.program.watch.note(What::Disturbed);
        // The writer's terminal wraps its text anew by itself; the others' have another size, and one that has
        // just become the writer had the text of another one.
        for idx in 0..self.crowd.clients.len() {
            let client = &self.crowd.clients[idx];
            let is_meant = client.id != id || whole == Whole::All;
            if is_meant && client.watches() && client.told.is_some() {
                self.resync(idx, Depth::Screen);
            }
        }
        self.tell_states();
    }

    /// Tells everyone who looks what has changed for them.
    pub(super) fn tell_states(&mut self) {
        for idx in 0..self.crowd.clients.len() {
            let client = &self.crowd.clients[idx];
            if client.wants_states() {
                let state = self.state_of(client);
                self.crowd.clients[idx].tell(state);
            }
        }
    }

    pub(super) fn state_of(&self, client: &Client) -> State {
        let size = self.mirror.size();
        let verdict = self.program.watch.verdict();
        State {
            role: client.role.unwrap_or_default(),
            writer: self.crowd.writer == Some(client.id),
            cols: size.columns(),
            rows: size.lines(),
            state: verdict.state,
            status: verdict.status,
            waiting_for: verdict.waiting_for,
            state_source: Some(verdict.source.word().to_owned()),
            since: Some(self.program.watch.since().as_millis()),
            protocol: PROTOCOL,
        }
    }

    /// Tells the program about the focus, if it wants to know.
    pub(super) fn tell_focus(&mut self, report: &[u8]) {
        if self.mirror.wants_focus() {
            self.type_in(report);
            self.program.watch.note(What::Disturbed);
        }
    }

    fn hear_typing(&mut self, id: u64, bytes: &[u8]) {
        let is_writer = self.crowd.writer == Some(id);
        let wants = match is_writer {
            true => Wants { answers: self.crowd.is_asked, focus: self.mirror.wants_focus() },
            false => Wants::default(),
        };
        let Some(client) = self.crowd.find(id) else { return };
        let sorted = client.sorter.sort(bytes, wants);
        self.hear_sorted(id, &sorted);
    }

    fn hear_sorted(&mut self, id: u64, sorted: &Sorted) {
        let is_writer = self.crowd.writer == Some(id);
        if !is_writer && sorted.is_typed {
            self.make_writer(id);
        }
        if is_writer || sorted.is_typed {
            self.type_in(&sorted.bytes);
            // A person waits for the echo. A program that is about to get another size hears of that first.
            if self.mirror.size() == self.size_told && !self.crowd.is_resized {
                self.flush_input();
            }
        }
        if sorted.is_typed {
            self.program.watch.typed(&sorted.bytes);
        }
    }

    /// Types what was held as the beginning of an answer, and had its time.
    pub(super) fn release_keys(&mut self) {
        let now = self.clock.monotonic();
        for idx in 0..self.crowd.clients.len() {
            let client = &mut self.crowd.clients[idx];
            if !client.sorter.holds(now) {
                continue;
            }
            // From one that has left nothing more comes.
            if !client.is_open() || client.sorter.due().is_some_and(|due| due <= now) {
                let (id, sorted) = (client.id, client.sorter.give_up());
                self.hear_sorted(id, &sorted);
            }
        }
    }

    /// Removes who is gone, and looks after the writer's place.
    pub(super) fn forget_the_gone(&mut self) {
        let n_before = self.crowd.clients.len();
        self.crowd.clients.retain(|client| client.flow != Flow::Gone);
        if self.crowd.clients.len() < n_before {
            // A snapshot's room, and whatever else was made for it.
            memory::give_back();
        }
        let writer = self.crowd.writer;
        if writer.is_some()
            && !self.crowd.clients.iter().any(|c| c.is_open() && Some(c.id) == writer)
        {
            self.crowd.writer = None;
            self.mirror.set_audience(screen::Audience::Nobody);
            if !self.crowd.is_attended() {
                self.tell_focus(FOCUS_OUT);
                self.flush_input();
            }
        }
    }
}

/// Returns the size nearest to what was told; none when it was not, or nothing.
fn size(cols: Option<u32>, rows: Option<u32>) -> Option<Size> {
    let number = |told: u32| (told != 0).then(|| u16::try_from(told).unwrap_or(u16::MAX));
    Some(Size::clamped(number(cols?)?, number(rows?)?))
}

pub(super) fn persona(terminal: Terminal) -> Persona {
    let Terminal { attributes, version, name, cell, foreground, background } = terminal;
    Persona { attributes, version, name, cell, foreground, background }
}
