//! Turns the messages that ask for something into work, and says what they need to begin.

use vocab::{limits::WRITE_BYTES_MAX, outcome::Failure};
use workspace::primitive::{ExecRequest, Upload, Wanted};

use super::{
    gate::Room,
    table::{Content, Inflow, Outflow},
    work::{self, At, Work},
};
use crate::protocol::{self, ClientMessage};

/// A request, read.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: u64,
    /// None while the content of a write is still coming.
    pub(super) work: Option<Work>,
    pub(super) room: Room,
    pub(super) content: Content,
}

/// What a message means.
#[derive(Debug)]
pub(super) enum Meant {
    Asks(Asked),
    /// A call whose arguments were not prepared.
    Unprepared(u64),
    Catalog(u64),
    Cancel(u64),
    More(u64, u64),
    Finish(u64),
    Goodbye,
    /// It has no place after the greeting, or belongs to the line.
    Misplaced,
}

fn number(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn upload(one: protocol::Upload) -> Work {
    let promise = Upload {
        shape: one.shape.into(),
        size: one.size,
        sha256: one.sha256,
        overwrite: one.overwrite,
        keep: one.keep,
        from: one.from,
    };
    Work::Upload(At { workspace: one.workspace, path: one.path }, promise)
}

/// Says what a message means.
pub(super) fn read(message: ClientMessage) -> Meant {
    let sending = || Content::Sending(Outflow::default());
    let mut content = Content::None;
    let mut room = Room::Calls;
    macro_rules! at {
        ($message:ident) => {
            At { workspace: $message.workspace, path: $message.path }
        };
    }
    let (id, work) = match message {
        ClientMessage::Call(call) if !call.arguments_prepared => return Meant::Unprepared(call.id),
        ClientMessage::Call(call) => {
            content = Content::Telling { offset: 0, gap: 0 };
            (call.id, work::call(call))
        }
        ClientMessage::EndRun(one) => (one.id, Work::EndRun(one.run)),
        ClientMessage::AccessFile(one) => (one.id, Work::Access(at!(one), one.access.into())),
        ClientMessage::ReadFile(one) => {
            content = sending();
            (one.id, Work::Read(at!(one), one.bytes_max))
        }
        ClientMessage::WriteFile(one) => {
            let (id, size, at) = (one.id, one.size, at!(one));
            if size > 0 {
                let (parts, flow) = (Vec::new(), Inflow::default());
                let content = Content::Gathering { at, size, parts, flow };
                return Meant::Asks(Asked { id, work: None, room, content });
            }
            (id, Work::Write(at, bytes::Bytes::new()))
        }
        ClientMessage::Mkdir(one) => (one.id, Work::Mkdir(at!(one), one.parents)),
        ClientMessage::Stat(one) => (one.id, Work::Stat(at!(one))),
        ClientMessage::Readdir(one) => (one.id, Work::Readdir(at!(one))),
        ClientMessage::Glob(one) => (one.id, Work::Glob(at!(one), one.pattern, number(one.limit))),
        ClientMessage::Grep(one) => (one.id, Work::Grep(at!(one), one.pattern, number(one.limit))),
        ClientMessage::ImageMime(one) => (one.id, Work::ImageMime(at!(one))),
        ClientMessage::Exec(one) => {
            content = sending();
            let what = ExecRequest { command: one.command, timeout_ms: one.timeout_ms };
            (one.id, Work::Exec(At { workspace: one.workspace, path: one.path }, what))
        }
        ClientMessage::Upload(one) => {
            content = Content::Feeding { flow: Inflow::default(), finished: false };
            room = Room::Uploads;
            (one.id, upload(one))
        }
        ClientMessage::HeldUpload(one) => (one.id, Work::Held(at!(one), one.shape.into())),
        ClientMessage::Download(one) => {
            content = sending();
            room = Room::Downloads;
            let wanted = Wanted { shape: one.shape.into(), after: one.after.map(Into::into) };
            (one.id, Work::Download(At { workspace: one.workspace, path: one.path }, wanted))
        }
        ClientMessage::Catalog(one) => return Meant::Catalog(one.id),
        ClientMessage::Cancel(one) => return Meant::Cancel(one.id),
        ClientMessage::More(one) => return Meant::More(one.id, one.bytes),
        ClientMessage::Finish(one) => return Meant::Finish(one.id),
        ClientMessage::Goodbye(_) => return Meant::Goodbye,
        ClientMessage::Hello(_)
        | ClientMessage::Resume(_)
        | ClientMessage::Ack(_)
        | ClientMessage::Ping(_)
        | ClientMessage::Pong(_) => return Meant::Misplaced,
    };
    Meant::Asks(Asked { id, work: Some(work), room, content })
}

/// Refuses a write that no `write` carries.
pub(super) fn check_size(content: &Content) -> Result<(), Failure> {
    match content {
        Content::Gathering { size, .. } if *size > WRITE_BYTES_MAX as u64 => {
            let message = "the content is more than a write carries";
            Err(Failure::not_started("too_large", message).with_hint("upload it"))
        }
        Content::Gathering { .. }
        | Content::None
        | Content::Feeding { .. }
        | Content::Sending(_)
        | Content::Telling { .. } => Ok(()),
    }
}
