// What all shaders of numbered squares have in common.

#define_import_path traffic::quads

#import bevy_sprite::{mesh2d_functions, mesh2d_view_bindings::view}
#ifdef SRGB_OUTPUT
#import bevy_render::color_operations::linear_to_srgb
#endif
#ifdef OKLAB_OUTPUT
#import bevy_render::color_operations::linear_rgb_to_oklab
#endif

const LANE_WIDTH: f32 = 3.4;

struct Vertex {
    @builtin(instance_index) instance: u32,
    // A corner of the square, and the square's number.
    @location(0) position: vec3<f32>,
}

// The square's number among all of its kind.
fn number_of(vertex: Vertex) -> u32 {
    return mesh2d_functions::get_tag(vertex.instance) + u32(vertex.position.z);
}

fn metres_per_pixel() -> f32 {
    return 2.0 / (view.clip_from_view[0][0] * view.viewport.z);
}

// A colour as the screen wants it.
fn encoded(colour: vec4<f32>) -> vec4<f32> {
#ifdef SRGB_OUTPUT
    return vec4(linear_to_srgb(colour.rgb), colour.a);
#else ifdef OKLAB_OUTPUT
    return vec4(linear_rgb_to_oklab(colour.rgb), colour.a);
#else
    return colour;
#endif
}
