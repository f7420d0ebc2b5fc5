//! Takes one mechanism out of a build, so that a bench can tell what it gives:
//! `AFFINITY_WITHOUT=stealing cargo bench --bench never_slower`. Read when the crate is compiled,
//! so that builds for users have neither the question nor the answer in them.
//!
//! What was found is in `benches/results/ablations.md`. Eviction gains beside busy processes only.
//! Two gained nothing that could be measured on two cores, and stay: settling is for many workers,
//! among whom a cheap table would stay cut into as many runs as unknown rows are worth, and
//! footprints are a figure that users see. A test fails without each of them.

/// What can be taken out, each by the name of its variant in small letters, words joined by `-`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// Workers that are done take chunks of a late worker's share.
    Stealing,
    /// Cuts between shares move to where the measured costs are equal.
    Balancing,
    /// A storage that was placed a few times only may be cut anew, into fewer runs, as the cost of
    /// its rows becomes known.
    Settling,
    /// Workers without rows that can take none from others either are not called to a round.
    Participants,
    /// Workers whose cores other processes take are left out of rounds.
    Eviction,
    /// The leader leaves a core that is a worker's, or taken.
    LeaderMoves,
    /// `Auto` tries other strategies than the one that looked best at first.
    Trials,
    /// `Auto` tries strategies again that lost before.
    Retrials,
    /// Fork/join counts the rows that stayed on their core: a figure for the overlay.
    Footprints,
}

impl Mechanism {
    const ALL: [(Self, &str); 9] = [
        (Self::Stealing, "stealing"),
        (Self::Balancing, "balancing"),
        (Self::Settling, "settling"),
        (Self::Participants, "participants"),
        (Self::Eviction, "eviction"),
        (Self::LeaderMoves, "leader-moves"),
        (Self::Trials, "trials"),
        (Self::Retrials, "retrials"),
        (Self::Footprints, "footprints"),
    ];

    /// Whether this build does without it.
    #[inline(always)]
    pub(crate) const fn is_out(self) -> bool {
        match MISSING {
            Some(missing) => missing as u8 == self as u8,
            None => false,
        }
    }
}

const MISSING: Option<Mechanism> = match option_env!("AFFINITY_WITHOUT") {
    Some(name) if !name.is_empty() => Some(called(name)),
    _ => None,
};

const fn called(name: &str) -> Mechanism {
    let mut place = 0;
    while place < Mechanism::ALL.len() {
        if are_equal(Mechanism::ALL[place].1.as_bytes(), name.as_bytes()) {
            return Mechanism::ALL[place].0;
        }
        place += 1;
    }
    panic!("AFFINITY_WITHOUT names no mechanism: see `src/ablation.rs` for those there are")
}

/// `==` of slices is no const function yet.
const fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let mut place = 0;
    while place < a.len() && place < b.len() && a[place] == b[place] {
        place += 1;
    }
    place == a.len() && place == b.len()
}
