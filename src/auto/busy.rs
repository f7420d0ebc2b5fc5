//! For how long all workers together are busy in a call: what one thread takes at most.

/// What was seen of that in the calls of one place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Busy {
    /// In nanoseconds, smoothed, for this many rows; 0 before the first call that told.
    time: f32,
    rows: u64,
}

impl Busy {
    pub(super) fn is_known(&self) -> bool {
        self.time > 0.0
    }

    /// With `rows` rows, in nanoseconds; 0 if it is not known.
    pub(super) fn of(&self, rows: u64) -> f32 {
        self.time * (rows as f32 / self.rows.max(1) as f32)
    }

    /// Learns for how many nanoseconds all together were busy with `rows` rows. A time that is far
    /// too long, since one of them lost its core, counts as twice the usual one.
    pub(super) fn observe(&mut self, rows: u64, nanoseconds: u64) {
        let (now, before) = (nanoseconds as f32, self.of(rows));
        self.time = if before > 0.0 { before + (now.min(before * 2.0) - before) / 4.0 } else { now };
        self.rows = rows;
    }
}
