//! Schedules of which some runs do more than others: fixed steps fall into some frames only, say.

use super::*;

/// What `runs` runs take, x the better way, where dear runs take 3.5 times as long as light ones
/// and Bevy's threads `times` times as long as one. All are off by up to 2%.
fn took(times: f32, runs: u64, is_dear: impl Fn(u64) -> bool) -> f64 {
    let mut race = Race::new();
    let (mut spent, mut by_way) = (0.0, [0.0; 2]);
    for run in 0..runs {
        let one_thread = if is_dear(run) { 1_900_000.0 } else { 550_000.0 };
        let takes = [one_thread, one_thread * times];
        let WayDecision { way, timed, lesson, .. } = race.choose();
        if lesson && race.end_lesson(one_thread as u64) {
            race.plan(None);
        }
        let off = 0.98 + 0.04 * (mixed(7 * run + 1) % 1_000) as f32 / 1_000.0;
        let took = takes[way as usize] * off;
        if timed {
            race.observe(TimedRun { nanoseconds: took as u64, work: None }, || 2);
        }
        spent += f64::from(took);
        by_way.iter_mut().zip(takes).for_each(|(all, takes)| *all += f64::from(takes));
    }
    spent / by_way[0].min(by_way[1])
}

const TIMES: [f32; 5] = [0.6, 0.8, 1.25, 1.5, 1.9];

#[test]
fn dear_runs_at_a_fixed_distance_do_not_mislead() {
    for times in TIMES {
        for period in 2..17 {
            for dear in (1..period).take(3) {
                let took = took(times, 30_000, |run| run % period < dear);
                assert!(took < 1.05, "{dear} of {period}, {times}: {took}");
            }
        }
    }
}

/// 64 steps a second in 144 frames, and 20 in 60 that are not quite even.
#[test]
fn fixed_steps_in_some_frames_do_not_mislead() {
    let step_at = |run: u64| (16_667 * run + mixed(run) % 3_000) / 50_000;
    for times in TIMES {
        let took_144 = took(times, 30_000, |run| run * 64 / 144 != (run + 1) * 64 / 144);
        let took_60 = took(times, 30_000, |run| step_at(run) != step_at(run + 1));
        assert!(took_144 < 1.05 && took_60 < 1.05, "{times}: {took_144}, {took_60}");
    }
}

#[test]
fn dear_runs_by_chance_do_not_mislead() {
    for times in TIMES {
        for one_in in [2, 3, 5] {
            let took = took(times, 30_000, |run| mixed(run).is_multiple_of(one_in));
            assert!(took < 1.05, "one in {one_in}, {times}: {took}");
        }
    }
}

#[test]
fn far_heavier_runs_count_also_where_one_comes_in_ten_seconds() {
    let takes = [(300_000, 200_000_000), (400_000, 50_000_000)];
    for period in [100, 300, 600] {
        let (slower, ..) = run_bursts(&mut Race::new(), takes, 20_000, |run| run % period == period / 2);
        assert!(slower < 0.01, "every {period}: {slower}");
    }
}
