//! Nor more than twenty systems at once.

use bevy_affinity::prelude::*;

fn a() {}

fn main() {
    let _ = (a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a).affine();
}
