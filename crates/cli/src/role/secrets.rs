//! `stead secrets`: keys go in by a hidden prompt or a pipe, never by an argument, and never come out.

use std::{
    io::{self, Read as _},
    os::fd::OwnedFd,
    process::ExitCode,
};

use api::{
    agent::Done,
    client::Target,
    routes::Endpoint,
    secret::{HasSecret, SecretName, SetSecret},
};
use provider::catalog;
use pty::guard::Guard;
use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Signal, getpid, kill_process},
    termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr},
};
use sandbox::signals;
use stdx::secret::Secret;
use vocab::{limits::SECRET_BYTES_MAX, outcome::Failure};

use crate::{args::Secrets, client, config, env, exit, models, print};

/// What a terminal sends for Ctrl-C.
const CTRL_C: u8 = 3;

/// Runs the command.
pub(crate) fn run(command: Secrets) -> anyhow::Result<ExitCode> {
    super::block_on(async move {
        let target = Target::default();
        match command {
            Secrets::Set { provider } => {
                warn_of_unknown(&provider)?;
                let key = read_key(&provider)?;
                let client = client::connect(&env::paths()?).await?;
                let body = SetSecret { provider_id: provider.clone(), key: key.into() };
                let done = client.json::<_, Done>(Endpoint::SecretSet, target, Some(&body)).await;
                done.map_err(Failure::from)?;
                print::err(&format!("stead: the key of {provider} is stored\n"));
                Ok(ExitCode::from(exit::OK))
            }
            Secrets::Has { provider } => {
                let client = client::connect(&env::paths()?).await?;
                let body = SecretName { provider_id: provider };
                let asked =
                    client.json::<_, HasSecret>(Endpoint::SecretHas, target, Some(&body)).await;
                let has = asked.map_err(Failure::from)?.has;
                print::out(if has { "yes\n" } else { "no\n" });
                Ok(ExitCode::from(if has { exit::OK } else { exit::NOT_FOUND }))
            }
            Secrets::Rm { provider } => {
                let client = client::connect(&env::paths()?).await?;
                let body = SecretName { provider_id: provider.clone() };
                let done =
                    client.json::<_, Done>(Endpoint::SecretDelete, target, Some(&body)).await;
                done.map_err(Failure::from)?;
                print::err(&format!("stead: no key of {provider} is stored any more\n"));
                Ok(ExitCode::from(exit::OK))
            }
        }
    })
}

/// Says before a key is typed that no provider of that name is known: one may be configured later.
fn warn_of_unknown(provider: &str) -> Result<(), Failure> {
    // A configuration that is off keeps nobody from storing a key; what reads it next says so.
    let Ok(config) = config::load(&env::paths()?) else { return Ok(()) };
    if config.providers.contains_key(provider) || catalog::vendor(provider).is_some() {
        return Ok(());
    }
    let unknown = models::unknown_provider(&config, provider);
    let hint = unknown.hint.unwrap_or_default();
    let text = format!("stead: attention: {}\n  hint: {hint}\n", unknown.message);
    print::err(&print::clean::clean(&text));
    Ok(())
}

/// Reads a key from a hidden prompt or a pipe.
pub(super) fn read_key(owner: &str) -> Result<Secret, Failure> {
    key(read_line(owner)?)
}

/// Reads a key from a hidden prompt; none when nothing is typed.
pub(super) fn ask_for_key(owner: &str) -> Result<Option<Secret>, Failure> {
    let line = read_line(&format!("{owner}, empty for none"))?;
    if line.trim().is_empty() { Ok(None) } else { key(line).map(Some) }
}

fn read_line(owner: &str) -> Result<String, Failure> {
    let line = if print::stdin_is_terminal() {
        // Hidden first: what is typed at the prompt must not show, and must not be thrown away.
        let mut hidden = Hidden::begin();
        let prompt = format!("Key of {owner} (it is not shown): ");
        print::err(&prompt);
        hidden.wait(&prompt);
        let line = line_of(io::stdin().lock());
        drop(hidden);
        print::err("\n");
        let line = line?;
        if line.as_bytes().last() == Some(&CTRL_C) {
            drop(Secret::new(line));
            return Err(Failure::not_started("interrupted", "no key was stored"));
        }
        line
    } else {
        let mut stdin = io::stdin().lock();
        let line = line_of(&mut stdin)?;
        if more_follows(&mut stdin) {
            drop(Secret::new(line));
            return Err(no_key("more than one line was given"));
        }
        line
    };
    Ok(line)
}

/// Reads up to the end of a line, or to the Ctrl-C that ends one at the hidden prompt.
fn line_of(mut reader: impl io::BufRead) -> Result<String, Failure> {
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::not_started("usage", format!("the key cannot be read: {error}"))
    };
    // One allocation for all of it, so that no copy of its beginning stays behind.
    let room = SECRET_BYTES_MAX + 2;
    let mut line = Vec::with_capacity(room);
    loop {
        let come = match reader.fill_buf() {
            Ok(come) => come,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(cannot(&error)),
        };
        let ends = come.iter().position(|byte| matches!(*byte, b'\n' | CTRL_C));
        let taken = ends.map_or(come.len(), |at| at + 1).min(room - line.len());
        line.extend_from_slice(&come[..taken]);
        reader.consume(taken);
        if ends.is_some() || taken == 0 || line.len() == room {
            return String::from_utf8(line).map_err(|_no_text| cannot(&"it is not UTF-8"));
        }
    }
}

fn key(line: String) -> Result<Secret, Failure> {
    let secret = Secret::new(line.trim().to_owned());
    drop(Secret::new(line));
    let text = secret.expose();
    let problem = if text.is_empty() {
        "no key was given"
    } else if text.len() > SECRET_BYTES_MAX {
        "the key is longer than any that is known"
    } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        "a key is one word of plain characters"
    } else {
        return Ok(secret);
    };
    Err(no_key(problem))
}

fn no_key(problem: &str) -> Failure {
    Failure::not_started("usage", problem)
        .with_hint("paste it at the prompt, or pipe it: stead secrets set NAME < file")
}

/// Tells whether anything but white space comes before the end. So much of that is no key's file.
fn more_follows(reader: impl io::BufRead) -> bool {
    let limit = u64::try_from(SECRET_BYTES_MAX).unwrap_or(u64::MAX);
    let mut n_bytes = 0;
    for byte in reader.take(limit).bytes() {
        n_bytes += 1;
        if !byte.is_ok_and(|byte| byte.is_ascii_whitespace()) {
            return true;
        }
    }
    limit <= n_bytes
}

/// A terminal that does not show what is typed, as long as this lives, and the guard that makes it show that
/// again when this process is killed.
struct Hidden {
    before: Option<Termios>,
    guard: Option<Guard>,
    /// What tells that this process is to stop, or goes on.
    signals: Option<OwnedFd>,
}

impl Hidden {
    fn begin() -> Self {
        let stdin = rustix::stdio::stdin();
        // Where there can be none, a key is better typed without one than shown.
        let guard = Guard::start(stdin, stdin).ok();
        let signals = signals::watch(&[Signal::TSTP, Signal::CONT]).ok();
        let mut hidden = Self { before: None, guard, signals };
        hidden.enter();
        hidden
    }

    fn enter(&mut self) {
        let stdin = rustix::stdio::stdin();
        let Ok(before) = tcgetattr(stdin) else { return };
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // Ctrl-C must leave a terminal that shows what is typed; as a character it ends the line.
        silent.local_modes.remove(LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
        if let Some(guard) = &self.guard {
            guard.arm(&before, &silent, b"").ok();
        }
        tcsetattr(stdin, OptionalActions::Flush, &silent).ok();
        self.before = Some(before);
    }

    /// Waits until a line was typed. Whoever stops this process meanwhile gets a terminal that shows what is typed,
    /// and is asked anew afterwards.
    fn wait(&mut self, prompt: &str) {
        loop {
            let Some(signals) = &self.signals else { return };
            let stdin = rustix::stdio::stdin();
            let mut fds = [
                PollFd::from_borrowed_fd(stdin, PollFlags::IN),
                PollFd::new(signals, PollFlags::IN),
            ];
            let polled = poll(&mut fds, None);
            let is_told = !fds[1].revents().is_empty();
            match polled {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) if !is_told => return,
                Ok(_) => {}
            }
            match signals::taken(signals).ok().flatten().and_then(Signal::from_named_raw) {
                Some(Signal::TSTP) => {
                    self.leave();
                    // It cannot fail for a process itself, and going on at once would do no harm.
                    kill_process(getpid(), Signal::STOP).ok();
                }
                Some(Signal::CONT) => {
                    self.leave();
                    self.enter();
                    print::err(prompt);
                }
                _ => {}
            }
        }
    }

    fn leave(&mut self) {
        if let Some(before) = self.before.take() {
            tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &before).ok();
        }
        if let Some(guard) = &self.guard {
            guard.disarm();
        }
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word_without_its_line_end() {
        let told = |text: &str| {
            key(text.to_owned()).map(|key| key.expose().to_owned()).map_err(|f| f.message)
        };
        assert_eq!(told("sk-1\r\n").as_deref(), Ok("sk-1"));
        for bad in ["\n", "two words", "\u{3}", "gr\u{fc}n", &"x".repeat(SECRET_BYTES_MAX + 1)] {
            let message = told(bad).unwrap_err();
            assert!(!message.contains("x") || !message.contains(bad), "{message}");
        }
        for (typed, line) in [
            (&b"first\nsecond\n"[..], "first\n"),
            (b"no end", "no end"),
            (b"half\x03rest\n", "half\x03"),
            (b"", ""),
        ] {
            assert_eq!(line_of(typed).unwrap(), line);
        }
        for (rest, follows) in [("", false), ("\r\n \n", false), ("\nsecond\n", true), (" x", true)]
        {
            assert_eq!(more_follows(rest.as_bytes()), follows, "{rest:?}");
        }
        assert!(more_follows(io::BufReader::new(io::repeat(b'\n'))));
        assert!(line_of(&b"\xff\n"[..]).is_err());
        assert_eq!(
            line_of(io::BufReader::new(io::repeat(b'x'))).unwrap().len(),
            SECRET_BYTES_MAX + 2
        );
    }
}
