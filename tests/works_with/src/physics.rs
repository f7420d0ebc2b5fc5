//! avian: a box of balls in a whirlwind. One system sets the force on each before physics, one
//! warms them by their speed after it.

use avian2d::prelude::*;
use bevy::prelude::*;
use bevy_affinity::prelude::*;

use crate::{Id, Scenario, Way, finish, hash};

const BALLS: u32 = 1_500;
const PER_ROW: u32 = 50;
const RADIUS: f32 = 0.4;
/// Half of the sides of the box, and the thickness of its walls.
const HALF: f32 = 30.0;
const WALL: f32 = 4.0;

/// What a ball has gained from its speed: read and written by our system alone.
#[derive(Component, Default)]
struct Heat(f32);

pub struct Physics(App);

impl Scenario for Physics {
    const NAME: &str = "avian2d";

    fn new(way: Way) -> Self {
        let mut app = way.app();
        app.add_plugins((TransformPlugin, PhysicsPlugins::default())).add_systems(Startup, spawn);
        match way {
            Way::Plain => app
                .add_systems(FixedUpdate, plain_blow)
                .add_systems(FixedPostUpdate, plain_warm.after(PhysicsSystems::Last)),
            Way::Tagged(_) => app
                .add_systems(FixedUpdate, tagged_blow.affine())
                .add_systems(FixedPostUpdate, tagged_warm.affine().after(PhysicsSystems::Last)),
        };
        finish(&mut app);
        Self(app)
    }

    fn frame(&mut self) {
        self.0.update();
    }

    fn state_hash(&mut self) -> u64 {
        type Ball =
            (&'static Position, &'static Rotation, &'static LinearVelocity, &'static AngularVelocity, &'static Heat);
        hash::of_entities::<Ball, 8>(&mut self.0, |(position, rotation, velocity, spin, heat)| {
            let [x, y] = hash::bits(position.0);
            let [u, v] = hash::bits(velocity.0);
            let [cos, sin, spin, heat] = [rotation.cos, rotation.sin, spin.0, heat.0].map(f32::to_bits);
            [x, y, u, v, cos, sin, spin, heat]
        })
    }

    fn apps(&self) -> Vec<&App> {
        vec![&self.0]
    }
}

fn spawn(mut commands: Commands) {
    for (x, y) in [(0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0)] {
        let middle = Vec3::new(x, y, 0.0) * (HALF + WALL / 2.0);
        let wall = Collider::rectangle(WALL + 2.0 * HALF * f32::abs(y), WALL + 2.0 * HALF * f32::abs(x));
        commands.spawn((RigidBody::Static, wall, Transform::from_translation(middle)));
    }
    commands.spawn_batch((0..BALLS).map(|index| {
        let cell = Vec2::new((index % PER_ROW) as f32, (index / PER_ROW) as f32);
        let place = (cell - Vec2::new(PER_ROW as f32, BALLS as f32 / PER_ROW as f32) / 2.0) * (2.2 * RADIUS);
        let velocity = LinearVelocity(Vec2::new(0.1 * (index % 7) as f32, -0.1 * (index % 5) as f32));
        let ball = (RigidBody::Dynamic, Collider::circle(RADIUS), Transform::from_translation(place.extend(0.0)));
        (Id(index), ball, velocity, ConstantForce::default(), Heat::default())
    }));
}

/// Around the middle, towards it, and with gusts: some work for each ball.
fn wind(position: Vec2, velocity: Vec2) -> Vec2 {
    let gusts = (1..=8).map(|octave| (position * octave as f32 * 0.1).x.sin() / octave as f32).sum::<f32>();
    position.perp() * (0.3 + 0.1 * gusts) - position * 0.2 - velocity * 0.05
}

fn plain_blow(mut balls: Query<(&Position, &LinearVelocity, &mut ConstantForce)>) {
    balls.par_iter_mut().for_each(|(position, velocity, mut force)| force.0 = wind(position.0, velocity.0));
}

fn tagged_blow(mut balls: AffineQuery<(&Position, &LinearVelocity, &mut ConstantForce)>) {
    balls.par_iter_mut().for_each(|(position, velocity, mut force)| force.0 = wind(position.0, velocity.0));
}

fn warmed(heat: f32, velocity: Vec2) -> f32 {
    heat * 0.99 + velocity.length_squared()
}

fn plain_warm(mut balls: Query<(&LinearVelocity, &mut Heat)>) {
    balls.par_iter_mut().for_each(|(velocity, mut heat)| heat.0 = warmed(heat.0, velocity.0));
}

fn tagged_warm(mut balls: AffineQuery<(&LinearVelocity, &mut Heat)>) {
    balls.par_iter_mut().for_each(|(velocity, mut heat)| heat.0 = warmed(heat.0, velocity.0));
}
