//! How fast the program starts: alone, and as a daemon.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};

use super::{
    home::{Home, World},
    http::{Request, Wire},
    machine,
    report::Measure,
    stats::ratios,
};

const HANDSHAKE: &[u8] = br#"{"protocol":1,"version":"bench"}"#;

/// How often the socket is tried. A fifth of what the figure is read to.
const TRY_EVERY: Duration = Duration::from_micros(200);

/// When a daemon that does not come is given up on.
const PATIENCE: Duration = Duration::from_secs(20);

/// Measures `stead --version`.
pub(crate) fn version(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let program = world.program("stead")?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // The first pair brings both into the page cache and does not count.
    for idx in 0..=50 {
        let stead = world.ms(|| machine::output(machine::command(&program).arg("--version")))?.0;
        let nothing = world.ms(|| machine::output(&mut machine::command("/bin/true")))?.0;
        if idx > 0 {
            ours.push(stead);
            bare.push(nothing);
        }
    }
    measure.budgeted("stead --version", "ms", &ours, 5.0);
    measure.figure("/bin/true", "ms", &bare);
    measure.figure("stead --version / true, pair by pair", "×", &ratios(&ours, &bare));
    Ok(())
}

/// Measures how long it takes until a daemon that was not there answers.
pub(crate) fn cold(world: &World, measure: &mut Measure) -> anyhow::Result<()> {
    let (mut fresh, mut fresh_returned) = (Vec::new(), Vec::new());
    let (mut again, mut again_returned) = (Vec::new(), Vec::new());
    for idx in 0..=7 {
        let home = Home::new(world, &[])?;
        let (answered, returned) = start(world, &home)?;
        machine::output(&mut home.stead(&["daemon", "stop"]))?;
        let (answered_again, returned_again) = start(world, &home)?;
        if idx > 0 {
            fresh.push(answered);
            fresh_returned.push(returned);
            again.push(answered_again);
            again_returned.push(returned_again);
        }
    }
    measure.budgeted("empty home: first handshake answered", "ms", &fresh, 50.0);
    measure.budgeted("empty home: `daemon start` returned", "ms", &fresh_returned, 50.0);
    measure.budgeted("known home: first handshake answered", "ms", &again, 50.0);
    measure.budgeted("known home: `daemon start` returned", "ms", &again_returned, 50.0);
    Ok(())
}

/// Starts a daemon; returns when the socket answered and when the command returned. The daemon is
/// killed at the end.
fn start(world: &World, home: &Home) -> anyhow::Result<(f64, f64)> {
    let socket = home.socket();
    let over = AtomicBool::new(false);
    let started = world.clock.monotonic();
    let since = || (world.clock.monotonic() - started).as_secs_f64() * 1_000.0;
    thread::scope(|scope| {
        let asking = scope.spawn(|| first_answer(&socket, &over).map(|()| since()));
        let daemon = home.start();
        let returned = since();
        if daemon.is_err() {
            over.store(true, Ordering::Relaxed);
        }
        let answered = asking.join().ok().context("asking the socket failed")?;
        daemon?;
        Ok((answered?, returned))
    })
}

/// Returns once the socket answers a handshake.
fn first_answer(socket: &Path, over: &AtomicBool) -> anyhow::Result<()> {
    let mut body = Vec::new();
    for _ in 0..PATIENCE.as_micros() / TRY_EVERY.as_micros() {
        if let Ok(mut wire) = Wire::unix(socket) {
            return wire.ask(&Request::json("/handshake", HANDSHAKE), &mut body);
        }
        if over.load(Ordering::Relaxed) {
            bail!("the daemon did not start");
        }
        thread::sleep(TRY_EVERY);
    }
    bail!("the socket did not answer within {} s", PATIENCE.as_secs())
}
