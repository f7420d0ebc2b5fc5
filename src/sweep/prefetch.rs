//! Rows that are visited here and there are asked for some visits ahead: a processor sees a pattern
//! only in rows that follow each other.

use bevy_ecs::{
    component::ComponentId,
    storage::{TableId, TableRow},
};
use nonmax::NonMaxU32;
use smallvec::SmallVec;

use super::rows::Rows;
use crate::placement::Storage;

/// Bytes of a cache line.
const LINE: usize = 64;

/// The most lines of one component that are asked for: of larger ones a visit seldom needs all, and
/// a first-level cache has 500 to 800.
const MOST_LINES: usize = 16;

/// Bytes of a row that is worth asking for. Of smaller ones a processor that works ahead has
/// several under way by itself, and asking for one and looking ahead takes 1 to 2 ns.
const WORTH_ASKING: usize = 128;

/// Bytes of the rows of a table that are worth asking for. Fewer are in the second-level caches of
/// today's cores after one sweep, from where a row comes sooner than it takes to ask for it.
const BEYOND_CACHES: usize = 1 << 20;

/// The most tables among which the largest is looked for.
const FEW_TABLES: usize = 64;

/// Where one table has what a query visits.
pub(crate) struct Columns(SmallVec<[Column; 8]>);

struct Column {
    /// Where its first row is; never read here.
    start: *const u8,
    /// Bytes of a row.
    size: usize,
}

impl Columns {
    /// Those of the largest of few tables, which mostly has nearly all rows.
    pub(crate) fn of_most_rows(rows: &Rows<'_, '_>) -> Option<(Storage, Self)> {
        let sizes = rows.matched.components.iter().filter_map(|&component| size_of(rows, component));
        // Counting the rows of a thousand tables takes longer than many a call.
        if sizes.sum::<usize>() < WORTH_ASKING || rows.matched.storages.len() > FEW_TABLES {
            return None;
        }
        let largest = rows.storages().max_by_key(|&storage| rows.count(storage))?;
        Some((largest, Self::worth_asking_for(rows, largest)?))
    }

    /// Those of a table with many large rows; `None` of other storages, whose rows are not worth
    /// asking for or are not found by their number, and where processors cannot be asked.
    pub(super) fn worth_asking_for(rows: &Rows<'_, '_>, storage: Storage) -> Option<Self> {
        let Storage::Table(table) = storage else { return None };
        let table = rows.table(TableId::from_u32(table)).filter(|table| CAN_ASK && !table.is_empty())?;
        let first = TableRow::new(NonMaxU32::ZERO);
        let column = |&component: &ComponentId| {
            let size = size_of(rows, component).filter(|&size| size > 0)?;
            // SAFETY: there is a first row. Its address is taken, and nothing read.
            let start = unsafe { table.get_component(component, first) }?.as_ptr();
            Some(Column { start, size })
        };
        // Before the list is made, which may take room: it is asked for each range of rows.
        let columns = || rows.matched.components.iter().filter_map(column);
        let row = columns().map(|column| column.size).sum::<usize>();
        let rows = table.entity_count() as usize;
        (row >= WORTH_ASKING && row * rows > BEYOND_CACHES).then(|| Self(columns().collect()))
    }

    /// Asks for the components of `row`.
    #[inline(always)]
    pub(crate) fn ask_for(&self, row: usize) {
        for &Column { start, size } in &self.0 {
            let row = start.wrapping_add(row * size);
            for line in 0..size.div_ceil(LINE).min(MOST_LINES) {
                ask_for_line(row.wrapping_add(line * LINE));
            }
            // A row may begin within a line.
            ask_for_line(row.wrapping_add(size - 1));
        }
    }
}

fn size_of(rows: &Rows<'_, '_>, component: ComponentId) -> Option<usize> {
    Some(rows.world.components().get_info(component)?.layout().size())
}

const CAN_ASK: bool = cfg!(target_arch = "x86_64");

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask_for_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which has no effect on any address but for time.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Elsewhere stable Rust has no such hint.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ask_for_line(_address: *const u8) {}
