//! A program that does not stop printing. How much is told from outside: `./dev prove` says ten gigabytes.

use std::fs;

use vocab::limits::{RECORD_BYTES_MAX, RECORD_FILE_BYTES_MAX};

use super::{Home, bg, note, process, row, until};

/// What is printed where nobody says how much: more than the screen, its scrollback and every queue hold.
const MIB: u64 = 8;

/// What a host may ever hold: its screen, its scrollback, and what it has not written yet.
const RESIDENT_KIB_MAX: u64 = 48 << 10;

fn resident_kib_max(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn bytes_below(dir: &std::path::Path) -> u64 {
    fs::read_dir(dir).unwrap().flatten().map(|entry| entry.metadata().unwrap().len()).sum()
}

#[test]
fn a_program_that_prints_for_ever_fills_neither_memory_nor_disk_and_its_last_words_are_there() {
    let mib = std::env::var("STEAD_TEST_FLOOD_MIB").ok().and_then(|mib| mib.parse().ok());
    let bytes = mib.unwrap_or(MIB) << 20;
    let home = Home::new();
    let words =
        "0123456789 abcdefghijklmnopqrstuvwxyz \\033[31mred\\033[0m ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let printed = home.path("printed");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &printed,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let script = format!(
        "yes \"$(printf '{words}')\" | head -c {bytes}; echo; echo last words; echo >{}; read x",
        printed.display()
    );
    let id = bg(&home, &script);
    // However long that much takes: a reader of the pipe waits until somebody writes.
    fs::read(&printed).unwrap();
    until("last words", || home.stead(&["logs", &id]).out.contains("last words"));
    let host = process(&note(&home, &id)["hostPid"]);
    let resident = resident_kib_max(host.pid);
    assert!(resident < RESIDENT_KIB_MAX, "{resident} KiB");
    let recording = home.path("state/jobs").join(&id).join("recording");
    let recorded = bytes_below(&recording);
    assert!(recorded <= RECORD_BYTES_MAX + RECORD_FILE_BYTES_MAX, "{recorded} bytes");
    home.stead(&["stop", &id]).with(0);
    assert_eq!(row(&home, &id)["state"], "stopped");
    assert!(home.stead(&["logs", &id]).with(0).out.contains("last words"));
    let replayed = home.stead(&["logs", "--export", "txt", &id]).with(0).out;
    assert!(replayed.contains("last words"), "{} bytes", replayed.len());
}
