//! Commits that a worktree's head has left behind: on no branch then, and remembered by the head's log alone,
//! which goes with the worktree.
//!
//! Not here: what was amended, reset or rebased. That was given up on purpose.

use std::collections::HashSet;

use vocab::limits::{WORKTREE_LEFT_MAX, WORKTREE_LOG_BYTES_MAX};

use crate::{
    git::Place,
    ground::{self, Room},
    keep::{Job, Kept},
};

impl Room<'_> {
    /// Returns those that nothing else holds, the newest first.
    pub(crate) fn left_behind(
        &self,
        own: &Place<'_>,
        job: &Job<'_>,
        has_head: bool,
    ) -> Result<Vec<String>, Kept> {
        let mut log = self.head_log(own, has_head)?;
        log.reverse();
        let mut left = left(&log, has_head);
        let rebased = rebased(&log);
        if !rebased.is_empty() {
            // What the job's branch was at is given up by a rebase of that branch.
            let branch = self.branch();
            let known = own.maybe(&[&"rev-parse", &"--quiet", &"--verify", &branch])?;
            let past = match known {
                Some(_) => {
                    self.repository().ok(&[&"reflog", &"show", &"--format=%H", &branch, &"--"])?
                }
                None => Vec::new(),
            };
            let past = String::from_utf8_lossy(&past);
            let past: HashSet<&str> = past.lines().collect();
            left.extend(rebased.into_iter().filter(|commit| !past.contains(commit.as_str())));
        }
        if left.is_empty() {
            return Ok(left);
        }
        // Before what they are compared with, since older versions of git read on from there in the same sense.
        let mut args = vec!["rev-list", "--ignore-missing", "--stdin"];
        let elsewhere = self.elsewhere(job);
        args.extend(elsewhere.iter().map(String::as_str));
        let args: Vec<&dyn AsRef<std::ffi::OsStr>> = args.iter().map(|arg| arg as _).collect();
        let mut input = left.join("\n");
        input.push('\n');
        let alone = self.repository().ok_with(&args, input.as_bytes())?;
        let alone = String::from_utf8_lossy(&alone);
        let alone: HashSet<&str> = alone.lines().collect();
        left.retain(|commit| alone.contains(commit.as_str()));
        if WORKTREE_LEFT_MAX < left.len() {
            return Err(Kept::Other {
                why: format!("its head has left {} commits behind that no branch has", left.len()),
                hint: Some(
                    "make branches of what is needed, or give all of it up: stead rm --discard JOB"
                        .into(),
                ),
            });
        }
        Ok(left)
    }

    /// Returns the commits that its head was at, the oldest first, each with what was done to get there.
    fn head_log(&self, own: &Place<'_>, has_head: bool) -> Result<Vec<(String, String)>, Kept> {
        let path = self.admin().join("logs").join("HEAD");
        if let Some(length) = ground::length(&path) {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let text = ground::first_bytes(&path, length.min(WORKTREE_LOG_BYTES_MAX + 1));
            let text = text.filter(|text| text.len() == length && length <= WORKTREE_LOG_BYTES_MAX);
            let text =
                text.ok_or_else(|| Kept::other("the log of its head cannot be read whole"))?;
            let text = String::from_utf8_lossy(&text);
            return Ok(text.lines().filter_map(entry).collect());
        }
        // Where git keeps it otherwise, it tells it, unless the head has no commit.
        if !has_head {
            return Ok(Vec::new());
        }
        let told = own.ok(&[&"reflog", &"show", &"--format=%H %gs", &"HEAD", &"--"])?;
        let told = String::from_utf8_lossy(&told);
        let entries = told.lines().filter_map(|line| line.split_once(' '));
        let mut all: Vec<_> = entries.map(|(at, what)| (at.to_owned(), what.to_owned())).collect();
        all.reverse();
        Ok(all)
    }
}

/// Reads a line of git's file: where the head was, where it went, who, when, a tab, and what was done.
fn entry(line: &str) -> Option<(String, String)> {
    let (heads, what) = line.split_once('\t').unwrap_or((line, ""));
    Some((heads.split(' ').nth(1)?.to_owned(), what.to_owned()))
}

/// Finds in a log, newest first, where the head was before a rebase took it elsewhere.
fn rebased(log: &[(String, String)]) -> Vec<String> {
    let went = |what: &str| what.starts_with("rebase") && what.contains(": checkout ");
    let pairs = log.iter().zip(log.iter().skip(1));
    pairs.filter(|((_, what), _)| went(what)).map(|(_, (before, _))| before.clone()).collect()
}

/// Finds in a log, newest first, the commits that the head went away from without a branch.
fn left(log: &[(String, String)], has_head: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let mut add = |commit: &str| {
        let is_whole =
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_whole && known.insert(commit.to_owned()) {
            found.push(commit.to_owned());
        }
    };
    // A head on a branch without a commit has written nothing of it.
    if let (Some((last, _)), false) = (log.first(), has_head) {
        add(last);
    }
    for (n, (_, what)) in log.iter().enumerate() {
        if let Some(rest) = what.strip_prefix("checkout: moving from ") {
            // A branch may be called like the beginning of a commit, not like a whole one.
            add(rest.split(' ').next().unwrap_or_default());
        } else if let (true, Some((before, _))) =
            (what.starts_with("commit (initial)"), log.get(n + 1))
        {
            add(before);
        }
    }
    found
}
