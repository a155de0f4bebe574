//! Messages and their parts: the stored transcript, which is the authority of a session.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ids::{BlockId, CallId, MessageId, RunId},
    outcome::Outcome,
};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, or a client on their behalf.
    User,
    /// The model.
    Assistant,
}

/// A model of a provider, written `provider/model`. The model's part may hold further slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelRef {
    /// The provider's configured name.
    pub provider: String,
    /// The model's id, as the provider knows it.
    pub model: String,
}

impl ModelRef {
    /// Splits `provider/model`; none when either half is empty or the slash is missing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, model) = text.split_once('/')?;
        (!provider.is_empty() && !model.is_empty())
            .then(|| Self { provider: provider.to_owned(), model: model.to_owned() })
    }
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// Tokens of one or several model calls, each bucket counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that came from no cache and went into none.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Of the output, what was spent on reasoning, where the provider tells.
    pub reasoning: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written into the provider's cache.
    pub cache_write: u64,
}

impl Usage {
    /// Sums the tokens of all model calls of a message.
    #[must_use]
    pub fn of(parts: &[Part]) -> Self {
        let mut total = Self::default();
        for part in parts {
            if let Part::Step { usage: Some(usage), .. } = part {
                total.add(usage);
            }
        }
        total
    }

    /// Adds another count to this one; vendors tell numbers that no sum holds.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Why a model stopped speaking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    Stop,
    /// It reached its output limit; calls it was writing are not trusted.
    Length,
    /// It waits for the results of its calls.
    ToolUse,
}

/// Where a tool call stands. Each step is stored before the next one begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CallState {
    /// The model asked for it; nothing has begun.
    Requested,
    /// A person is asked first.
    Blocked,
    /// A person allowed it; nothing has begun.
    Approved,
    /// Its effect may have begun.
    Started,
    /// It ended.
    Ended {
        /// How it ended.
        outcome: Outcome,
        /// Its place among the ended calls of the message, so that the order of telling is kept.
        ordinal: u32,
    },
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// One model call begins here. All parts up to the next one came from it.
    Step {
        /// Which model was called.
        model: ModelRef,
        /// Tokens of the call, once it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Why the model stopped; absent while it speaks and when the call broke off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<StopReason>,
    },
    /// Words.
    Text {
        /// The words so far.
        text: String,
        /// Whether the model is done with this part.
        done: bool,
    },
    /// The model's thinking.
    Reasoning {
        /// The thinking so far; empty when the provider hides it.
        text: String,
        /// What the provider wants back unchanged: a signature or an encrypted block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Whether `signature` is an encrypted block in place of the text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
        /// Whether the model is done with this part.
        done: bool,
    },
    /// A tool call.
    Call {
        /// The model's id for it.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// The arguments as the model wrote them; a string when they were not JSON.
        input: Value,
        /// The question to a person that it led to, answered or not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<BlockId>,
        /// Where it stands.
        #[serde(flatten)]
        state: CallState,
    },
    /// A file a user attached; images are shown to models that see.
    File {
        /// Its media type.
        media_type: String,
        /// The bytes, standard base64 with padding.
        data: String,
    },
    /// A user's message that entered a live run between two steps.
    Steer {
        /// Which stored message it is.
        message: MessageId,
    },
    /// A note of the run itself (a retry, a limit reached); models do not see it.
    Note {
        /// What kind of note, `snake_case`.
        kind: String,
        /// One sentence for people.
        text: String,
    },
}

/// A stored message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its id; ids of a session sort in the order of the conversation.
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// The run that produced it, or that it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What it holds.
    pub parts: Vec<Part>,
    /// When it was stored, milliseconds since the Unix epoch.
    pub created_at: i64,
}

impl Message {
    /// Returns the words of all text parts, joined by blank lines.
    #[must_use]
    pub fn plain_text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(
                |part| if let Part::Text { text, .. } = part { Some(text.as_str()) } else { None },
            )
            .collect();
        texts.join("\n\n")
    }
}

/// How much a session asks before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// File tools run; what runs programs asks.
    #[default]
    AcceptEdits,
    /// Nothing asks.
    Auto,
    /// Every change asks.
    Ask,
}

impl std::str::FromStr for Mode {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "accept-edits" => Ok(Self::AcceptEdits),
            "auto" => Ok(Self::Auto),
            "ask" => Ok(Self::Ask),
            other => Err(format!("unknown mode {other:?}: expected accept-edits, auto or ask")),
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AcceptEdits => "accept-edits",
            Self::Auto => "auto",
            Self::Ask => "ask",
        })
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum RunEnd {
    /// The model was done.
    Finished,
    /// A person stopped it.
    Aborted,
    /// It failed; the code says why.
    Failed {
        /// What went wrong.
        failure: crate::outcome::Failure,
    },
    /// The daemon died while it ran.
    Interrupted,
    /// It reached its configured number of steps.
    StepLimit {
        /// The limit.
        steps_max: u32,
    },
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunState {
    /// It works.
    Running,
    /// It waits for a person; no task and no memory is held.
    Parked {
        /// What it waits for, in the order asked.
        blocks: Vec<Block>,
    },
    /// It is over.
    Ended(RunEnd),
}

/// A question to a person that a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its id.
    pub id: BlockId,
    /// The call that waits.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The arguments as they would run: repaired, and without what the tool does not know.
    pub input: Value,
    /// When it was asked, milliseconds since the Unix epoch.
    pub asked_at: i64,
    /// When the default takes effect, milliseconds since the Unix epoch; absent: it waits for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<i64>,
    /// The answer, once given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// A person's answer to a [`Block`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether the call may run.
    pub approved: bool,
    /// What to tell the model when it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A run as a session's readers see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The assistant message it writes.
    pub message: MessageId,
    /// The model it asks.
    pub model: ModelRef,
    /// How much it asks before it acts.
    pub mode: Mode,
    /// Whether somebody is there to answer; without one, what would ask is refused.
    pub interactive: bool,
    /// Where it stands.
    pub state: RunState,
    /// When it began, milliseconds since the Unix epoch.
    pub started_at: i64,
}
