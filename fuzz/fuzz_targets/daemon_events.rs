//! Drives `daemon_events`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::run("daemon_events", bytes));
