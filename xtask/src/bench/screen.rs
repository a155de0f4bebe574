//! What the mirror of a terminal costs by itself, without a host around it.

use std::fmt::Write as _;

use screen::{Depth, Mirror, Size};

use super::{home::World, jobs::program, machine, memory::mib, report::Measure};

/// Mirrors whose memory is taken together.
const MIRRORS: usize = 20;

const ROUNDS: usize = 20;

/// Measures snapshots, sizes and throughput.
pub(crate) fn screen(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let lines = program::listing(10_100);
    let private = || machine::memory(std::process::id()).map(|memory| memory.private);
    let before = private()?;
    let mut mirrors: Vec<Mirror> = (0..MIRRORS).map(|_| fresh()).collect();
    let idle = private()?;
    mirrors.iter_mut().for_each(|mirror| mirror.feed(&lines));
    let filled = private()?;
    let one = |after: u64| mib(after.saturating_sub(before)) / 20.0;
    measure.figure("a fresh one", "MiB", &[one(idle)]);
    measure.figure("with 10,000 lines", "MiB", &[one(filled)]);
    let Some(mirror) = mirrors.first_mut() else { return Ok(()) };
    mirror.feed(program::frame(200, 50).as_bytes());
    for (what, depth, budget) in [
        ("snapshot of the screen", Depth::Screen, 0.2),
        ("snapshot with 10,000 lines", Depth::Replace, 12.0),
    ] {
        let (mut samples, mut n_bytes) = (Vec::new(), 0);
        for _ in 0..=ROUNDS {
            let (ms, snapshot) = world.ms(|| Ok(mirror.snapshot(depth)))?;
            n_bytes = snapshot.len();
            samples.push(ms);
        }
        samples.remove(0);
        measure.budgeted(format!("{what}, {n_bytes} bytes"), "ms", &samples, budget);
    }
    let mut samples = Vec::new();
    for idx in 0..ROUNDS {
        let columns = if idx % 2 == 0 { 120 } else { 200 };
        let resize = || {
            mirror.resize(Size::clamped(columns, 50));
            Ok(())
        };
        samples.push(world.ms(resize)?.0);
    }
    measure.figure("another width, with 10,000 lines", "ms", &samples);
    drop(mirrors);
    for (what, bytes) in texts() {
        let mut samples = Vec::new();
        for _ in 0..6 {
            let mut mirror = fresh();
            let feed = || {
                bytes.chunks(64 << 10).for_each(|chunk| mirror.feed(chunk));
                Ok(())
            };
            let seconds = world.ms(feed)?.0 / 1_000.0;
            samples.push(f64::from(u32::try_from(bytes.len())?) / 1e6 / seconds);
        }
        samples.remove(0);
        measure.figure(what, "MB/s", &samples);
    }
    Ok(())
}

fn fresh() -> Mirror {
    Mirror::new(Size::clamped(200, 50))
}

/// Returns what is fed, by name.
fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let (mut plain, mut dense) = (String::new(), String::new());
    for n in 0..400_000 {
        writeln!(plain, "line {n} of some program's output, as builds and tests write it\r").ok();
    }
    for n in 0..1_000_000 {
        if n % 10_000 == 0 {
            dense.push_str("\x1b[H");
        }
        let color = (n * 7 + n / 10_000 * 13) % 256;
        write!(dense, "\x1b[38;5;{color};48;2;{};{color};9m#", n % 255).ok();
    }
    let mut day = String::new();
    (0..50_000).for_each(|n| program::work_frame(&mut day, n));
    vec![
        ("plain lines", plain.into_bytes()),
        ("a listing in colors", program::listing(300_000)),
        ("a color per cell", dense.into_bytes()),
        ("text of one endless line", vec![b'x'; 32 << 20]),
        ("wide text", "漢字仮名交じり文\r\n".repeat(400_000).into_bytes()),
        ("an agent that repaints", day.into_bytes()),
    ]
}
