//! A system with output cannot be tagged.

use bevy_affinity::prelude::*;

fn count() -> u32 {
    1
}

fn main() {
    let _ = count.affine();
}
