#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| braid_fuzz::run("market_file", data));
