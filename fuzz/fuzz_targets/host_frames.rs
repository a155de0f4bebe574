//! Drives `host_frames`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::run("host_frames", bytes));
