//! A soak must be able to fail.

use crate::{cli::Without, life::Life, prepare_process, tally::Tally};

/// Frames that went well.
fn soaked(seed: u64, frames: u64, plant: Option<u64>) -> Result<u64, (u64, String)> {
    prepare_process();
    let mut life = Life::new(seed, 1_000, usize::MAX, &Without::default());
    let mut tally = Tally::default();
    while !life.is_over() && life.frames < frames {
        let plants = plant == Some(life.frames + 1);
        life.frame(plants, &mut tally).map_err(|what| (life.frames, what))?;
    }
    Ok(tally.frames)
}

#[test]
fn a_few_short_lives_differ_in_nothing() {
    for seed in 0..6 {
        let soaked = soaked(seed, 15, None);
        assert!(soaked.is_ok(), "seed {seed}: {soaked:?}");
    }
}

#[test]
fn one_bit_in_one_world_is_found_in_its_frame() {
    for (seed, plant) in [(1, 7), (2, 3), (3, 5)] {
        let (frame, what) = soaked(seed, 7, Some(plant)).expect_err("a bit differs");
        assert_eq!(frame, plant, "{what}");
        assert!(what.contains("seen") || what.contains("planted"), "{what}");
    }
}
