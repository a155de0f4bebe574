//! The daemon itself.

use serde::{Deserialize, Serialize};

use crate::routes::PROTOCOL;

/// The body of `POST /handshake`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol the client speaks; that of the daemon when absent.
    #[serde(default = "ours")]
    pub protocol: u32,
    /// The client's version, for logs.
    #[serde(default)]
    pub version: String,
}

fn ours() -> u32 {
    PROTOCOL
}

/// The answer to `POST /handshake`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The protocol the daemon speaks.
    pub protocol: u32,
    /// The daemon's version.
    pub version: String,
    /// The claim token of this daemon's start, as in its registration.
    pub id: String,
    /// What it serves, each with a version: `agent@1`.
    pub supports: Vec<String>,
    /// What people must know of this start, such as a damaged database that was set aside.
    #[serde(default)]
    pub notices: Vec<String>,
}

/// `daemon.json`: where the daemon is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The claim token of this start.
    pub id: String,
    /// The daemon's version.
    pub version: String,
    /// Its loopback URL.
    pub url: String,
    /// Its Unix socket.
    pub socket: String,
    /// Its process id.
    pub pid: u32,
    /// The protocol it speaks.
    pub protocol: u32,
}

/// The answer to `GET /daemon/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The protocol it speaks.
    pub protocol: u32,
    /// Its loopback URL.
    pub url: String,
    /// Its Unix socket.
    pub socket: String,
    /// RFC 3339.
    pub started_at: String,
    /// How many sessions are stored, and how many of them work.
    pub sessions: Count,
    /// How many jobs there are, and how many of them work.
    pub jobs: Count,
    /// Its memory.
    pub memory: Memory,
}

/// A count of things and of those that work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// All of them.
    pub total: u64,
    /// Those that work now.
    pub live: u64,
}

/// Memory of the daemon's process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Proportional set size.
    pub pss: u64,
    /// Private clean and dirty pages.
    pub private: u64,
}

/// The body of `POST /daemon/stop`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopRequest {
    /// Whether background jobs go on.
    #[serde(default, alias = "keepJobs", alias = "keepWorkers")]
    pub keep_jobs: bool,
}
