//! What a mirror costs. Run by hand, alone, in release mode:
//! `cargo test --release -p screen figures -- --ignored --nocapture`.

#![expect(clippy::disallowed_methods, reason = "asks the kernel about itself")]

use super::{referee, same::mirror};
use crate::{mirror::Mirror, size::Size, snapshot::Depth};

const WIDE: (u16, u16) = (200, 50);

/// Returns the seconds that this thread has spent on a processor, which other programs do not stretch.
fn on_cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::new(
        time.tv_sec.try_into().unwrap_or(0),
        time.tv_nsec.try_into().unwrap_or(0),
    )
    .as_secs_f64()
}

/// Returns the private memory of this process in KiB.
fn private() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with("Private_Clean") || line.starts_with("Private_Dirty"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum()
}

fn listing(n_lines: usize) -> Vec<u8> {
    (0..n_lines)
        .map(|n| {
            format!(
                "-rw-r--r-- 1 user user {:>8} Nov {:>2} 16:{:02} \x1b[0m\x1b[01;3{}mfile_{n}.rs\x1b[0m\r\n",
                n * 7919 % 1_000_003,
                n % 30 + 1,
                n % 60,
                n % 7
            )
        })
        .collect::<String>()
        .into_bytes()
}

fn plain(n_lines: usize) -> Vec<u8> {
    (0..n_lines)
        .map(|n| format!("line {n} of some program's output, as builds and tests write it\r\n"))
        .collect::<String>()
        .into_bytes()
}

fn dense(n_frames: usize) -> Vec<u8> {
    let mut out = String::new();
    for frame in 0..n_frames {
        out.push_str("\x1b[H");
        for cell in 0..10_000 {
            let color = (cell * 7 + frame * 13) % 256;
            out.push_str(&format!("\x1b[38;5;{color};48;2;{};{color};9m#", cell % 255));
        }
    }
    out.into_bytes()
}

fn throughput(name: &str, bytes: &[u8]) {
    let mut fastest = f64::MAX;
    for _ in 0..5 {
        let mut mirror = mirror(WIDE);
        let start = on_cpu();
        for chunk in bytes.chunks(65_536) {
            mirror.feed(chunk);
        }
        fastest = fastest.min(on_cpu() - start);
    }
    let start = on_cpu();
    referee::read(WIDE, bytes);
    let alacritty = on_cpu() - start;
    let n = mebibytes(bytes.len());
    println!("{name}: {:.0} MiB/s, alacritty {:.0} MiB/s", n / fastest, n / alacritty);
}

fn mebibytes(n_bytes: usize) -> f64 {
    f64::from(u32::try_from(n_bytes).unwrap_or(u32::MAX)) / f64::from(1 << 20)
}

fn time(name: &str, mut act: impl FnMut() -> usize) {
    let mut fastest = f64::MAX;
    let mut n_bytes = 0;
    for _ in 0..20 {
        let start = on_cpu();
        n_bytes = act();
        fastest = fastest.min(on_cpu() - start);
    }
    println!("{name}: {:.3} ms, {n_bytes} bytes", fastest * 1_000.0);
}

#[test]
#[ignore = "prints figures, which depend on the machine"]
fn figures() {
    const N: usize = 20;
    let lines = listing(10_100);
    let before = private();
    let mut mirrors: Vec<Mirror> = (0..N).map(|_| mirror(WIDE)).collect();
    let idle = private();
    println!("idle mirror: {} KiB", (idle - before) / N as u64);
    for mirror in &mut mirrors {
        mirror.feed(&lines);
    }
    println!("with 10,000 lines: {} KiB", (private() - before) / N as u64);
    println!("of which history: {} KiB", mirrors[0].terminal.history.n_bytes() / 1_024);
    for mirror in &mut mirrors {
        mirror.feed(b"\x1b[?1049h");
    }
    println!("and the alternate screen: {} KiB", (private() - before) / N as u64);
    let mirror = &mut mirrors[0];
    mirror.feed(b"\x1b[?1049l");
    time("snapshot, screen", || mirror.snapshot(Depth::Screen).len());
    time("snapshot, 10,000 lines", || mirror.snapshot(Depth::Replace).len());
    let mut wide = true;
    time("resize with 10,000 lines", || {
        wide = !wide;
        mirror.resize(Size::clamped(if wide { 200 } else { 120 }, 50));
        0
    });
    throughput("plain lines", &plain(400_000));
    throughput("listing in colors", &listing(300_000));
    throughput("a color per cell", &dense(100));
    throughput("long plain text", &vec![b'x'; 32 << 20]);
    throughput("wide text", &"漢字仮名交じり文\r\n".repeat(400_000).into_bytes());
}
