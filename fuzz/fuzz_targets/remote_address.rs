//! Drives `remote_address`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::run("remote_address", bytes));
