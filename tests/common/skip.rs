//! What is skipped is said.

use std::{
    io::{Write, stderr},
    thread,
};

/// Says, past the harness, what a test cannot do here.
pub fn skip(reason: &str) {
    // Not `eprintln`, which the harness keeps from the user.
    _ = writeln!(stderr(), "skipped: {}: {reason}", thread::current().name().unwrap_or("a test"));
}
