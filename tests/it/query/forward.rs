//! The methods of `Query` that take it mutably or by value, on an `AffineQuery`.

use bevy::{
    ecs::{
        batching::BatchingStrategy,
        entity::{EntityHashSet, UniqueEntityArray},
        system::QueryLens,
    },
    prelude::*,
};
use bevy_affinity::prelude::*;

use crate::common::Scheduling;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Score(u32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Bonus(u32);
#[derive(Component)]
struct Captain;

/// By score.
#[derive(Resource)]
struct Players(Vec<Entity>);

/// The scores of ten players, 0 to 9 at first, after one run of `system`. Each has a bonus of 10,
/// and the first one is the captain.
fn scores_after<M>(system: impl IntoAffine<M>) -> Vec<u32> {
    let mut app = Scheduling::lock_step(2).app();
    let world = app.world_mut();
    let players: Vec<_> = (0..10).map(|score| world.spawn((Score(score), Bonus(10))).id()).collect();
    world.entity_mut(players[0]).insert(Captain);
    world.insert_resource(Players(players.clone()));
    app.add_systems(Update, system.affine()).update();
    players.into_iter().map(|player| app.world().get::<Score>(player).unwrap().0).collect()
}

/// The scores if those of `changed` are as given and the others as at first.
fn scores(changed: &[(usize, u32)]) -> Vec<u32> {
    let mut scores: Vec<_> = (0..10).collect();
    changed.iter().for_each(|&(player, score)| scores[player] = score);
    scores
}

fn all_plus(bonus: u32) -> Vec<u32> {
    (0..10).map(|score| score + bonus).collect()
}

#[test]
fn loops() {
    fn by_loop(mut players: AffineQuery<(&mut Score, &Bonus)>) {
        for (mut score, bonus) in &mut players {
            score.0 += bonus.0;
        }
    }
    fn by_iter_mut(mut players: AffineQuery<(&mut Score, &Bonus)>) {
        players.iter_mut().for_each(|(mut score, bonus)| score.0 += bonus.0);
    }
    fn by_iter_inner(players: AffineQuery<(&mut Score, &Bonus)>) {
        players.iter_inner().for_each(|(mut score, bonus)| score.0 += bonus.0);
    }
    fn by_value(players: AffineQuery<(&mut Score, &Bonus)>) {
        for (mut score, bonus) in players {
            score.0 += bonus.0;
        }
    }
    fn by_run(mut players: AffineQuery<(&mut Score, &Bonus)>) -> Result {
        for (mut scores, bonuses) in players.contiguous_iter_mut()? {
            scores.iter_mut().zip(bonuses).for_each(|(score, bonus)| score.0 += bonus.0);
        }
        Ok(())
    }
    fn by_batches(mut players: AffineQuery<(&mut Score, &Bonus)>) {
        let batches = players.par_iter_mut().batching_strategy(BatchingStrategy::fixed(3));
        batches.for_each(|(mut score, bonus)| score.0 += bonus.0);
    }
    assert_eq!(scores_after(by_loop), all_plus(10));
    assert_eq!(scores_after(by_iter_mut), all_plus(10));
    assert_eq!(scores_after(by_iter_inner), all_plus(10));
    assert_eq!(scores_after(by_value), all_plus(10));
    assert_eq!(scores_after(by_run), all_plus(10));
    assert_eq!(scores_after(by_batches), all_plus(10));
}

#[test]
fn combinations() {
    fn by_reference(mut players: AffineQuery<&mut Score>) {
        let mut pairs = players.iter_combinations_mut::<2>();
        while let Some([mut first, mut second]) = pairs.fetch_next() {
            first.0 += 1;
            second.0 += 1;
        }
    }
    fn by_value(players: AffineQuery<&mut Score>) {
        let mut pairs = players.iter_combinations_inner();
        while let Some([mut first, mut second]) = pairs.fetch_next() {
            first.0 += 1;
            second.0 += 1;
        }
    }
    assert_eq!(scores_after(by_reference), all_plus(9));
    assert_eq!(scores_after(by_value), all_plus(9));
}

#[test]
fn lists_of_entities() {
    fn with_repeats(mut query: AffineQuery<&mut Score>, players: Res<Players>) -> Result {
        let mut named = query.iter_many_mut([players.0[2], players.0[2], players.0[5]]);
        while let Some(score) = named.fetch_next() {
            score?.0 += 100;
        }
        Ok(())
    }
    fn by_value(query: AffineQuery<&mut Score>, players: Res<Players>) -> Result {
        let mut named = query.iter_many_inner([players.0[2], players.0[2], players.0[5]]);
        while let Some(score) = named.fetch_next() {
            score?.0 += 100;
        }
        Ok(())
    }
    assert_eq!(scores_after(with_repeats), scores(&[(2, 202), (5, 105)]));
    assert_eq!(scores_after(by_value), scores(&[(2, 202), (5, 105)]));

    fn unique(mut query: AffineQuery<&mut Score>, players: Res<Players>) -> Result {
        let named = EntityHashSet::from_iter([players.0[1], players.0[8]]);
        for score in query.iter_many_unique_mut(&named) {
            score?.0 += 100;
        }
        for score in query.iter_many_unique_inner(named) {
            score?.0 += 100;
        }
        Ok(())
    }
    assert_eq!(scores_after(unique), scores(&[(1, 201), (8, 208)]));
}

#[test]
fn single_entities() {
    fn get(mut query: AffineQuery<&mut Score>, players: Res<Players>) -> Result {
        query.get_mut(players.0[3])?.0 = 30;
        query.get_inner(players.0[4])?.0 = 40;
        Ok(())
    }
    assert_eq!(scores_after(get), scores(&[(3, 30), (4, 40)]));

    fn get_many(mut query: AffineQuery<&mut Score>, players: Res<Players>) -> Result {
        let (a, b) = (players.0[6], players.0[7]);
        let unique = UniqueEntityArray::from(&[a]);
        query.get_many_mut([a, b])?.into_iter().for_each(|mut score| score.0 += 10);
        query.get_many_unique_mut(unique)?.into_iter().for_each(|mut score| score.0 += 10);
        assert!(query.get_many_mut([a, a]).is_err());
        let read = query.as_readonly().get_many_inner([a, b])?.map(|score| score.0);
        assert_eq!(read, [26, 17]);
        query.reborrow_affine().get_many_unique_inner(unique)?.into_iter().for_each(|mut score| score.0 += 10);
        query.get_many_mut_inner([a, b])?.into_iter().for_each(|mut score| score.0 += 10);
        Ok(())
    }
    assert_eq!(scores_after(get_many), scores(&[(6, 46), (7, 27)]));

    fn single(mut query: AffineQuery<&mut Score, With<Captain>>) -> Result {
        query.single_mut()?.0 += 5;
        query.single_inner()?.0 += 5;
        Ok(())
    }
    assert_eq!(scores_after(single), scores(&[(0, 10)]));
}

#[test]
fn lenses_and_joins() {
    fn raise(mut lens: QueryLens<&mut Score>) {
        lens.query().iter_mut().for_each(|mut score| score.0 += 1);
    }
    fn lenses(mut query: AffineQuery<(&mut Score, &Bonus)>) {
        raise(query.transmute_lens());
        raise(query.transmute_lens_filtered::<&mut Score, ()>().query().as_query_lens());
        raise(query.reborrow_affine().transmute_lens_inner());
        raise(query.reborrow_affine().transmute_lens_filtered_inner());
        query.as_query_lens().query().iter_mut().for_each(|(mut score, _)| score.0 += 1);
        query.into_query_lens().query().iter_mut().for_each(|(mut score, _)| score.0 += 1);
    }
    assert_eq!(scores_after(lenses), all_plus(6));

    fn made_one(mut query: AffineQuery<&mut Score>) {
        raise((&mut query).into());
    }
    assert_eq!(scores_after(made_one), all_plus(1));

    fn joins(mut scores: AffineQuery<&mut Score>, mut bonuses: AffineQuery<&Bonus>, mut captains: Query<&Captain>) {
        let mut both = scores.join::<_, (&mut Score, &Bonus)>(&mut bonuses);
        both.query().iter_mut().for_each(|(mut score, bonus)| score.0 += bonus.0);
        let mut led = scores.join_filtered::<_, _, &mut Score, With<Captain>>(&mut captains);
        led.query().iter_mut().for_each(|mut score| score.0 += 1);
    }
    let mut expected = all_plus(10);
    expected[0] += 1;
    assert_eq!(scores_after(joins), expected);

    fn joins_by_value(mut scores: AffineQuery<&mut Score>, bonuses: AffineQuery<&Bonus>, captains: Query<&Captain>) {
        let mut both = scores.reborrow_affine().join_inner::<_, (&mut Score, &Bonus)>(bonuses);
        both.query().iter_mut().for_each(|(mut score, bonus)| score.0 += bonus.0);
        let mut led = scores.join_filtered_inner::<_, _, &mut Score, With<Captain>>(captains);
        led.query().iter_mut().for_each(|mut score| score.0 += 1);
    }
    assert_eq!(scores_after(joins_by_value), expected);
}

#[test]
fn parallel_forms_by_value() {
    fn forms(mut query: AffineQuery<&mut Score>, players: Res<Players>) -> Result {
        query.reborrow_affine().par_iter_inner().for_each(|mut score| score.0 += 1);
        query.reborrow_affine().contiguous_par_iter_inner()?.for_each(|mut scores| {
            scores.iter_mut().for_each(|score| score.0 += 1);
        });
        let listed: EntityHashSet = players.0[..3].iter().copied().collect();
        query.par_iter_many_unique_mut(listed).for_each(|score| {
            if let Ok(mut score) = score {
                score.0 += 10;
            }
        });
        query.par_iter_inner().for_each(|mut score| score.0 += 1);
        Ok(())
    }
    let mut expected = all_plus(3);
    expected[..3].iter_mut().for_each(|score| *score += 10);
    assert_eq!(scores_after(forms), expected);
}

#[test]
fn other_forms() {
    /// A function that knows nothing of this crate.
    fn raise(mut scores: Query<&mut Score>) {
        scores.iter_mut().for_each(|mut score| score.0 += 1);
    }
    fn sum(scores: AffineQuery<&Score>) -> u32 {
        scores.par_iter().map_reduce(|| 0, |score| score.0, |a, b| a + b)
    }
    fn forms(mut query: AffineQuery<&mut Score>) {
        raise(query.reborrow());
        raise(query.reborrow_affine().into());
        let (first, second) = (query.as_readonly(), query.as_readonly());
        assert_eq!(sum(first) + sum(second), 2 * (45 + 20));
        let copy = first;
        assert_eq!((copy.iter().count(), first.iter().count()), (10, 10));
        assert_eq!(sum(query.reborrow_affine().into_readonly()), 65);
        raise(query.into_inner());
    }
    assert_eq!(scores_after(forms), all_plus(3));
}

/// What runs in parallel from a read-only form stays on the gang.
#[test]
fn read_only_forms_stay_on_the_gang() {
    fn look(query: AffineQuery<&mut Score>) {
        query.as_readonly().par_iter().for_each(|_| {});
    }

    let mut app = Scheduling::lock_step(2).app();
    (0..50_000).for_each(|score| _ = app.world_mut().spawn(Score(score)));
    app.add_systems(Update, look.affine());
    (0..20).for_each(|_| app.update());
    let swept = crate::common::swept_rows(&app);
    assert!(swept.iter().all(|&rows| rows > 0), "{swept:?}");
}
