//! What a rule has to say: where, which rule, what is wrong, and what to do about it.

use std::fmt;

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    what: String,
    remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, what, remedy } = self;
        write!(f, "{path}:{line}: {rule}: {what} → {remedy}")
    }
}

/// Collects the findings of one rule.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    rule: &'static str,
    all: &'a mut Vec<Finding>,
}

impl<'a> Findings<'a> {
    /// Starts collecting for a rule.
    pub(crate) fn of(rule: &'static str, all: &'a mut Vec<Finding>) -> Self {
        Self { rule, all }
    }

    /// Adds a finding; lines count from 1.
    pub(crate) fn add(
        &mut self,
        path: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.all.push(Finding {
            path: path.to_owned(),
            line,
            rule: self.rule,
            what: what.into(),
            remedy: remedy.into(),
        });
    }
}
