//! What comes before a connection: the first message of a line, and whether the two sides fit.
//!
//! A connection can only be made of an [`Agreed`], so that nothing is asked before the sides agreed.

use vocab::limits::REMOTE_NAME_BYTES_MAX;

use crate::{
    codec::{Bounds, scan},
    frame::{CloseStatus, Frame, Violation},
    protocol::{
        BadMessage, ClientMessage, Hello, MAJOR, MINORS, Resume, capability,
        hello::{Program, Version},
    },
};

/// The first message of a line.
#[derive(Debug)]
pub enum First {
    /// A new connection.
    Hello(Hello),
    /// An old one, taken up again.
    Resume(Resume),
}

/// Reads the first message of a line.
///
/// # Errors
/// When it is anything but a greeting.
pub fn first(frame: &Frame) -> Result<First, Violation> {
    let Frame::Text(text) = frame else {
        return Err(Violation::protocol("content came before the greeting"));
    };
    let head = scan(text, &Bounds::usual())?;
    match ClientMessage::read(head.kind, text) {
        Ok(ClientMessage::Hello(hello)) => Ok(First::Hello(hello)),
        Ok(ClientMessage::Resume(resume)) => Ok(First::Resume(resume)),
        Err(BadMessage::Fields(message)) if matches!(head.kind, "hello" | "resume") => {
            Err(Violation::new(CloseStatus::Policy, "invalid_request", message))
        }
        Ok(_) | Err(_) => Err(Violation::protocol("the first message is no greeting")),
    }
}

/// What a server offers.
#[derive(Debug, Clone)]
pub struct Offered {
    /// Optional behavior.
    pub capabilities: Vec<&'static str>,
    /// Minor versions, the least and the greatest.
    pub minors: (u32, u32),
}

impl Default for Offered {
    fn default() -> Self {
        Self { capabilities: capability::ALL.to_vec(), minors: MINORS }
    }
}

/// What two sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    version: Version,
    capabilities: Vec<&'static str>,
}

impl Agreed {
    /// Returns the version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the optional behavior both have.
    #[must_use]
    pub fn capabilities(&self) -> &[&'static str] {
        &self.capabilities
    }

    /// Tells whether some optional behavior was agreed on.
    #[must_use]
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.contains(&capability)
    }
}

fn refusal(code: &'static str, message: String) -> Violation {
    Violation::new(CloseStatus::Policy, code, message)
}

/// Finds what both sides can do.
///
/// # Errors
/// When the versions have nothing in common, or the client needs what is not offered.
pub fn agree(hello: &Hello, offered: &Offered) -> Result<Agreed, Violation> {
    let Program { name, version } = &hello.client;
    if name.len().max(version.len()) > REMOTE_NAME_BYTES_MAX {
        return Err(refusal("invalid_request", "the client's name is too long".to_owned()));
    }
    let wanted = hello.protocol;
    if wanted.major != MAJOR {
        let message = format!("this is version {MAJOR}, not {}", wanted.major);
        return Err(refusal("version_mismatch", message));
    }
    let (least, greatest) = offered.minors;
    let minor = wanted.minor_max.min(greatest);
    if minor < wanted.minor_min.max(least) {
        let message = format!("minor versions {least} to {greatest} are spoken here");
        return Err(refusal("version_mismatch", message));
    }
    let known = |wish: &String| offered.capabilities.iter().find(|known| *known == wish).copied();
    if hello.capabilities.required.iter().any(|wish| known(wish).is_none()) {
        let message = "a required capability is not offered here".to_owned();
        return Err(refusal("capability_not_supported", message));
    }
    if hello.channel.is_some() {
        let message = "this runtime serves one workspace and has no channels".to_owned();
        return Err(refusal("channel_not_supported", message));
    }
    let wishes = hello.capabilities.required.iter().chain(&hello.capabilities.optional);
    let mut capabilities: Vec<&'static str> = wishes.filter_map(known).collect();
    capabilities.sort_unstable();
    capabilities.dedup();
    Ok(Agreed { version: Version { major: MAJOR, minor }, capabilities })
}
