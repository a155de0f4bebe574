//! Identifiers: a prefix that says of what, and a UUIDv7 that sorts by time and does not wrap.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The variable that names the run in the environment of every process that the run started.
pub const RUN_MARKER: &str = "STEAD_RUN";

/// The variable that names the job in the environment of every process of it. A job's terminal is a
/// person's, so it is another one than the run's.
pub const JOB_MARKER: &str = "STEAD_JOB_ID";

/// The variable with which a process proves that it has its environment from its job.
pub const JOB_TOKEN: &str = "STEAD_JOB_TOKEN";

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind} id: expected {prefix} and 32 hexadecimal digits")]
pub struct BadId {
    /// What was wanted, for people.
    pub kind: &'static str,
    /// The prefix that was wanted.
    pub prefix: &'static str,
    /// What was given.
    pub text: String,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Makes a new one, later than every earlier one of this process.
            #[must_use]
            pub fn generate() -> Self {
                Self(format!("{}{}", $prefix, Uuid::now_v7().simple()))
            }

            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                let ok = text.strip_prefix($prefix).is_some_and(|hex| {
                    hex.len() == 32 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                });
                if ok {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(BadId { kind: $kind, prefix: $prefix, text: text.chars().take(80).collect() })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    )*};
}

ids! {
    /// A conversation.
    SessionId, "session", "ses_";
    /// A message of a session.
    MessageId, "message", "msg_";
    /// A part of a message.
    PartId, "part", "prt_";
    /// One live turn of a session.
    RunId, "run", "run_";
    /// Something a run waits for a person to answer.
    BlockId, "block", "blk_";
    /// Bounded full output kept by a workspace.
    ArtifactId, "artifact", "art_";
}

/// A program in a terminal: eight hexadecimal digits, short enough to be typed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

impl JobId {
    const N_DIGITS: usize = 8;

    /// Makes a new one at random. Whoever makes the job's directory finds out whether it is taken.
    #[must_use]
    pub fn generate() -> Self {
        let mut text = Uuid::new_v4().simple().to_string();
        text.truncate(Self::N_DIGITS);
        Self(text)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for JobId {
    type Err = BadJobId;
    fn from_str(text: &str) -> Result<Self, BadJobId> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == Self::N_DIGITS && text.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadJobId { text: text.chars().take(80).collect() })
        }
    }
}

impl TryFrom<String> for JobId {
    type Error = BadJobId;
    fn try_from(text: String) -> Result<Self, BadJobId> {
        text.parse()
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> Self {
        id.0
    }
}

/// Why a text is not a job's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a job id: expected eight hexadecimal digits")]
pub struct BadJobId {
    /// What was given.
    pub text: String,
}

/// The id a model gave to one tool call; unique within its run, opaque to us.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a registered workspace: given by its owner, else 16 hex digits derived from machine and root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkspaceId(pub String);

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How well a text that a person typed names something. What fits better is meant before what fits less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is the id.
    Id,
    /// It is the name. It goes before parts of ids, as nobody chooses those: a new id must not take a word
    /// away from what is called by it.
    Name,
    /// It is the beginning or the end of the id, or in the name. Neither goes before the other: which one
    /// was meant, nobody can tell.
    Part,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_process_sort_in_the_order_they_were_made() {
        let ids: Vec<_> = (0..10_000).map(|_| PartId::generate()).collect();
        assert!(ids.is_sorted());
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
    }

    #[test]
    fn a_job_id_is_eight_digits_and_nothing_that_could_be_a_path() {
        let id = JobId::generate();
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        for bad in ["", "0123456", "012345678", "0123456G", "0123ABCD", "../../ab", "0123456/"] {
            assert!(bad.parse::<JobId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_right_prefix_and_digits_parse() {
        let id = SessionId::generate();
        assert_eq!(id.as_str().parse::<SessionId>(), Ok(id.clone()));
        for bad in ["", "ses_", "msg_0", &id.as_str()[1..], "ses_G0000000000000000000000000000000"]
        {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }
}
