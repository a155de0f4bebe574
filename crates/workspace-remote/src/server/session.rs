//! One connection at work: a loop that hands messages to the connection, its actions to workspace and line, and
//! goes on for a while when the line is lost.

mod ends;
mod leaving;

use std::{collections::HashMap, future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use futures_util::{Future, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use stdx::secret::Secret;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, Sleep},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use vocab::limits::{REMOTE_END_MS, REMOTE_SILENCE_MS};

use self::leaving::Leaving;
use super::{
    Holder, Present, Shared, Takeover,
    work::{self, Fed, Hands, N_FED, Notices, Told},
};
use crate::{
    connection::{
        Action, Connection, Space,
        gate::{Gate, Permit},
        greeting::Agreed,
        work::Work,
    },
    frame::{CloseStatus, Frame, Violation},
    line::{self, Control, Keeping, Line},
    protocol::{Resumed, capability, hello::ResumeRight, write},
    transport::{Broken, Transport, poll_write},
};

/// What running work is held by.
struct Hand {
    cancel: CancellationToken,
    feed: Option<mpsc::Sender<Fed>>,
    is_upload: bool,
}

/// What the workspace does for a connection.
#[derive(Default)]
struct Running {
    works: FuturesUnordered<BoxFuture<'static, Told>>,
    hands: HashMap<u64, Hand>,
    leaving: HashMap<u64, Leaving>,
    notices: Arc<Notices>,
    /// Whether there is no line just now: nobody can take anything then.
    away: bool,
    /// Whether the client was lost, and did not leave: what has come of its uploads may be kept then.
    lost: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.hands.values().for_each(|hand| hand.cancel.cancel());
    }
}

/// How a connection is taken up again, until this goes.
struct Resumable {
    shared: Arc<Shared>,
    name: String,
    door: mpsc::Receiver<Takeover>,
    grace: Duration,
}

impl Drop for Resumable {
    fn drop(&mut self) {
        self.shared.held().remove(&self.name);
    }
}

/// A connection and all that belongs to it.
pub(super) struct Session {
    shared: Arc<Shared>,
    present: watch::Receiver<Present>,
    connection: Connection,
    line: Line,
    running: Running,
    resumable: Option<Resumable>,
    started: Instant,
    /// When silence or grace is over, whichever applies.
    deadline: Instant,
    drained: bool,
    /// How the line is to be closed once all is said.
    close: Option<CloseStatus>,
    permit: Permit,
}

/// What happens to a connection.
enum Event {
    Heard(Option<Result<Frame, Broken>>),
    Lost,
    Told(Told),
    Notice,
    Published,
    Takeover(Takeover),
    Draining,
    Late,
    /// There is room again for content.
    Room,
}

impl Session {
    pub(super) fn open(shared: &Arc<Shared>, agreed: Agreed, permit: Permit) -> Self {
        let mut present = shared.present.subscribe();
        let now = present.borrow_and_update().clone();
        let resumes = agreed.has(capability::RESUME);
        let keeping = if resumes { Keeping::UntilConfirmed } else { Keeping::Nothing };
        let mut line = Line::new(keeping);
        let name = Uuid::new_v4().simple().to_string();
        let grace_ms = shared.options.grace_ms;
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let right = resumes.then(|| ResumeRight { token: token.clone(), grace_ms });
        line.greet(write(&ends::welcome(shared, &now, (&agreed, name.clone(), right))));
        let resumable = resumes.then(|| {
            let (sender, door) = mpsc::channel(1);
            let holder = Holder { token: Secret::new(token), door: sender };
            shared.held().insert(name.clone(), holder);
            let shared = Arc::clone(shared);
            Resumable { shared, name, door, grace: Duration::from_millis(grace_ms) }
        });
        let gates = [Gate::new(shared.options.connection), shared.gate.clone()];
        let started = Instant::now();
        Self {
            shared: Arc::clone(shared),
            present,
            connection: Connection::new(agreed, now.served, gates),
            line,
            running: Running::default(),
            resumable,
            started,
            deadline: started + Duration::from_millis(REMOTE_SILENCE_MS),
            drained: false,
            close: None,
            permit,
        }
    }

    /// Runs the connection to its end.
    pub(super) async fn run(mut self, transport: Transport) {
        let mut transport = Some(transport);
        let mut timer = Box::pin(tokio::time::sleep_until(self.deadline));
        loop {
            self.settle();
            if self.connection.is_closed() {
                break;
            }
            let event = self.next(&mut transport, &mut timer).await;
            self.on(event, &mut transport);
        }
        drop(self.resumable.take());
        if let Some(transport) = transport {
            self.say_the_rest(transport).await;
        }
        self.wind_up().await;
        drop(self.permit);
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Does what the connection wants, until it wants nothing.
    fn settle(&mut self) {
        loop {
            while let Some(action) = self.connection.next_action() {
                self.act(action);
            }
            let now = self.now();
            let (connection, line) = (&mut self.connection, &mut self.line);
            self.running.end_the_idle(connection, now);
            if !self.running.send_content(connection, line, now) {
                break;
            }
        }
        if self.line.is_overfull() && !self.connection.is_closed() {
            // Whoever does not read what it asked for is not told so either.
            self.connection.abandon();
            self.close = Some(CloseStatus::Policy);
            self.line = Line::new(Keeping::Nothing);
            while let Some(action) = self.connection.next_action() {
                self.act(action);
            }
        }
        if self.drained && self.connection.is_idle() && !self.connection.is_closed() {
            self.go_away();
        }
    }

    fn go_away(&mut self) {
        self.connection.close(CloseStatus::GoingAway, "draining", "the runtime ends");
        while let Some(action) = self.connection.next_action() {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send(frame) => {
                self.line.push(frame);
            }
            Action::Start(id, work) => self.start(id, work),
            Action::Feed(id, bytes) => self.running.feed(id, Fed::Piece(bytes)),
            Action::Finish(id) => self.running.feed(id, Fed::Finished),
            // The loop looks at all content that waits.
            Action::Credit(_) => {}
            Action::Cancel(id) => {
                let now = self.now();
                self.running.cancel(id, &mut self.connection, now);
            }
            Action::Close(status) => self.close = Some(status),
        }
    }

    fn start(&mut self, id: u64, work: Work) {
        let cancel = CancellationToken::new();
        let feeds = matches!(work, Work::Upload(..));
        let (feed, fed) = feeds.then(|| mpsc::channel(N_FED)).unzip();
        let notices = Arc::clone(&self.running.notices);
        let hands = Hands { cancel: cancel.clone(), notices, fed };
        let workspace = Arc::clone(&self.present.borrow().workspace);
        self.running.hands.insert(id, Hand { cancel, feed, is_upload: feeds });
        self.running.works.push(work::start(&workspace, id, work, hands));
    }

    async fn next(
        &mut self,
        transport: &mut Option<Transport>,
        timer: &mut Pin<Box<Sleep>>,
    ) -> Event {
        let wants_room = !self.running.leaving.is_empty() && !self.line.has_room();
        let (line, running) = (&mut self.line, &mut self.running);
        let deadline = self.deadline;
        let drained = self.drained;
        let (incoming, outgoing) = match transport {
            Some(transport) => (Some(&mut transport.incoming), Some(&mut transport.outgoing)),
            None => (None, None),
        };
        let heard = async {
            match incoming {
                Some(incoming) => incoming.next().await,
                None => std::future::pending().await,
            }
        };
        let mut outgoing = outgoing;
        let written = poll_fn(|context| {
            let Some(outgoing) = outgoing.as_mut() else { return Poll::Pending };
            match poll_write(outgoing, context, || line.take()) {
                Poll::Ready(_) => Poll::Ready(Event::Lost),
                Poll::Pending if wants_room && line.has_room() => Poll::Ready(Event::Room),
                Poll::Pending => Poll::Pending,
            }
        });
        let door = async {
            match &mut self.resumable {
                Some(resumable) => resumable.door.recv().await,
                None => std::future::pending().await,
            }
        };
        let late = poll_fn(|context| {
            while timer.as_mut().poll(context).is_ready() {
                if deadline <= Instant::now() {
                    return Poll::Ready(());
                }
                timer.as_mut().reset(deadline);
            }
            Poll::Pending
        });
        let works_left = !running.works.is_empty();
        tokio::select! {
            event = written => event,
            heard = heard => Event::Heard(heard),
            Some(told) = running.works.next(), if works_left => Event::Told(told),
            () = running.notices.more.notified() => Event::Notice,
            Ok(()) = self.present.changed() => Event::Published,
            Some(takeover) = door => Event::Takeover(takeover),
            () = self.shared.draining.cancelled(), if !drained => Event::Draining,
            () = late => Event::Late,
        }
    }

    fn on(&mut self, event: Event, transport: &mut Option<Transport>) {
        match event {
            Event::Heard(Some(Ok(frame))) => {
                self.wait_for(REMOTE_SILENCE_MS);
                if let Err(violation) = self.hear(&frame) {
                    self.connection.fail(&violation);
                }
            }
            Event::Heard(Some(Err(Broken::Violation(violation)))) => {
                self.connection.fail(&violation);
            }
            // Whoever closes in order is not coming back.
            Event::Heard(None) => {
                *transport = None;
                self.connection.abandon();
            }
            Event::Heard(Some(Err(Broken::Lost(_)))) | Event::Lost => {
                *transport = None;
                self.lost();
            }
            Event::Told(told) => {
                // What was told before the end is heard before it.
                self.notice();
                let now = self.now();
                self.running.told(told, &mut self.connection, now);
            }
            Event::Notice => self.notice(),
            Event::Published => {
                let served = self.present.borrow_and_update().served.clone();
                self.connection.publish(served, self.now());
            }
            Event::Takeover(takeover) => self.take_over(takeover, transport),
            Event::Draining => {
                self.wait_for(REMOTE_END_MS);
                self.drained = true;
                self.connection.drain(self.now());
                if transport.is_none() {
                    self.connection.abandon();
                }
            }
            // What does not end is not waited for.
            Event::Late if self.drained => self.go_away(),
            // Silence loses the line; grace that is over ends the connection.
            Event::Late if transport.take().is_some() => self.lost(),
            Event::Late => self.abandon_lost(),
            Event::Room => {}
        }
    }

    /// Sets the time after which it is late. Once the runtime ends, nothing moves that any more.
    fn wait_for(&mut self, wait_ms: u64) {
        if !self.drained {
            self.deadline = Instant::now() + Duration::from_millis(wait_ms);
        }
    }

    fn hear(&mut self, frame: &Frame) -> Result<(), Violation> {
        match line::control(frame)? {
            Some(Control::Ack(n_received)) => self.line.confirmed(n_received),
            Some(Control::Ping) => {
                self.line.pong();
                Ok(())
            }
            Some(Control::Pong) => Ok(()),
            None => {
                self.line.heard(frame.len());
                self.connection.hear(frame, self.now());
                Ok(())
            }
        }
    }

    fn notice(&mut self) {
        let said = self.running.notices.take();
        for (id, output) in said.output {
            let space = if self.line.has_room_for_progress() { Space::Free } else { Space::Full };
            self.connection.progress(id, output, space);
            while let Some(action) = self.connection.next_action() {
                self.act(action);
            }
        }
        for (id, bytes) in said.dropped {
            self.connection.dropped(id, bytes);
        }
        for (id, charge) in said.used {
            self.connection.used(id, charge);
        }
    }

    /// The line is gone: the connection is held where that was agreed, else it is over.
    fn lost(&mut self) {
        self.running.away = true;
        match &self.resumable {
            Some(resumable) if !self.drained => self.deadline = Instant::now() + resumable.grace,
            Some(_) | None => self.abandon_lost(),
        }
    }

    fn abandon_lost(&mut self) {
        self.running.lost = !self.drained;
        self.connection.abandon();
    }

    fn take_over(&mut self, takeover: Takeover, transport: &mut Option<Transport>) {
        *transport = Some(takeover.transport);
        let now = self.now();
        self.running.back(now);
        self.wait_for(REMOTE_SILENCE_MS);
        match self.line.resume(takeover.n_received) {
            Ok(()) => self.line.greet(write(&Resumed { received: self.line.n_received() })),
            Err(violation) => self.connection.fail(&violation),
        }
    }
}
