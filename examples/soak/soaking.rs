//! The threads that live one life after another, and the one that watches them.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    cli::Options,
    findings::{Difference, Findings},
    life::Life,
    memory::{self, Sample, Samples},
    report,
    tally::Tally,
};

/// How often the watching thread looks.
const LOOK: Duration = Duration::from_millis(50);

/// After so many looks, 3 minutes, a thread hangs: no frame takes so long, however busy the
/// machine.
const PATIENCE: u32 = 3_600;

/// How far a thread is.
#[derive(Default)]
struct Place {
    seed: AtomicU64,
    frame: AtomicU64,
    /// Between two lives.
    resting: AtomicBool,
}

/// What all threads share.
struct Soak<'a> {
    options: &'a Options,
    began: Instant,
    /// Frames that threads have begun.
    begun: AtomicU64,
    over: AtomicBool,
    places: Vec<Place>,
    tally: Mutex<Tally>,
    samples: Mutex<Samples>,
    difference: Mutex<Option<Difference>>,
}

/// Soaks as the options say.
pub fn soak(options: &Options) -> Findings {
    let soak = Soak {
        options,
        began: Instant::now(),
        begun: AtomicU64::new(0),
        over: AtomicBool::new(false),
        places: (0..options.threads).map(|_| Place::default()).collect(),
        tally: Mutex::default(),
        samples: Mutex::default(),
        difference: Mutex::default(),
    };
    thread::scope(|scope| {
        let soak = &soak;
        let threads: Vec<_> = (0..options.threads).map(|thread| scope.spawn(move || soak.live(thread))).collect();
        soak.watch(|| threads.iter().all(|thread| thread.is_finished()));
    });
    Findings {
        took: soak.began.elapsed(),
        tally: soak.tally.into_inner().unwrap_or_else(PoisonError::into_inner),
        difference: soak.difference.into_inner().unwrap_or_else(PoisonError::into_inner),
        samples: soak.samples.into_inner().unwrap_or_else(PoisonError::into_inner),
    }
}

impl Soak<'_> {
    /// One life after another, in every thread with seeds of its own.
    fn live(&self, thread: u64) {
        let place = &self.places[thread as usize];
        for life in (thread..).step_by(self.options.threads as usize) {
            let (began, mut tally) = (Instant::now(), Tally::default());
            place.resting.store(false, Ordering::Relaxed);
            let result = self.live_once(life, place, &mut tally);
            place.resting.store(true, Ordering::Relaxed);
            lock(&self.tally).add(&tally);
            if self.is_quiet() {
                lock(&self.samples).add(Sample::take(self.begun.load(Ordering::Relaxed)));
            }
            if let Err(difference) = result {
                lock(&self.difference).get_or_insert(difference);
                self.over.store(true, Ordering::Relaxed);
            }
            if self.is_over() {
                break;
            }
            if thread > 0 {
                self.rest(began.elapsed());
            }
        }
    }

    /// Whether no thread has an app.
    fn is_quiet(&self) -> bool {
        self.places.iter().all(|place| place.resting.load(Ordering::Relaxed))
    }

    fn live_once(&self, number: u64, place: &Place, tally: &mut Tally) -> Result<(), Difference> {
        let Options { seed, life, rows, plant, leak, .. } = self.options;
        let mut life = Life::new(seed.wrapping_add(number), *life, *rows as usize, &self.options.without());
        place.seed.store(life.seed, Ordering::Relaxed);
        while !life.is_over() && self.begin_frame() {
            place.frame.store(life.frames, Ordering::Relaxed);
            std::hint::black_box(Vec::<u8>::with_capacity(*leak).leak());
            let plants = number == 0 && *plant == Some(life.frames + 1);
            let result = life.frame(plants, tally);
            result.map_err(|what| Difference { seed: life.seed, frame: life.frames, what })?;
        }
        Ok(())
    }

    /// Whether there is to be another frame.
    fn begin_frame(&self) -> bool {
        if self.begun.fetch_add(1, Ordering::Relaxed) >= self.options.frames.unwrap_or(u64::MAX) {
            self.over.store(true, Ordering::Relaxed);
        }
        !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The gang is the first thread's alone meanwhile.
    fn rest(&self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time && !self.is_over() {
            thread::sleep(LOOK.min(time));
        }
    }
}

impl Soak<'_> {
    /// Until all threads are done: shows how far they are, and ends them in time.
    fn watch(&self, is_done: impl Fn() -> bool) {
        let bar = self.bar();
        let mut stalls: Vec<_> = self.places.iter().map(|_| Stall::default()).collect();
        while !is_done() {
            thread::sleep(LOOK);
            let frames = self.begun.load(Ordering::Relaxed);
            let is_late = self.options.time_limit().is_some_and(|limit| self.began.elapsed() >= limit);
            self.over.fetch_or(is_late, Ordering::Relaxed);
            self.show(&bar, frames);
            let mut stalled = self.places.iter().zip(&mut stalls).filter_map(|(place, stall)| stall.look(place));
            if let Some(difference) = stalled.next() {
                bar.finish_and_clear();
                report::difference(self.options, &difference);
                // A thread that hangs cannot be joined.
                std::process::exit(1);
            }
        }
        bar.finish_and_clear();
    }

    /// Shown on a terminal only.
    fn bar(&self) -> ProgressBar {
        let length = self.options.frames.or(self.options.time_limit().map(|limit| limit.as_secs()));
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}").expect("a good template");
        ProgressBar::new(length.unwrap_or(0)).with_style(style)
    }

    fn show(&self, bar: &ProgressBar, frames: u64) {
        let (done, unit) = match self.options.frames {
            Some(limit) => (frames.min(limit), "frames"),
            None => (self.began.elapsed().as_secs(), "seconds"),
        };
        bar.set_position(done);
        bar.set_message(format!("{unit}, {frames} frames, {} MiB", memory::resident().unwrap_or(0) / 1_024));
    }
}

/// How often a thread was seen in the same frame. Not for how long: the whole process may have been
/// stopped meanwhile.
#[derive(Default)]
struct Stall {
    place: (u64, u64),
    looks: u32,
}

impl Stall {
    fn look(&mut self, place: &Place) -> Option<Difference> {
        let (seed, frame) = (place.seed.load(Ordering::Relaxed), place.frame.load(Ordering::Relaxed));
        if self.place != (seed, frame) || place.resting.load(Ordering::Relaxed) {
            *self = Self { place: (seed, frame), looks: 0 };
        }
        self.looks += 1;
        let what = || format!("no end for {:?}: it hangs", LOOK * PATIENCE);
        (self.looks >= PATIENCE).then(|| Difference { seed, frame: frame + 1, what: what() })
    }
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
