//! `map_reduce` and `fold_reduce` give the same bits in every mode and with every number of
//! workers.

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use proptest::prelude::*;

#[derive(Component)]
struct Mass(f32);

/// Puts a second half of the rows into a table of its own.
#[derive(Component)]
struct Heavy;

#[derive(Resource, Default)]
struct Total(f32);

/// Those above zero, in the order of rows.
#[derive(Resource, Default)]
struct Positive(Vec<u32>);

fn weigh(masses: AffineQuery<&Mass>, mut total: ResMut<Total>) {
    total.0 = masses.par_iter().map_reduce(|| 0.0, |mass| mass.0, |left, right| left + right);
}

fn collect(masses: AffineQuery<&Mass>, mut positive: ResMut<Positive>) {
    positive.0 = masses.par_iter().fold_reduce(
        Vec::new,
        |positive, mass| positive.extend(Some(mass.0.to_bits()).filter(|_| mass.0 > 0.0)),
        |mut first, mut second| {
            first.append(&mut second);
            first
        },
    );
}

/// The bits of the sum in three frames, between which the last rows go, and those above zero.
fn totals(mode: SchedulerMode, workers: usize, masses: &[f32]) -> [(u32, Vec<u32>); 3] {
    let mut app = App::new();
    app.insert_resource(AffinitySettings { workers: WorkerCount::Exactly(workers), ..default() })
        .insert_resource(mode)
        .init_resource::<Total>()
        .init_resource::<Positive>()
        .add_plugins((bevy::app::TaskPoolPlugin::default(), AffinityParallelPlugin))
        .add_systems(Update, (weigh, collect).affine());
    let half = masses.len() / 2;
    let mut entities: Vec<_> = masses[..half].iter().map(|&mass| app.world_mut().spawn(Mass(mass)).id()).collect();
    entities.extend(masses[half..].iter().map(|&mass| app.world_mut().spawn((Mass(mass), Heavy)).id()));
    std::array::from_fn(|_| {
        app.update();
        let positive = std::mem::take(&mut app.world_mut().resource_mut::<Positive>().0);
        // Rows stay in the order in which they were spawned.
        let expected = masses[..entities.len()].iter().filter(|&&mass| mass > 0.0);
        assert!(positive.iter().eq(expected.map(|mass| mass.to_bits()).collect::<Vec<_>>().iter()));
        entities.drain(entities.len() - entities.len() / 5..).for_each(|entity| {
            app.world_mut().despawn(entity);
        });
        (app.world().resource::<Total>().0.to_bits(), positive)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 16))]

    #[test]
    fn the_same_bits_everywhere(masses in prop::collection::vec(-1e6f32..1e6, 0..30_000)) {
        let serial = totals(SchedulerMode::Serial, 1, &masses);
        prop_assert_eq!(&totals(SchedulerMode::Bevy, 2, &masses), &serial);
        for workers in 1..=4 {
            prop_assert_eq!(&totals(SchedulerMode::LockStep, workers, &masses), &serial);
            prop_assert_eq!(&totals(SchedulerMode::Heartbeat, workers, &masses), &serial);
        }
    }
}

#[test]
fn nothing_gives_the_identity() {
    assert_eq!(totals(SchedulerMode::LockStep, 2, &[]), [(); 3].map(|()| (0.0f32.to_bits(), Vec::new())));
}
