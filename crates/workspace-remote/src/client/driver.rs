//! The task of a client: opens lines, greets, writes and reads, and takes a lost line up again.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use futures_util::{SinkExt, StreamExt, future::BoxFuture};
use tokio::{task::JoinHandle, time::Instant};
use vocab::{
    limits::{REMOTE_END_MS, REMOTE_HANDSHAKE_MS, REMOTE_PING_MS, REMOTE_RETRY_MS_MAX},
    outcome::Failure,
};

use super::{
    ClientOptions, ConnectError, Connected, Connector,
    core::{self, Core},
    heard::{Then, tell},
    link::Link,
};
use crate::{
    codec::{Bounds, scan},
    frame::{CloseStatus, Frame, Violation},
    protocol::{
        Goodbye, Hello, MAJOR, MINORS, Resume, ServerMessage, Welcome, capability,
        hello::{Place, VersionRange},
        write,
    },
    transport::{Broken, Said, Transport, poll_write},
};

/// Silence of the server after which the line counts as lost, in pings.
const N_PINGS_MAX: u32 = 3;
/// The first pause between two attempts to open a line.
const RETRY_MS_BASE: u64 = 20;

struct Driver {
    link: Arc<Link>,
    connector: Connector,
    options: Arc<ClientOptions>,
}

/// How a line ended.
enum Over {
    /// It may be taken up again.
    Lost,
    /// The server has closed the connection, or broke a rule.
    Ended(String, String),
    /// We have.
    Closed,
}

/// Connects and starts the task.
pub(super) async fn start(
    connector: Connector,
    options: ClientOptions,
) -> Result<(Arc<Link>, JoinHandle<()>), ConnectError> {
    let (transport, welcome) = greet(&connector, &options).await?;
    let mut core = Core::new(options.known.clone());
    core.welcome(&welcome);
    let link = Arc::new(Link::new(core, welcome.workspace));
    let options = Arc::new(options);
    let driver = Driver { link: Arc::clone(&link), connector, options };
    let task = tokio::spawn(driver.run(transport));
    Ok((link, task))
}

async fn in_time<T>(
    work: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    let limit = Duration::from_millis(REMOTE_HANDSHAKE_MS);
    match tokio::time::timeout(limit, work).await {
        Ok(done) => done,
        Err(_elapsed) => Err(ConnectError::Unreachable("it did not answer in time".to_owned())),
    }
}

/// Says one message and hears one.
async fn exchange(transport: &mut Transport, said: Frame) -> Result<ServerMessage, ConnectError> {
    let lost = |broken: Broken| match broken {
        Broken::Lost(why) => ConnectError::Unreachable(why),
        Broken::Violation(violation) => violation.into(),
    };
    transport.outgoing.send(Said::Frame(said)).await.map_err(lost)?;
    let heard = transport.incoming.next().await;
    let Frame::Text(text) = heard.ok_or_else(Broken::ended).flatten().map_err(lost)? else {
        return Err(Violation::protocol("content came before the greeting").into());
    };
    let head = scan(&text, &Bounds::usual())?;
    match ServerMessage::read(head.kind, &text) {
        Ok(ServerMessage::Closing(closing)) => {
            Err(ConnectError::Refused { code: closing.code, message: closing.message })
        }
        Ok(message) => Ok(message),
        Err(bad) => Err(Violation::protocol(bad.to_string()).into()),
    }
}

fn no_greeting() -> ConnectError {
    Violation::protocol("the answer to a greeting is no greeting").into()
}

async fn greet(
    connector: &Connector,
    options: &ClientOptions,
) -> Result<(Transport, Welcome), ConnectError> {
    let (minor_min, minor_max) = MINORS;
    let mut capabilities = options.wishes.clone();
    if options.channel.is_some() {
        capabilities.required.push(capability::CHANNEL.to_owned());
    }
    let hello = Hello {
        protocol: VersionRange { major: MAJOR, minor_min, minor_max },
        capabilities,
        client: options.program.clone(),
        channel: options.channel.clone(),
    };
    let greeted = async {
        let mut transport = connector().await?;
        let answer = exchange(&mut transport, write(&hello)).await?;
        let ServerMessage::Welcome(welcome) = answer else { return Err(no_greeting()) };
        Ok((transport, welcome))
    };
    let (transport, welcome) = in_time(greeted).await?;
    let version = welcome.protocol;
    if version.major != MAJOR || !(minor_min..=minor_max).contains(&version.minor) {
        return Err(Violation::protocol("the server chose a version we do not speak").into());
    }
    if let Some(expected) = &options.expected_root
        && *expected != welcome.workspace.root
    {
        let (expected, found) = (expected.clone(), welcome.workspace.root);
        return Err(ConnectError::WrongPlace { expected, found });
    }
    Ok((transport, welcome))
}

fn check_place(before: &Place, now: &Place) -> Result<(), ConnectError> {
    if before == now {
        return Ok(());
    }
    let name = |place: &Place| format!("{} ({})", place.root, place.id);
    Err(ConnectError::WrongPlace { expected: name(before), found: name(now) })
}

impl Driver {
    async fn run(self, transport: Transport) {
        let mut transport = Some(transport);
        let closing = self.link.closing.clone();
        while !closing.is_cancelled() {
            let line = match transport.take() {
                Some(line) => line,
                None => {
                    if !self.is_wanted().await {
                        break;
                    }
                    match self.connect().await {
                        Ok(line) => line,
                        Err(error) => {
                            self.link.core().give_up(&Failure::from(error));
                            continue;
                        }
                    }
                }
            };
            let (code, message) = self.session(line).await;
            self.link.set_connected(Connected::No);
            self.link.core().lost(&code, &message);
        }
        let mut core = self.link.core();
        core.closed = true;
        core.lost("closed", "the workspace was closed");
        core.give_up(&core::closed());
    }

    /// Waits until somebody asks for something; false when the workspace is closed.
    async fn is_wanted(&self) -> bool {
        loop {
            if self.link.closing.is_cancelled() {
                return false;
            }
            if self.link.core().is_wanted() {
                return true;
            }
            tokio::select! {
                () = self.link.wake.notified() => {}
                () = self.link.closing.cancelled() => {}
            }
        }
    }

    /// Opens a new connection, trying for a while.
    async fn connect(&self) -> Result<Transport, ConnectError> {
        let limit = Duration::from_millis(REMOTE_HANDSHAKE_MS);
        let greeted = self.retried(limit, || {
            let (connector, options) = (Arc::clone(&self.connector), Arc::clone(&self.options));
            Box::pin(async move { greet(&connector, &options).await })
        });
        let (transport, welcome) = greeted.await?;
        check_place(self.link.place(), &welcome.workspace)?;
        self.link.core().welcome(&welcome);
        self.link.set_connected(Connected::Yes);
        Ok(transport)
    }

    /// Tries again with growing pauses while nothing can be reached.
    async fn retried<T>(
        &self,
        limit: Duration,
        attempt: impl Fn() -> BoxFuture<'static, Result<T, ConnectError>> + Send,
    ) -> Result<T, ConnectError> {
        let until = Instant::now() + limit;
        let mut pause = Duration::from_millis(RETRY_MS_BASE);
        loop {
            let tried = tokio::select! {
                biased;
                () = self.link.closing.cancelled() => {
                    let code = "closed".to_owned();
                    let message = "the workspace was closed".to_owned();
                    return Err(ConnectError::Refused { code, message });
                }
                tried = attempt() => tried,
            };
            match tried {
                Err(ConnectError::Unreachable(_)) if Instant::now() + pause < until => {}
                tried => return tried,
            }
            tokio::select! {
                () = self.link.closing.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(Duration::from_millis(REMOTE_RETRY_MS_MAX));
        }
    }

    /// Keeps a connection over all its lines, and says how it ended.
    async fn session(&self, mut transport: Transport) -> (String, String) {
        loop {
            match self.line(&mut transport).await {
                Over::Lost => {}
                Over::Ended(code, message) => return (code, message),
                Over::Closed => {
                    self.say_goodbye(transport).await;
                    return ("closed".to_owned(), "the workspace was closed".to_owned());
                }
            }
            drop(transport);
            let lost = "the line to the workspace was lost".to_owned();
            match self.resume().await {
                Ok(Some(line)) => transport = line,
                Ok(None) => return ("connection_lost".to_owned(), lost),
                Err(error) => {
                    return ("connection_lost".to_owned(), format!("{lost}; {error}"));
                }
            }
            self.link.set_connected(Connected::Yes);
        }
    }

    /// Takes a lost line up again; none where that was not agreed.
    async fn resume(&self) -> Result<Option<Transport>, ConnectError> {
        let (connection, right, received) = {
            let core = self.link.core();
            let Some(session) = &core.session else { return Ok(None) };
            let Some(right) = session.resume.clone() else { return Ok(None) };
            (session.connection.clone(), right, core.line.n_received())
        };
        self.link.set_connected(Connected::Resuming);
        let resume = Resume { connection, token: right.token, received };
        let limit = Duration::from_millis(right.grace_ms);
        let resumed = self.retried(limit, || {
            let (connector, resume) = (Arc::clone(&self.connector), write(&resume));
            Box::pin(in_time(async move {
                let mut transport = connector().await?;
                let answer = exchange(&mut transport, resume).await?;
                let ServerMessage::Resumed(resumed) = answer else { return Err(no_greeting()) };
                Ok((transport, resumed.received))
            }))
        });
        let (transport, n_received) = resumed.await?;
        let mut core = self.link.core();
        core.line.resume(n_received)?;
        core.go_on();
        Ok(Some(transport))
    }

    /// Writes and reads until the line ends.
    async fn line(&self, transport: &mut Transport) -> Over {
        let every = Duration::from_millis(REMOTE_PING_MS);
        let mut ticks = tokio::time::interval_at(Instant::now() + every, every);
        let mut n_silent = 0;
        loop {
            let (incoming, outgoing) = (&mut transport.incoming, &mut transport.outgoing);
            let written = poll_fn(|context| self.poll_write(context, outgoing));
            let heard = tokio::select! {
                biased;
                heard = incoming.next() => heard,
                broken = written => Some(Err(broken)),
                () = self.link.wake.notified() => continue,
                () = self.link.closing.cancelled() => return Over::Closed,
                _ = ticks.tick() => {
                    if n_silent >= N_PINGS_MAX {
                        return Over::Lost;
                    }
                    n_silent += 1;
                    self.link.core().line.ping();
                    continue;
                }
            };
            n_silent = 0;
            let frame = match heard {
                Some(Ok(frame)) => frame,
                Some(Err(Broken::Violation(violation))) => return ended(&violation),
                Some(Err(Broken::Lost(_))) | None => return Over::Lost,
            };
            let then = self.link.core().hear(&frame);
            match then {
                Ok(Then::Nothing) => {}
                Ok(Then::Tell(sink, text)) => tell(&sink, text),
                Ok(Then::Closed(code, message)) => return Over::Ended(code, message),
                Err(violation) => return ended(&violation),
            }
        }
    }

    /// Writes what there is; what waited for room goes on once there is some.
    fn poll_write(
        &self,
        context: &mut std::task::Context<'_>,
        outgoing: &mut crate::transport::Outgoing,
    ) -> Poll<Broken> {
        loop {
            let had_room = self.link.core().line.has_room();
            if let Poll::Ready(broken) =
                poll_write(outgoing, context, || self.link.core().line.take())
            {
                return Poll::Ready(broken);
            }
            let mut core = self.link.core();
            if had_room || !core.line.has_room() {
                return Poll::Pending;
            }
            core.go_on();
        }
    }

    /// Leaves in order, as far as the other side listens.
    async fn say_goodbye(&self, mut transport: Transport) {
        let rest: Vec<Frame> = {
            let mut core = self.link.core();
            core.line.push(write(&Goodbye {}));
            std::iter::from_fn(|| core.line.take()).collect()
        };
        let said = async {
            for frame in rest {
                transport.outgoing.feed(Said::Frame(frame)).await?;
            }
            transport.outgoing.send(Said::Close(CloseStatus::Normal)).await?;
            transport.outgoing.close().await
        };
        // The line is dropped either way.
        drop(tokio::time::timeout(Duration::from_millis(REMOTE_END_MS), said).await);
    }
}

fn ended(violation: &Violation) -> Over {
    Over::Ended(violation.code.to_owned(), violation.message.clone())
}
