//! Drives `remote_piece`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::run("remote_piece", bytes));
