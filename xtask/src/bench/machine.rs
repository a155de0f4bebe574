//! The machine under the benchmark: programs are started, files written, and `/proc` is read here.

#![expect(
    clippy::disallowed_methods,
    reason = "starts what is measured and reads what the kernel says of it; never part of the product"
)]

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};

/// Prepares a program that sees nothing of our environment but the search path.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    command.env_clear().env("PATH", path).stdin(Stdio::null());
    command
}

/// Runs a program to its end and returns what it printed.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {} {}", program_of(&shown), output.status, said.trim());
    }
    Ok(output.stdout)
}

/// Returns the end of a shown command, since the variables before it say nothing.
fn program_of(shown: &str) -> &str {
    shown
        .split_once("PATH=")
        .map_or(shown, |(_, rest)| rest.split_once(' ').map_or(rest, |(_, c)| c))
}

/// Spawns `bash -c true`, reads its output to the end, and waits: what any host must do for a call.
pub(crate) fn bash_true() -> anyhow::Result<()> {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let output = command.spawn()?.wait_with_output()?;
    if output.status.success() { Ok(()) } else { bail!("bash -c true: {}", output.status) }
}

/// Writes a file that only we may read.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| path.display().to_string())?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(())
}

/// Writes a file as any program would.
pub(crate) fn write_plain(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| path.display().to_string())
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// Makes a directory that only we may enter, with its parents.
pub(crate) fn make_dir(path: &Path) -> anyhow::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| path.display().to_string())
}

/// Memory of a process in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    pub(crate) pss: u64,
    pub(crate) private: u64,
    pub(crate) rss: u64,
}

impl Memory {
    fn add(&mut self, line: &str) {
        let Some((name, rest)) = line.split_once(':') else { return };
        let bytes = kib(rest) * 1_024;
        match name {
            "Pss" => self.pss += bytes,
            "Rss" => self.rss += bytes,
            "Private_Clean" | "Private_Dirty" => self.private += bytes,
            _ => {}
        }
    }
}

/// Returns the memory of a process.
pub(crate) fn memory(pid: u32) -> anyhow::Result<Memory> {
    let mut memory = Memory::default();
    read(format!("/proc/{pid}/smaps_rollup").as_ref())?.lines().for_each(|line| memory.add(line));
    Ok(memory)
}

/// Returns the memory of a process by what is mapped, largest first.
pub(crate) fn mappings(pid: u32) -> anyhow::Result<Vec<(String, Memory)>> {
    let text = read(format!("/proc/{pid}/smaps").as_ref())?;
    let mut by_name: BTreeMap<String, Memory> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        let first = line.split(' ').next().unwrap_or_default();
        if first.contains('-') && !first.ends_with(':') {
            name = mapping_name(line);
        } else {
            by_name.entry(name.clone()).or_default().add(line);
        }
    }
    let mut all: Vec<_> = by_name.into_iter().collect();
    all.sort_by_key(|(_, memory)| std::cmp::Reverse(memory.pss));
    Ok(all)
}

/// Names a mapping by its file and permissions; the addresses differ every time.
fn mapping_name(line: &str) -> String {
    let mut columns = line.split_ascii_whitespace();
    let permissions = columns.nth(1).unwrap_or_default();
    let file = columns.nth(3).unwrap_or("[anonymous]");
    let file = file.rsplit('/').next().unwrap_or(file);
    format!("{file} {permissions}")
}

/// Returns a field of `/proc/<pid>/status`, in bytes where it counts kB.
pub(crate) fn status(pid: u32, field: &str) -> anyhow::Result<u64> {
    status_field(format!("/proc/{pid}/status").as_ref(), field)
}

/// Returns the processor time that a process has taken so far.
pub(crate) fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let text = read(format!("/proc/{pid}/stat").as_ref())?;
    // Behind the name, which may hold anything, `utime` and `stime` are the twelfth and the next.
    let (_, fields) = text.rsplit_once(')').context("no stat")?;
    let ticks = |at| fields.split_ascii_whitespace().nth(at).and_then(|field| field.parse().ok());
    let (user, system): (f64, f64) = ticks(11).zip(ticks(12)).context("no times")?;
    // The kernel tells them in hundredths, whatever it counts in.
    Ok((user + system) / 100.0)
}

/// Returns how often each thread of a process was taken off a processor so far, for whatever reason.
pub(crate) fn switches(pid: u32) -> anyhow::Result<BTreeMap<u32, u64>> {
    let mut all = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let task = task?;
        let thread = task.file_name().to_str().and_then(|name| name.parse().ok());
        let count = |field| status_field(&task.path().join("status"), field).unwrap_or(0);
        let sum = count("voluntary_ctxt_switches") + count("nonvoluntary_ctxt_switches");
        all.insert(thread.context("a thread without a number")?, sum);
    }
    Ok(all)
}

/// Returns how many bytes the files of a directory hold.
pub(crate) fn disk_bytes(dir: &Path) -> anyhow::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        sum += entry?.metadata()?.len();
    }
    Ok(sum)
}

/// Waits for a file that a program makes when it is there; it tells nobody.
pub(crate) fn wait_for_path(path: &Path, limit: Duration) -> anyhow::Result<()> {
    for _ in 0..limit.as_millis() {
        if path.exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    bail!("{} did not come", path.display())
}

/// Returns how often the threads of a process have gone to sleep so far, which is how often they woke.
pub(crate) fn sleeps(pid: u32) -> anyhow::Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let path = task?.path().join("status");
        // A thread may end meanwhile.
        sum += status_field(&path, "voluntary_ctxt_switches").unwrap_or(0);
    }
    Ok(sum)
}

fn status_field(path: &Path, field: &str) -> anyhow::Result<u64> {
    let text = read(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let line = line.with_context(|| format!("no {field}"))?;
    Ok(if line.ends_with("kB") { kib(line) * 1_024 } else { kib(line) })
}

fn kib(text: &str) -> u64 {
    text.trim().trim_end_matches("kB").trim_end().parse().unwrap_or(0)
}

/// Describes the machine, one line each.
pub(crate) fn header(scratch: &Path) -> Vec<String> {
    let said = |program: &str, arguments: &[&str]| {
        let output = output(command(program).args(arguments)).unwrap_or_default();
        String::from_utf8_lossy(&output).trim().to_owned()
    };
    let cpus = read("/proc/cpuinfo".as_ref()).unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let n_cpus = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let load = read("/proc/loadavg".as_ref()).unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    vec![
        format!(
            "{} × {}, kernel {}",
            n_cpus,
            model.map_or("?", |(_, m)| m),
            said("uname", &["-r"])
        ),
        format!(
            "scratch on {}, load {load}, {}",
            said("stat", &["-f", "-c", "%T", &scratch.display().to_string()]),
            said("date", &["--utc", "+%F %TZ"])
        ),
    ]
}
