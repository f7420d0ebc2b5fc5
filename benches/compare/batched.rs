//! Group `batched`: many small calls from one serial program, as the language Dew makes them:
//! 30,000 calls for 100 numbers each, and 1,000 chunks with 30 calls each, of which every one needs
//! what the one before left.

use std::{
    hint::black_box,
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use bevy_affinity::prelude::*;

use crate::ours;
use crate::race::{Pace, Race};
use crate::report::SizeTable;
use crate::setup::Setup;

const CALLS: usize = 30_000;
const CHUNKS: usize = 1_000;
const NUMBERS: usize = 100;

/// Calls with one key whose numbers lie side by side.
const NEIGHBOURS: u64 = 16;

/// Numbers in a table of 4 MiB.
const TABLE_SIZE: u32 = 1 << 20;

/// What a call does to its numbers.
type Work = fn(&mut [u32]);

const WORK: [(&str, Work); 4] =
    [("nothing", nothing), ("increments", increments), ("arithmetic", arithmetic), ("memory", memory)];

/// Turns of some calls of a few milliseconds each.
const PACE: Pace = Pace {
    settle: Duration::from_micros(500),
    turn: Duration::from_millis(20),
    calls: (3, 50),
    budget: Duration::from_secs(15),
};

pub fn run(setup: &Setup) -> Result<(), String> {
    let pool = ours::pool(setup.workers);
    let title = format!("batched calls for {NUMBERS} numbers each, x the same calls one after another");
    let mut table = SizeTable::new(&title);
    for (name, work) in WORK {
        let race = calls(&pool, work, 1).run(setup.rounds)?;
        table.push_program(&format!("{CALLS} calls, {name}"), &race);
    }
    for (name, work) in WORK {
        let race = calls(&pool, work, NEIGHBOURS).run(setup.rounds)?;
        table.push_program(&format!("{CALLS} calls, one key for {NEIGHBOURS}, {name}"), &race);
    }
    for (name, work) in WORK {
        let race = dependent_calls(&pool, work).run(setup.rounds)?;
        table.push_program(&format!("{CHUNKS} chunks, {} calls each, {name}", CALLS / CHUNKS), &race);
    }
    table.print();
    Ok(())
}

/// Each call has numbers of its own, and so many calls one after another have the same key.
fn calls(pool: &AffinityPool, work: Work, neighbours: u64) -> Race<'_, Vec<u32>> {
    let mut race = Race::new(vec![1; CALLS * NUMBERS], |numbers, _| differ(numbers)).at_pace(PACE);
    race.enter_baseline("one after another", move |numbers, turn| {
        turn.repeat(|| numbers.chunks_exact_mut(NUMBERS).for_each(work));
    });
    race.enter("a part each, by `run`", move |numbers, turn| {
        let part = (CALLS / pool.workers() + 1) * NUMBERS;
        turn.repeat(|| {
            let parts: Vec<_> = numbers.chunks_mut(part).map(Mutex::new).collect();
            pool.run(|worker| {
                let mut part = parts.get(worker.index()).map(lock);
                part.iter_mut().for_each(|part| part.chunks_exact_mut(NUMBERS).for_each(work));
            });
        });
    });
    race.enter("`batched`", move |numbers, turn| {
        turn.repeat(|| {
            let chunks = (0..).zip(numbers.chunks_exact_mut(NUMBERS));
            let call_all = |calls: &mut BatchedCalls<_>| {
                chunks.for_each(|(call, numbers): (u64, _)| _ = calls.call(call / neighbours, numbers));
            };
            drop(pool.batched(work, call_all));
        });
    });
    race
}

/// Calls for one chunk follow one another.
fn dependent_calls(pool: &AffinityPool, work: Work) -> Race<'_, Vec<Mutex<[u32; NUMBERS]>>> {
    let chunks: Vec<_> = (0..CHUNKS).map(|_| Mutex::new([1; NUMBERS])).collect();
    let fault = |chunks: &mut Vec<Mutex<[u32; NUMBERS]>>, _| {
        let numbers: Vec<u32> = chunks.iter().flat_map(|chunk| *lock(chunk)).collect();
        differ(&numbers)
    };
    let work = move |chunk: &Mutex<[u32; NUMBERS]>| work(&mut *lock(chunk));
    let mut race = Race::new(chunks, fault).at_pace(PACE);
    race.enter_baseline("one after another", move |chunks, turn| {
        turn.repeat(|| chunks.iter().for_each(|chunk| (0..CALLS / CHUNKS).for_each(|_| work(chunk))));
    });
    race.enter("a part each, by `run`", move |chunks, turn| {
        let part = CHUNKS / pool.workers() + 1;
        let call_all = |chunks: &[_]| chunks.iter().for_each(|chunk| (0..CALLS / CHUNKS).for_each(|_| work(chunk)));
        turn.repeat(|| {
            pool.run(|worker| chunks.chunks(part).nth(worker.index()).map_or((), call_all));
        });
    });
    race.enter("`batched`", move |chunks, turn| {
        let chunks = &*chunks;
        turn.repeat(|| {
            let call_all = |calls: &mut BatchedCalls<_>| {
                for (key, chunk) in (0..).zip(chunks) {
                    (0..CALLS / CHUNKS).for_each(|_| _ = calls.call(key, chunk));
                }
            };
            drop(pool.batched(work, call_all));
        });
    });
    race
}

fn lock<T>(chunk: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    chunk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All chunks began alike and had the same calls.
fn differ(numbers: &[u32]) -> Option<String> {
    let (first, rest) = numbers.split_at(NUMBERS);
    let odd = rest.chunks_exact(NUMBERS).position(|numbers| numbers != first);
    odd.map(|chunk| format!("chunk {} is not like the first", chunk + 1))
}

fn nothing(numbers: &mut [u32]) {
    black_box(numbers);
}

/// Some 200 ns that need no memory but the numbers.
fn arithmetic(numbers: &mut [u32]) {
    for number in numbers {
        for _ in 0..8 {
            *number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223).rotate_left(5);
        }
    }
}

/// Some 25 ns: about what it takes to make a call.
fn increments(numbers: &mut [u32]) {
    numbers.iter_mut().for_each(|number| *number = number.wrapping_add(1));
}

/// A look at a random place of a table for each number, which lies in no first-level cache.
fn memory(numbers: &mut [u32]) {
    static TABLE: LazyLock<Vec<u32>> =
        LazyLock::new(|| (0..TABLE_SIZE).map(|place| place.wrapping_mul(2_654_435_761)).collect());
    let table = &**TABLE;
    for (place, number) in (0_u32..).zip(numbers) {
        let at = number.wrapping_add(place.wrapping_mul(40_503)) % TABLE_SIZE;
        *number = number.wrapping_mul(1_664_525).wrapping_add(table[at as usize]);
    }
}
