//! big_space: stars that circle in a grid of cells far larger than what `f32` can tell apart. One
//! system moves them, and big_space moves them from cell to cell and computes their global
//! transforms.

use bevy::prelude::*;
use bevy_affinity::prelude::*;
use big_space::prelude::*;

use crate::{Id, Scenario, Way, finish, hash};

const STARS: u32 = 10_000;
/// The side of a cell, and how far stars may stray from it before they are moved to the next one.
const CELL: f32 = 100.0;
const STRAY: f32 = 10.0;

/// Metres a frame; a few frames take a star into another cell.
#[derive(Component)]
struct Course(Vec3);

pub struct Space(App);

impl Scenario for Space {
    const NAME: &str = "big_space";

    fn new(way: Way) -> Self {
        let mut app = way.app();
        app.add_plugins(BigSpaceDefaultPlugins).add_systems(Startup, spawn);
        match way {
            Way::Plain => app.add_systems(Update, plain_circle),
            Way::Tagged(_) => app.add_systems(Update, tagged_circle.affine()),
        };
        finish(&mut app);
        Self(app)
    }

    fn frame(&mut self) {
        self.0.update();
    }

    fn state_hash(&mut self) -> u64 {
        type Star = (&'static CellCoord, &'static Transform, &'static GlobalTransform);
        hash::of_entities::<Star, 12>(&mut self.0, |(cell, transform, global)| {
            let halves = |index: i64| [index as u32, (index >> 32) as u32];
            let [[a, b], [c, d], [e, f]] = [cell.x, cell.y, cell.z].map(halves);
            let [x, y, z] = transform.translation.to_array().map(f32::to_bits);
            let [u, v, w] = global.translation().to_array().map(f32::to_bits);
            [a, b, c, d, e, f, x, y, z, u, v, w]
        })
    }

    fn apps(&self) -> Vec<&App> {
        vec![&self.0]
    }
}

fn spawn(mut commands: Commands) {
    commands.spawn_big_space(Grid::new(CELL, STRAY), |root| {
        root.spawn_spatial((FloatingOrigin, CellCoord::new(1 << 40, 0, 0)));
        for index in 0..STARS {
            let [x, y, z] = [index % 20, (index / 20) % 20, index / 400];
            let cell = CellCoord::new((1 << 40) + i64::from(x), i64::from(y), i64::from(z));
            let course = Vec3::new(1.0 + (index % 11) as f32, (index % 5) as f32 - 2.0, (index % 3) as f32);
            root.spawn_spatial((Id(index), cell, Course(course)));
        }
    });
}

fn circle(mut course: Mut<Course>, mut transform: Mut<Transform>) {
    course.0 = Quat::from_rotation_z(0.05) * course.0;
    transform.translation += course.0;
}

fn plain_circle(mut stars: Query<(&mut Course, &mut Transform)>) {
    stars.par_iter_mut().for_each(|(course, transform)| circle(course, transform));
}

fn tagged_circle(mut stars: AffineQuery<(&mut Course, &mut Transform)>) {
    stars.par_iter_mut().for_each(|(course, transform)| circle(course, transform));
}
