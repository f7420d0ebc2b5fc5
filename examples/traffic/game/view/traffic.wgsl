// Cars and the bars of signals, each a square that is stretched and turned.

#import bevy_sprite::mesh2d_view_bindings::view
#import traffic::quads::{LANE_WIDTH, Vertex, encoded, metres_per_pixel, number_of}

// Where it comes from and where it goes, both headings, and what it looks like.
@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<storage, read> glyphs: array<vec4<u32>>;
// The centre of the coordinates, metres from there to their ends, and how much of the step has passed.
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var<uniform> scene: vec4<f32>;

const CAR: u32 = 1u;
const SIGNAL: u32 = 2u;
const TURN: f32 = 6.2831853;
// Metres, half of it.
const CAR_SIZE = vec2<f32>(2.25, 0.95);
// Pixels, half of it: smaller cars would flicker.
const LEAST_SIZE = vec2<f32>(1.1, 0.75);

struct Fragment {
    @builtin(position) position: vec4<f32>,
    // Metres from the middle: ahead, and to the left.
    @location(0) place: vec2<f32>,
    @location(1) @interpolate(flat) half_size: vec2<f32>,
    @location(2) @interpolate(flat) look: u32,
}

fn kind(look: u32) -> u32 {
    return look & 0xFFu;
}

fn byte(look: u32, number: u32) -> u32 {
    return look >> (number * 8u) & 0xFFu;
}

// The short way round, and no faster than the car moves.
fn heading(turns: u32, progress: f32) -> f32 {
    let start = i32(turns & 0xFFFFu);
    let change = extractBits(i32(turns >> 16u) - start, 0u, 16u);
    return (f32(start) + f32(change) * smoothstep(0.0, 1.0, progress)) / 65536.0 * TURN;
}

fn size(look: u32, pixel: f32) -> vec2<f32> {
    if kind(look) == SIGNAL {
        let lanes = f32(byte(look, 2u));
        return vec2(max(0.45, pixel), max(lanes * LANE_WIDTH / 2.0 - 0.4, pixel));
    }
    return max(CAR_SIZE, LEAST_SIZE * pixel);
}

@vertex
fn vertex(vertex: Vertex) -> Fragment {
    var out: Fragment;
    let number = number_of(vertex);
    if number >= arrayLength(&glyphs) {
        return out;
    }
    let glyph = glyphs[number];
    if kind(glyph.w) == 0u {
        return out;
    }
    let pixel = metres_per_pixel();
    let progress = scene.w;
    let position = mix(unpack2x16snorm(glyph.x), unpack2x16snorm(glyph.y), progress) * scene.z + scene.xy;
    let angle = heading(glyph.z, progress);
    let ahead = vec2(cos(angle), sin(angle));
    let left = vec2(-ahead.y, ahead.x);
    out.look = glyph.w;
    out.half_size = size(glyph.w, pixel);
    out.place = vertex.position.xy * (out.half_size + pixel);
    out.position = view.clip_from_world * vec4(position + ahead * out.place.x + left * out.place.y, 0.0, 1.0);
    return out;
}

const FLOWING = vec3<f32>(0.420, 0.680, 0.950);
const SLOW = vec3<f32>(0.950, 0.560, 0.120);
const STANDING = vec3<f32>(0.960, 0.060, 0.050);
const GLASS = vec3<f32>(0.010, 0.014, 0.020);
const HEADLIGHT = vec3<f32>(1.000, 0.950, 0.750);
const TAIL_LIGHT = vec3<f32>(1.000, 0.020, 0.010);
const GREEN = vec3<f32>(0.040, 0.850, 0.280);
const RED = vec3<f32>(0.950, 0.030, 0.040);

fn car_colour(place: vec2<f32>, look: u32, pixel: f32) -> vec3<f32> {
    let flow = f32(byte(look, 1u)) / 255.0;
    let shade = 0.75 + 0.25 * f32(byte(look, 2u)) / 255.0;
    let moving = mix(SLOW, FLOWING, smoothstep(0.15, 0.7, flow));
    var colour = mix(STANDING, moving, smoothstep(0.02, 0.15, flow)) * shade;
    // Windows and lights, when a car is large enough for them.
    let close = 1.0 - smoothstep(0.10, 0.22, pixel);
    if close > 0.0 {
        let inside = abs(place.y) < 0.72;
        let is_glass = inside && (abs(place.x - 0.45) < 0.28 || abs(place.x + 1.25) < 0.18);
        colour = mix(colour, GLASS, close * select(0.0, 0.85, is_glass));
        let is_lamp = abs(abs(place.y) - 0.65) < 0.22;
        let brakes = 1.0 - smoothstep(0.05, 0.3, flow);
        colour = mix(colour, TAIL_LIGHT, close * brakes * select(0.0, 1.0, is_lamp && place.x < -1.95));
        colour = mix(colour, HEADLIGHT, close * select(0.0, 1.0, is_lamp && place.x > 1.98));
    }
    return colour;
}

@fragment
fn fragment(in: Fragment) -> @location(0) vec4<f32> {
    let pixel = metres_per_pixel();
    let radius = min(in.half_size.y, in.half_size.x) * 0.45;
    let corner = max(abs(in.place) - in.half_size + radius, vec2(0.0));
    let alpha = clamp(0.5 - (length(corner) - radius) / pixel, 0.0, 1.0);
    var colour = select(RED, GREEN, byte(in.look, 1u) == 1u);
    if kind(in.look) == CAR {
        colour = car_colour(in.place, in.look, pixel);
    }
    return encoded(vec4(colour, alpha));
}
