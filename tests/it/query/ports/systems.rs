// The shapes of Bevy's example `ecs/parallel_query` and of `bevy_ecs`' iteration benches. `Query`
// is Bevy's or ours: that is all that differs.

use bevy::{
    ecs::batching::BatchingStrategy,
    math::{Mat4, Vec2},
    prelude::{Has, Mut, Or, Ref, Result, With, Without},
};

use super::components::{Data, Fragment, Matrix, Place, Rotation, Sparse, Velocity};

/// Half the width and height of the window that sprites stay in.
const WINDOW: Vec2 = Vec2::new(120.0, 90.0);

pub fn move_sprites(mut sprites: Query<(&mut Place, &Velocity)>) {
    sprites.par_iter_mut().for_each(|(mut place, velocity)| place.0 += velocity.0.extend(0.0));
}

pub fn bounce_sprites(mut sprites: Query<(&Place, &mut Velocity)>) {
    // A batch is worth more than its task here.
    sprites.par_iter_mut().batching_strategy(BatchingStrategy::fixed(32)).for_each(|(place, mut velocity)| {
        if place.0.x.abs() > WINDOW.x || place.0.y.abs() > WINDOW.y {
            velocity.0 = -velocity.0;
        }
    });
}

pub fn simple(mut query: Query<(&Velocity, &mut Place)>) {
    query.iter_mut().for_each(|(velocity, mut place)| place.0 += velocity.0.extend(0.0));
}

pub fn simple_loop(mut query: Query<(&Velocity, &mut Place)>) {
    for (velocity, mut place) in &mut query {
        place.0 += velocity.0.extend(0.0);
    }
}

pub fn simple_parallel(mut query: Query<(&Velocity, &mut Place), Without<Sparse>>) {
    query.par_iter_mut().for_each(|(velocity, mut place)| place.0 += velocity.0.extend(0.0));
}

pub fn simple_contiguous(mut query: Query<(&Velocity, &mut Place)>) -> Result {
    query.contiguous_par_iter_mut()?.for_each(|(velocities, mut places)| {
        for (velocity, place) in velocities.iter().zip(places.iter_mut()) {
            place.0 += velocity.0.extend(0.0);
        }
    });
    Ok(())
}

pub fn sparse(mut query: Query<(&Velocity, &mut Sparse)>) {
    query.par_iter_mut().for_each(|(velocity, mut sparse)| sparse.0 += velocity.0.x);
}

pub fn wide(mut query: Query<(&mut Place, &mut Rotation, &mut Velocity, &mut Data, &Matrix)>) {
    query.par_iter_mut().for_each(|(mut place, mut rotation, mut velocity, mut data, matrix)| {
        place.0 = matrix.0.transform_point3(place.0);
        rotation.0 = matrix.0.transform_vector3(rotation.0);
        velocity.0 *= 0.99;
        data.0 += place.0.x;
    });
}

type InSomeTables = Or<(With<Fragment<0>>, With<Fragment<2>>)>;

pub fn fragmented(mut query: Query<&mut Data, InSomeTables>) {
    query.iter_mut().for_each(|mut data| data.0 *= 2.0);
}

pub fn fragmented_parallel(mut query: Query<(&mut Data, Has<Fragment<1>>)>) {
    query.par_iter_mut().for_each(|(mut data, is_marked)| data.0 *= if is_marked { 3.0 } else { 2.0 });
}

pub fn heavy(mut query: Query<(&mut Place, &mut Matrix)>) {
    query.par_iter_mut().for_each(|(mut place, mut matrix)| {
        for _ in 0..20 {
            matrix.0 = matrix.0.inverse();
        }
        place.0 = matrix.0.transform_vector3(place.0);
    });
}

pub fn heavy_with_scratch(mut query: Query<(&mut Data, &Matrix)>) {
    query.par_iter_mut().for_each_init(Vec::new, |scratch: &mut Vec<Mat4>, (mut data, matrix): (Mut<Data>, &Matrix)| {
        scratch.clear();
        scratch.extend((0..8).map(|turn| matrix.0 * Mat4::from_rotation_z(turn as f32)));
        data.0 += scratch.iter().map(|matrix| matrix.determinant()).sum::<f32>();
    });
}

/// In one table: in which order several are visited depends on what else is in the world.
type InOneTable = (With<Fragment<2>>, Without<Fragment<0>>);

pub fn pairs(mut query: Query<(Ref<Place>, &mut Data), InOneTable>) {
    let mut pairs = query.iter_combinations_mut();
    let mut most = 5000;
    while let Some([(a, mut near), (b, mut far)]) = pairs.fetch_next() {
        let distance = a.0.distance(b.0);
        near.0 += distance;
        far.0 -= distance;
        most -= 1;
        if most == 0 {
            break;
        }
    }
}
