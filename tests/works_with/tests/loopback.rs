//! The example `loopback`: two processes come to the bits that one computes.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// `cargo test` builds examples before tests run, unless it is told to build less.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let profile = test.parent().and_then(Path::parent).expect("tests lie in the folder `deps` of a profile");
    profile.join("examples").join(format!("loopback{}", std::env::consts::EXE_SUFFIX))
}

#[test]
fn two_processes_exchange_entities_and_bits_stay() {
    let output =
        Command::new(example()).output().expect("the example was built: run `cargo test` without filters of targets");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    for line in ["ghosts have the bits of their cars", "cars have the bits that one process computes"] {
        let holds = told.lines().any(|told| told.starts_with(line) && told.ends_with("yes"));
        assert!(holds, "{line}: {told}");
    }
    println!("{told}");
}
