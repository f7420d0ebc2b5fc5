//! What intersections tell each other.

/// What one intersection tells another: 16 bytes, since a busy city sends hundreds of thousands of
/// them a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A car has entered the link that ends at the receiver's `approach`.
    Enter { approach: u8, exit: u8, early: u8, car: u32, exit_time: u32, cursor: u32 },
    /// Cars have left the link that begins at the receiver's `exit` in second `at`.
    Freed { exit: u8, count: u32, at: u32 },
}
