//! The seeds of each target, through the very function that the fuzzer drives; and pieces and changes of them.

#![expect(clippy::disallowed_methods, reason = "reads the seeds that lie beside the sources")]

use std::{fs, path::Path};

use super::{TARGETS, run};

/// The seeds of one target, with their names.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let read = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())
    };
    fs::read_dir(&dir).unwrap().map(|entry| read(entry.unwrap())).collect()
}

#[test]
fn every_decoder_holds_what_it_must_over_its_seeds() {
    for (target, _) in TARGETS {
        let seeds = seeds(target);
        assert!(!seeds.is_empty(), "{target} has no seeds");
        for (name, seed) in seeds {
            println!("{target}/{name}");
            run(target, &seed);
            // Cut anywhere, and with any one byte changed: what a line may do to it.
            for at in 0..seed.len().min(400) {
                run(target, &seed[..at]);
                let mut other = seed.clone();
                other[at] ^= 1 << (at % 8);
                run(target, &other);
            }
        }
    }
}

#[test]
fn every_target_has_a_program_of_its_name() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    for (target, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        let program = fs::read_to_string(dir.join(format!("fuzz_targets/{target}.rs"))).unwrap();
        assert!(program.contains(&format!("\"{target}\"")), "{target}");
    }
}
