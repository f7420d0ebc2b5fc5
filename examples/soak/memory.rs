//! Whether memory stays flat.

use crate::heap;

/// Memory of this process that is in RAM, in KiB; none where the system has no such file.
pub fn resident() -> Option<u64> {
    field("VmRSS:")
}

/// Threads of this process.
pub fn threads() -> Option<u64> {
    field("Threads:")
}

fn field(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// What the heap may grow by, in KiB: what the process keeps for good (names, caches, buffers that
/// stay as long as they ever were) is still filling up.
const HEAP_SLACK: u64 = 512;

/// What resident memory may grow by, in KiB. An allocator hands back whole pages only, of an arena
/// for each thread: equal runs end with 16 to 27 MiB, with the same heap to the byte. So this finds
/// what the heap does not count: mappings and stacks that stay.
const RESIDENT_SLACK: u64 = 16 * 1_024;

/// Fewer frames tell nothing: what is made once is still being made.
const LEAST_FRAMES: u64 = 5_000;

/// Samples are thinned out when there are more.
const MOST_SAMPLES: usize = 1 << 14;

/// How much memory there was after so many frames, in KiB, when no app was alive.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub frames: u64,
    /// Asked for and not given back.
    pub heap: u64,
    /// In RAM; 0 where the system does not tell.
    pub resident: u64,
}

impl Sample {
    /// Hands back to the system what is free, and looks.
    pub fn take(frames: u64) -> Self {
        heap::trim();
        Self { frames, heap: heap::in_use(), resident: resident().unwrap_or(0) }
    }
}

#[derive(Debug, Default)]
pub struct Samples(Vec<Sample>);

/// The least memory of the second quarter of all frames and of the last one, in KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    pub heap: [u64; 2],
    pub resident: [u64; 2],
}

impl Growth {
    pub fn is_flat(&self) -> bool {
        let ([heap, late_heap], [resident, late_resident]) = (self.heap, self.resident);
        late_heap <= heap + HEAP_SLACK && late_resident <= resident + RESIDENT_SLACK
    }
}

impl Samples {
    pub fn add(&mut self, sample: Sample) {
        self.0.push(sample);
        if self.0.len() > MOST_SAMPLES {
            self.thin_out();
        }
    }

    /// Keeps the lesser one of each two neighbours.
    fn thin_out(&mut self) {
        let least = |pair: &[Sample]| Sample {
            frames: pair[0].frames,
            heap: pair.iter().map(|sample| sample.heap).min().unwrap_or(0),
            resident: pair.iter().map(|sample| sample.resident).min().unwrap_or(0),
        };
        self.0 = self.0.chunks(2).map(least).collect();
    }

    /// None after too few frames, or too few apps.
    pub fn growth(&self) -> Option<Growth> {
        let end = self.0.last()?.frames;
        let (early, late) = (self.least(end / 4, end / 2)?, self.least(end / 4 * 3, end)?);
        let growth = Growth { heap: [early.heap, late.heap], resident: [early.resident, late.resident] };
        (end >= LEAST_FRAMES).then_some(growth)
    }

    /// The least between these frames.
    fn least(&self, from: u64, to: u64) -> Option<Sample> {
        let samples = self.0.iter().filter(|sample| (from..=to).contains(&sample.frames));
        samples.copied().reduce(|least, sample| Sample {
            frames: least.frames,
            heap: least.heap.min(sample.heap),
            resident: least.resident.min(sample.resident),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of a run that finds others at work now and then, and that loses so many bytes a
    /// frame.
    fn run(frames: u64, lost: u64) -> Option<Growth> {
        let mut samples = Samples::default();
        for frame in (0..=frames).step_by(50) {
            let worlds = frame.wrapping_mul(0x9E37_79B9) % 50_000;
            let heap = 2_000 + worlds + frame * lost / 1_024;
            samples.add(Sample { frames: frame, heap, resident: 30_000 + heap });
        }
        samples.growth()
    }

    #[test]
    fn a_hundred_bytes_a_frame_are_found() {
        assert!(run(100_000, 100).is_some_and(|growth| !growth.is_flat()));
        assert!(run(1_000_000, 10).is_some_and(|growth| !growth.is_flat()));
    }

    #[test]
    fn worlds_that_come_and_go_are_no_growth() {
        for frames in [10_000, 100_000, 1_000_000] {
            assert!(run(frames, 0).is_some_and(|growth| growth.is_flat()));
        }
        assert_eq!(run(4_000, 100), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_tells() {
        assert!(resident().is_some_and(|kib| kib > 100));
        assert!(threads().is_some_and(|threads| threads >= 1));
        assert!(crate::heap::in_use() > 0);
    }
}
