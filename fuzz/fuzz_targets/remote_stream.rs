//! Drives `remote_stream`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::run("remote_stream", bytes));
