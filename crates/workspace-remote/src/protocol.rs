//! The messages of the workspace protocol, once for both sides.
//!
//! Every message is one struct with a `type`; fields it does not have are refused. Shapes only: what may be
//! said when is `connection`'s, and bounds are looked at before anything is parsed.

pub mod call;
pub mod flow;
pub mod hello;
pub mod resource;
pub(crate) mod tagged;

pub use call::{Call, Cancel, EndRun, Outcome, Problem, ValueOf, ValueRaw};
pub use flow::{Ack, Begin, Closing, Finish, Gap, Goodbye, More, Ping, Pong, Progress};
pub use hello::{Catalog, CatalogChanged, CatalogOf, Hello, Resume, Resumed, Welcome};
pub use resource::{
    AccessFile, Download, Exec, Glob, Grep, HeldUpload, ImageMime, Mkdir, ReadFile, Readdir, Stat,
    Upload, WriteFile,
};
pub use tagged::{BadMessage, Message, write};

/// The protocol's major version. Sides of different ones do not talk.
pub const MAJOR: u32 = 1;

/// The minor versions this build speaks, the least and the greatest.
pub const MINORS: (u32, u32) = (0, 0);

/// Names of optional behavior.
pub mod capability {
    /// A lost line may be taken up again.
    pub const RESUME: &str = "resume";
    /// Files may be uploaded and downloaded.
    pub const TRANSFER: &str = "transfer";

    /// The greeting says which workspace below a shared parent is meant.
    pub const CHANNEL: &str = "channel";

    /// What a runtime offers that serves one workspace.
    pub const ALL: &[&str] = &[RESUME, TRANSFER];
}

tagged::messages! {
    /// What a client says.
    ClientMessage {
        Hello, Resume, Catalog, Call, EndRun, Cancel, AccessFile, ReadFile, WriteFile, Mkdir, Stat,
        Readdir, Glob, Grep, ImageMime, Exec, Upload, HeldUpload, Download, More, Finish, Ack, Ping, Pong,
        Goodbye,
    }
}

tagged::messages! {
    /// What a server says.
    ServerMessage {
        Welcome, Resumed, CatalogOf, CatalogChanged, Progress, Gap, More, Begin, Outcome, ValueRaw,
        Problem, Closing, Ack, Ping, Pong,
    }
}

#[cfg(test)]
mod tests;
