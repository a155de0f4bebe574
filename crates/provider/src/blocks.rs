//! Puts the blocks of an answer in a row: wires may interleave them, deltas must not.
//!
//! The first open block is passed on as it grows; what belongs to later ones waits until it ends. No
//! wire format is known here.

use std::collections::VecDeque;

use vocab::ids::{CallId, PartId};

use crate::{
    arguments::{self, Growing},
    delta::Delta,
};

/// The blocks that are not yet told to their end.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    queue: VecDeque<Block>,
    next: u64,
    calls: usize,
    /// Whether any block held something.
    filled: bool,
    /// Whether the wire says itself where blocks end.
    explicit: bool,
}

#[derive(Debug)]
struct Block {
    key: u64,
    kind: Kind,
    content: String,
    growing: Growing,
    sent: usize,
    started: bool,
    closed: bool,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Text,
    Reasoning { signature: Option<String>, redacted: bool },
    Call { id: String, tool: String },
}

impl Blocks {
    /// Returns an empty row for a wire that ends its blocks itself.
    pub(crate) fn explicit() -> Self {
        Self { explicit: true, ..Self::default() }
    }

    /// Returns how many calls there were.
    pub(crate) fn calls(&self) -> usize {
        self.calls
    }

    /// Tells whether there were words, thinking or calls, not mere empty blocks.
    pub(crate) fn hold_anything(&self) -> bool {
        self.filled || self.calls > 0
    }

    /// Begins words; returns the block's key.
    pub(crate) fn begin_text(&mut self) -> u64 {
        self.begin(Kind::Text)
    }

    /// Begins thinking; returns the block's key.
    pub(crate) fn begin_reasoning(&mut self) -> u64 {
        self.begin(Kind::Reasoning { signature: None, redacted: false })
    }

    /// Begins a call; returns the block's key.
    pub(crate) fn begin_call(&mut self, id: &str, tool: &str) -> u64 {
        self.calls += 1;
        self.begin(Kind::Call { id: id.to_owned(), tool: tool.to_owned() })
    }

    /// Appends words to the last block, or to a new one when that holds something else.
    pub(crate) fn text(&mut self, text: &str) {
        let last = self.queue.back().filter(|block| block.kind == Kind::Text && !block.closed);
        let key = last.map(|block| block.key).unwrap_or_else(|| self.begin_text());
        self.append(key, text);
    }

    /// Appends thinking to the last block, or to a new one when that holds something else.
    pub(crate) fn reasoning(&mut self, text: &str, signature: &str) {
        let last = self.queue.back().filter(|block| matches!(block.kind, Kind::Reasoning { .. }));
        let key = match last {
            Some(block) => block.key,
            None => {
                let key = self.begin_reasoning();
                self.sign(key, signature, false);
                key
            }
        };
        self.append(key, text);
    }

    /// Appends to a block; one that has ended ignores it.
    pub(crate) fn append(&mut self, key: u64, text: &str) {
        if let Some(block) = self.find(key) {
            block.content.push_str(text);
            self.filled |= !text.is_empty();
        }
    }

    /// Appends to the signature of thinking.
    pub(crate) fn sign(&mut self, key: u64, more: &str, is_redacted: bool) {
        if let Some(block) = self.find(key)
            && let Kind::Reasoning { signature, redacted } = &mut block.kind
            && !more.is_empty()
        {
            signature.get_or_insert_default().push_str(more);
            *redacted |= is_redacted;
            self.filled = true;
        }
    }

    /// Completes what is known of a call: some wires tell name and id late.
    pub(crate) fn name_call(&mut self, key: u64, new_id: &str, new_tool: &str) {
        if let Some(block) = self.find(key)
            && !block.started
            && let Kind::Call { id, tool } = &mut block.kind
        {
            if id.is_empty() {
                id.push_str(new_id);
            }
            if tool.is_empty() {
                tool.push_str(new_tool);
            }
        }
    }

    /// Says that nothing more comes for a block.
    pub(crate) fn close(&mut self, key: u64) {
        if let Some(block) = self.find(key) {
            block.closed = true;
        }
    }

    /// Passes on what can be told by now.
    pub(crate) fn tell(&mut self, out: &mut Vec<Delta>) {
        while let Some(front) = self.queue.front_mut() {
            front.tell(out);
            let followed = self.queue.len() > 1 && !self.explicit;
            let Some(front) = self.queue.front_mut() else { return };
            let over = front.closed || (followed && front.is_whole());
            if !over {
                return;
            }
            if let Some(front) = self.queue.pop_front() {
                front.end(out);
            }
        }
    }

    /// Ends every block that is still open.
    pub(crate) fn end(&mut self, out: &mut Vec<Delta>) {
        for block in &mut self.queue {
            block.closed = true;
        }
        self.tell(out);
    }

    fn begin(&mut self, kind: Kind) -> u64 {
        let key = self.next;
        self.next += 1;
        self.queue.push_back(Block {
            key,
            kind,
            content: String::new(),
            growing: Growing::default(),
            sent: 0,
            started: false,
            closed: false,
        });
        key
    }

    fn find(&mut self, key: u64) -> Option<&mut Block> {
        // Keys count up and blocks leave at the front alone, so a key tells its place.
        let gone = self.queue.front()?.key;
        self.queue.get_mut(usize::try_from(key.checked_sub(gone)?).ok()?)
    }
}

impl Block {
    /// Tells whether the block is over once another one follows.
    fn is_whole(&mut self) -> bool {
        match &self.kind {
            Kind::Text | Kind::Reasoning { .. } => true,
            Kind::Call { .. } => self.growing.is_object(&self.content),
        }
    }

    fn start(&mut self, out: &mut Vec<Delta>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        out.push(match &mut self.kind {
            Kind::Text => Delta::TextStart,
            Kind::Reasoning { .. } => Delta::ReasoningStart,
            Kind::Call { id, tool } => {
                if id.is_empty() {
                    // Unique in every run, as the results are matched by it.
                    *id = PartId::generate().as_str().replacen("prt_", "call_", 1);
                }
                Delta::CallStart { id: CallId(id.clone()), tool: tool.clone() }
            }
        });
    }

    fn tell(&mut self, out: &mut Vec<Delta>) {
        let named = match &self.kind {
            Kind::Text | Kind::Reasoning { .. } => !self.content.is_empty(),
            Kind::Call { tool, .. } => !tool.is_empty(),
        };
        if !named && !self.started {
            return;
        }
        self.start(out);
        let more = self.content[self.sent..].to_owned();
        self.sent = self.content.len();
        if more.is_empty() {
            return;
        }
        out.push(match &self.kind {
            Kind::Text => Delta::Text(more),
            Kind::Reasoning { .. } => Delta::Reasoning(more),
            Kind::Call { .. } => Delta::CallInput(more),
        });
    }

    fn end(mut self, out: &mut Vec<Delta>) {
        let signed = matches!(&self.kind, Kind::Reasoning { signature: Some(_), .. });
        let is_call = matches!(&self.kind, Kind::Call { .. });
        if self.content.is_empty() && !signed && !is_call {
            return;
        }
        self.start(out);
        self.tell(out);
        out.push(match self.kind {
            Kind::Text => Delta::TextEnd,
            Kind::Reasoning { signature, redacted } => Delta::ReasoningEnd { signature, redacted },
            Kind::Call { .. } => Delta::CallEnd { input: arguments::parse(&self.content) },
        });
    }
}
