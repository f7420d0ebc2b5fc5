//! The race: contenders take turns on the same data, round by round, and every turn's result is
//! checked.
//!
//! A turn is a short run of calls by one contender. Taking turns spreads whatever else the machine
//! does evenly over all contenders; sharing the data gives all of them the same pages and the same
//! alignment.

use std::thread;
use std::time::{Duration, Instant};

use super::statistics::{Samples, Standing};

/// How long the turns of a race are.
#[derive(Clone, Copy)]
pub struct Pace {
    /// Pause before each turn, in which the threads of the contender before fall asleep. Longer
    /// than any pool here spins.
    pub settle: Duration,
    /// Aimed at for the timed calls of the baseline's turn.
    pub turn: Duration,
    /// Fewest and most timed calls of a turn.
    pub calls: (u32, u32),
    /// No round is begun after so much time, but for the [`FEWEST_ROUNDS`].
    pub budget: Duration,
}

impl Default for Pace {
    /// Turns that are long enough to be hot and short enough for many rounds.
    fn default() -> Self {
        Self {
            settle: Duration::from_micros(500),
            turn: Duration::from_millis(1),
            calls: (3, 200),
            budget: Duration::MAX,
        }
    }
}

/// Rounds that are run whatever they take: the fewest of which a median says something.
const FEWEST_ROUNDS: usize = 5;

/// Calls that are measured (and thrown away) to learn how long one takes.
const TRIAL_CALLS: u32 = 5;

/// Short calls between two readings of the clock, which takes 25 ns and may tell no less than 10 ns
/// apart.
const CALLS_A_READING: u32 = 16;

/// The calls of one contender in one round.
pub struct Turn {
    warm_up: u32,
    timed: u32,
    /// Calls so far.
    made: u64,
    nanoseconds: Vec<u64>,
}

impl Turn {
    fn new(timed: u32) -> Self {
        // Two calls wake the threads and fetch the data; the rest lets adaptive pools settle.
        Self { warm_up: 2 + timed / 8, ..Self::cold(timed) }
    }

    /// A turn of which every call is timed.
    fn cold(timed: u32) -> Self {
        Self { warm_up: 0, timed, made: 0, nanoseconds: Vec::with_capacity(timed as usize) }
    }

    /// Makes the turn's calls and times each from here.
    pub fn repeat(&mut self, mut call: impl FnMut()) {
        self.repeat_timed(|| {
            let start = Instant::now();
            call();
            start.elapsed()
        });
    }

    /// Makes the turn's calls, some between two readings of the clock: for calls that take hardly
    /// longer than one.
    pub fn repeat_short(&mut self, mut call: impl FnMut()) {
        self.made += u64::from(self.warm_up + self.timed * CALLS_A_READING);
        (0..self.warm_up).for_each(|_| call());
        for _ in 0..self.timed {
            let start = Instant::now();
            (0..CALLS_A_READING).for_each(|_| call());
            self.nanoseconds.push(start.elapsed().as_nanos() as u64 / u64::from(CALLS_A_READING));
        }
    }

    /// Makes the turn's calls; each says itself how long the part that counts took.
    pub fn repeat_timed(&mut self, mut call: impl FnMut() -> Duration) {
        self.made += u64::from(self.warm_up + self.timed);
        for _ in 0..self.warm_up {
            call();
        }
        for _ in 0..self.timed {
            let elapsed = call();
            self.nanoseconds.push(elapsed.as_nanos() as u64);
        }
    }
}

type Play<'a, Data> = Box<dyn FnMut(&mut Data, &mut Turn) + 'a>;

struct Contender<'a, Data> {
    name: String,
    /// Index of the contender that the ratio refers to.
    baseline: usize,
    play: Play<'a, Data>,
    samples: Samples,
}

/// Contenders over shared `Data`. The first to enter must be a baseline.
pub struct Race<'a, Data> {
    data: Data,
    /// What is wrong with the data after so many calls, if anything.
    fault: fn(&mut Data, u64) -> Option<String>,
    contenders: Vec<Contender<'a, Data>>,
    pace: Pace,
    calls: u64,
}

impl<'a, Data> Race<'a, Data> {
    pub fn new(data: Data, fault: fn(&mut Data, u64) -> Option<String>) -> Self {
        Self { data, fault, contenders: Vec::new(), pace: Pace::default(), calls: 0 }
    }

    pub fn at_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// Enters the contender to which the next ones are compared.
    pub fn enter_baseline(&mut self, name: impl Into<String>, play: impl FnMut(&mut Data, &mut Turn) + 'a) {
        self.push(name, self.contenders.len(), play);
    }

    /// Enters a contender that is compared with the baseline entered last.
    pub fn enter(&mut self, name: impl Into<String>, play: impl FnMut(&mut Data, &mut Turn) + 'a) {
        let baseline = self.contenders.last().map_or(0, |previous| previous.baseline);
        self.push(name, baseline, play);
    }

    fn push(&mut self, name: impl Into<String>, baseline: usize, play: impl FnMut(&mut Data, &mut Turn) + 'a) {
        self.contenders.push(Contender {
            name: name.into(),
            baseline,
            play: Box::new(play),
            samples: Samples::default(),
        });
    }

    /// The first calls of the contender that entered `index`th, in nanoseconds each, after some of
    /// the first one that fetch the data. To be called before the race.
    pub fn first_calls(&mut self, index: usize, calls: u32) -> Result<Vec<u64>, String> {
        self.take_turn(0, Turn::new(TRIAL_CALLS))?;
        self.take_turn(index, Turn::cold(calls))
    }

    /// Runs all rounds, or as many as the pace's budget allows; an error names the contender whose
    /// result was wrong.
    pub fn run(&mut self, rounds: u32) -> Result<Vec<Standing>, String> {
        let began = Instant::now();
        let timed = self.calls_per_turn()?;
        for round in 0..rounds as usize {
            if round >= FEWEST_ROUNDS && began.elapsed() > self.pace.budget {
                break;
            }
            for turn in 0..self.contenders.len() {
                let index = in_turn(round, turn, self.contenders.len());
                let samples = self.take_turn(index, Turn::new(timed))?;
                self.contenders[index].samples.push_round(samples);
            }
        }
        Ok(self.standings())
    }

    /// What the contenders share.
    pub fn data(&mut self) -> &mut Data {
        &mut self.data
    }

    fn calls_per_turn(&mut self) -> Result<u32, String> {
        let trial = self.take_turn(0, Turn::new(TRIAL_CALLS))?;
        let fastest = trial.into_iter().min().unwrap_or(1).max(1);
        let calls = self.pace.turn.as_nanos() as u64 / fastest;
        let (fewest, most) = self.pace.calls;
        Ok(calls.clamp(fewest.into(), most.into()) as u32)
    }

    fn take_turn(&mut self, index: usize, mut turn: Turn) -> Result<Vec<u64>, String> {
        thread::sleep(self.pace.settle);
        let contender = &mut self.contenders[index];
        (contender.play)(&mut self.data, &mut turn);
        self.calls += turn.made;
        match (self.fault)(&mut self.data, self.calls) {
            None => Ok(turn.nanoseconds),
            Some(fault) => Err(format!("{}: wrong result: {fault}", contender.name)),
        }
    }

    fn standings(&self) -> Vec<Standing> {
        let standing = |contender: &Contender<'a, Data>| {
            let baseline = &self.contenders[contender.baseline].samples;
            contender.samples.standing(&contender.name, baseline)
        };
        self.contenders.iter().map(standing).collect()
    }
}

/// Who has a turn in a round: every second round another contender starts, and the round between
/// goes the other way, so that none always follows the same one.
fn in_turn(round: usize, turn: usize, contenders: usize) -> usize {
    let place = (round / 2 + turn) % contenders;
    if round.is_multiple_of(2) { place } else { contenders - 1 - place }
}
