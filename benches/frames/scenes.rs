//! Group `scenes`: whole frames of large scenes in which nothing is tagged, of the shapes of Bevy's
//! own stress tests `many_components` and `transform_hierarchy` and of its `bevy_city`: without the
//! plugin, with it, and with [`AffinityTransformPlugin`] too. In a build with feature `game` the
//! plugins for drawing are in them, and a camera that sees part of the scene; there is no GPU.

use std::array;

use bevy::{ecs::world::EntityWorldMut, prelude::*, transform::StaticTransformOptimizations};

use crate::apps::{self, Contest, Fill, default_plugins_without_window};

const CONTESTS: [Contest; 4] = [Contest::Without, Contest::With, Contest::Transforms, Contest::OneThread];

const SCENES: [(&str, Fill); 3] = [("many components", many_components), ("humanoids", humanoids), ("a city", city)];

pub fn run(workers: usize, rounds: u32) -> Result<(), String> {
    apps::run_ratios("Frames of large scenes, nothing tagged", &SCENES, &CONTESTS, workers, rounds)
}

/// The same numbers in each run (Knuth's linear congruential generator).
struct Numbers(u64);

impl Numbers {
    /// One of `0..below`.
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Entities with one to nine of so many components, so that nearly each has a table of its own.
const COMPONENTS: usize = 32;
const ENTITIES: u64 = 10_000;

#[derive(Component)]
struct Value<const N: usize>(u8);

/// Inserts a value of one of the components.
type Insert = fn(&mut EntityWorldMut, u8);

macro_rules! each_component {
    ($($n:literal)*) => {
        const INSERT: [Insert; COMPONENTS] =
            [$(|entity, value| _ = entity.insert(Value::<$n>(value))),*];

        /// Six systems that write to each component and read another one.
        fn add_value_systems(app: &mut App) {
            $(app.add_systems(Update, (
                sum_powers::<$n, { ($n + 1) % COMPONENTS }>,
                sum_powers::<$n, { ($n + 3) % COMPONENTS }>,
                sum_powers::<$n, { ($n + 7) % COMPONENTS }>,
                sum_powers::<$n, { ($n + 12) % COMPONENTS }>,
                sum_powers::<$n, { ($n + 19) % COMPONENTS }>,
                sum_powers::<$n, { ($n + 26) % COMPONENTS }>,
            ));)*
        }
    };
}

each_component!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

/// Takes as long as the values say, as in Bevy's test: some systems longer than others.
fn sum_powers<const A: usize, const B: usize>(mut rows: Query<(&mut Value<A>, &Value<B>)>) {
    for (mut a, b) in &mut rows {
        let first = (0..=a.0).fold(0_u8, u8::wrapping_add);
        a.0 = (0..=b.0).fold(first, |sum, i| sum.wrapping_add(i.wrapping_mul(i)));
    }
}

fn many_components(app: &mut App) {
    app.add_plugins(MinimalPlugins);
    add_value_systems(app);
    let mut numbers = Numbers(42);
    for _ in 0..ENTITIES {
        let mut entity = app.world_mut().spawn_empty();
        for _ in 0..1 + numbers.next(9) {
            INSERT[numbers.next(COMPONENTS as u64) as usize](&mut entity, numbers.next(255) as u8);
        }
    }
}

/// Rigs, of which half move, and the joints of each: a spine of which limbs hang.
const RIGS: u32 = 4_000;
const LIMBS: u32 = 6;
const JOINTS: u32 = 10;

#[derive(Component)]
struct Sways(f32);

fn sway(time: Res<Time>, mut joints: Query<(&mut Transform, &mut Sways)>) {
    for (mut transform, mut sways) in &mut joints {
        sways.0 += time.delta_secs() * 0.1;
        transform.translation = Vec3::new(sways.0.cos(), sways.0.sin(), 0.0) * 32.0;
    }
}

fn humanoids(app: &mut App) {
    default_plugins_without_window(app);
    app.add_systems(Update, sway);
    let world = app.world_mut();
    see(world);
    for rig in 0..RIGS {
        let moves = rig % 2 == 0;
        let mut spawn = |parent: Option<Entity>| {
            let mut joint = world.spawn(part(Transform::default()));
            if let Some(parent) = parent {
                joint.insert(ChildOf(parent));
            }
            if moves {
                joint.insert(Sways(rig as f32));
            }
            joint.id()
        };
        let body = spawn(None);
        for _ in 0..LIMBS {
            (0..JOINTS).fold(body, |above, _| spawn(Some(above)));
        }
    }
}

/// City blocks in each direction, and their size.
const BLOCKS: i16 = 30;
const BLOCK: Vec3 = Vec3::new(5.5, 0.0, 4.0);

/// Places for cars on each of a block's two roads, in both directions; one in so many has a car.
const PLACES: u64 = 18;
const PLACES_A_CAR: u64 = 20;

#[derive(Component)]
struct Road {
    start: Vec3,
    end: Vec3,
}

#[derive(Component)]
struct Car {
    way: f32,
    direction: f32,
}

fn drive(time: Res<Time>, roads: Query<(&Road, &Children)>, mut cars: Query<(&mut Car, &mut Transform)>) {
    for (road, on_it) in &roads {
        let length = (road.end - road.start).length();
        for car in on_it {
            let Ok((mut car, mut transform)) = cars.get_mut(*car) else { continue };
            car.way = (car.way + 1.5 * time.delta_secs()) % length;
            transform.translation = road.start + (road.end - road.start) * car.direction * car.way / length;
        }
    }
}

/// Blocks of ground, roads with cars, and trees or houses, all of two levels of detail below one
/// root. Only cars move, and a parent that has not moved is not looked below.
fn city(app: &mut App) {
    default_plugins_without_window(app);
    app.insert_resource(StaticTransformOptimizations::Enabled).add_systems(Update, drive);
    let world = app.world_mut();
    see(world);
    let city = world.spawn(part(Transform::default())).id();
    let mut numbers = Numbers(42);
    for (x, z) in (0..BLOCKS).flat_map(|x| (0..BLOCKS).map(move |z| (x, z))) {
        let at = BLOCK * Vec3::new(f32::from(x - BLOCKS / 2), 0.0, f32::from(z - BLOCKS / 2));
        // Ground and crossing.
        for y in [0.5, 0.0] {
            world.spawn((part(Transform::from_translation(at + Vec3::Y * y)), ChildOf(city)));
        }
        for along in [Vec3::X, Vec3::Z] {
            road(world, city, at, along, &mut numbers);
        }
        // A forest, or houses of some density with fences and trees.
        for _ in 0..[80, 80, 80, 29, 29, 59, 6][numbers.next(7) as usize] {
            let [x, z] = array::from_fn(|_| numbers.next(400) as f32 / 100.0);
            let thing = Transform::from_translation(at + Vec3::new(x, 0.0, z));
            let thing = world.spawn((part(thing), ChildOf(city))).id();
            details(world, thing);
        }
    }
}

/// A road of the block `at` some place, with its cars.
fn road(world: &mut World, city: Entity, at: Vec3, along: Vec3, numbers: &mut Numbers) {
    let ends = Road { start: along * 0.75, end: along * (BLOCK - Vec3::ONE) };
    let road = world.spawn((part(Transform::from_translation(at)), ends, ChildOf(city))).id();
    world.spawn((part(Transform::default()), ChildOf(road)));
    for place in 0..PLACES {
        if numbers.next(PLACES_A_CAR) == 0 {
            let car = Car { way: place as f32 * 0.25, direction: if place % 2 == 0 { 1.0 } else { -1.0 } };
            let car = (part(Transform::from_scale(Vec3::splat(0.15))), car, ChildOf(road));
            let car = world.spawn(car).id();
            details(world, car);
        }
    }
}

/// What is seen of a thing from near, and from far.
fn details(world: &mut World, thing: Entity) {
    for y in [0.0, 0.3] {
        world.spawn((part(Transform::from_xyz(0.0, y, 0.0)), ChildOf(thing)));
    }
}

/// A part of a scene.
#[cfg(not(feature = "game"))]
fn part(transform: Transform) -> impl Bundle {
    transform
}

#[cfg(not(feature = "game"))]
fn see(_: &mut World) {}

/// A part of a scene that a camera may see.
#[cfg(feature = "game")]
fn part(transform: Transform) -> impl Bundle {
    use bevy::camera::primitives::Aabb;
    (transform, Mesh2d::default(), Aabb::from_min_max(Vec3::splat(-0.5), Vec3::splat(0.5)))
}

#[cfg(feature = "game")]
fn see(world: &mut World) {
    world.spawn((Camera2d, Transform::from_xyz(0.0, 0.0, 100.0)));
}
