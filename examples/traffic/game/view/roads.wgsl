// A road is one capsule: both directions side by side, each in the colour of its traffic.

#import bevy_sprite::mesh2d_view_bindings::view
#import traffic::quads::{LANE_WIDTH, Vertex, encoded, metres_per_pixel, number_of}

struct Ribbon {
    start: vec2<f32>,
    end: vec2<f32>,
    forward: u32,
    backward: u32,
    // Lanes forward and backward, and the class, a byte each.
    look: u32,
    // Decimetres at start and end that lie within a crossing, two bytes each.
    insets: u32,
}

@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<storage, read> ribbons: array<Ribbon>;
// A byte for each link.
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var<storage, read> densities: array<u32>;

const NONE: u32 = 0xFFFFFFFFu;

struct Fragment {
    @builtin(position) position: vec4<f32>,
    // Metres from the road's middle: along it, and to the left.
    @location(0) place: vec2<f32>,
    // Half of the drawn length and width, in metres.
    @location(1) @interpolate(flat) half_size: vec2<f32>,
    // Metres from the middle to the line between the directions, to the left.
    @location(2) @interpolate(flat) divide: f32,
    // Traffic to the right and to the left, from 0 to 1; below 0 where nobody drives.
    @location(3) @interpolate(flat) density: vec2<f32>,
    // How much of the colour shows, and the brightness of an empty road.
    @location(4) @interpolate(flat) shade: vec2<f32>,
    // Between the crossings, in metres along the road.
    @location(5) @interpolate(flat) open: vec2<f32>,
}

fn density(link: u32) -> f32 {
    if link == NONE {
        return -1.0;
    }
    return f32(densities[link / 4u] >> (link % 4u * 8u) & 0xFFu) / 255.0;
}

// From far away roads keep a width that can be seen, in pixels by class, and fade instead.
fn least_width(rank: u32) -> f32 {
    return select(select(1.3, 2.0, rank == 1u), 2.8, rank == 2u);
}

@vertex
fn vertex(vertex: Vertex) -> Fragment {
    var out: Fragment;
    let number = number_of(vertex);
    if number >= arrayLength(&ribbons) {
        return out;
    }
    let road = ribbons[number];
    let pixel = metres_per_pixel();
    let rank = road.look >> 16u & 0xFFu;
    let lanes = vec2(f32(road.look & 0xFFu), f32(road.look >> 8u & 0xFFu));
    let paved = (lanes.x + lanes.y) * LANE_WIDTH;
    let width = max(paved, least_width(rank) * pixel);
    let along = road.end - road.start;
    let extent = max(length(along), 0.001);
    let direction = along / extent;
    let left = vec2(-direction.y, direction.x);
    out.half_size = vec2(extent, width) / 2.0;
    out.place = vertex.position.xy * (vec2(extent, 0.0) / 2.0 + width / 2.0 + pixel);
    let world = (road.start + road.end) / 2.0 + direction * out.place.x + left * out.place.y;
    out.position = view.clip_from_world * vec4(world, 0.0, 1.0);

    let divide = (lanes.x - lanes.y) / 2.0 * LANE_WIDTH * width / paved;
    out.divide = select(width, divide, road.backward != NONE);
    let insets = vec2(f32(road.insets & 0xFFFFu), f32(road.insets >> 16u)) / 10.0;
    out.open = vec2(insets.x - extent / 2.0, extent / 2.0 - insets.y);
    out.density = vec2(density(road.forward), density(road.backward));
    let visible = clamp(paved / width, 0.6, 1.0);
    out.shade = vec2(visible, 1.0 + 0.35 * f32(rank));
    return out;
}

const EMPTY_ROAD = vec3<f32>(0.024, 0.033, 0.048);
const FREE = vec3<f32>(0.012, 0.180, 0.150);
const BUSY = vec3<f32>(0.900, 0.430, 0.030);
const FULL = vec3<f32>(0.850, 0.032, 0.045);
const CLOSED = vec3<f32>(0.800, 0.050, 0.250);
const PAINT = vec3<f32>(0.160, 0.190, 0.230);

fn traffic_colour(density: f32, empty: vec3<f32>) -> vec3<f32> {
    let free = mix(empty, FREE, smoothstep(0.0, 0.15, density));
    let busy = mix(free, BUSY, smoothstep(0.2, 0.5, density));
    return mix(busy, FULL, smoothstep(0.5, 0.8, density));
}

// Slanted stripes, never too fine to see.
fn closed(place: vec2<f32>, pixel: f32) -> vec3<f32> {
    let period = max(6.0, pixel * 8.0);
    return select(EMPTY_ROAD, CLOSED, fract((place.x + place.y) / period) < 0.5);
}

// Lines between the lanes: dashed within a direction, whole between the two.
fn paint(place: vec2<f32>, divide: f32, half_width: f32, pixel: f32) -> f32 {
    let line = max(0.15, pixel * 0.8);
    let from_divide = place.y - divide;
    let lane = abs(from_divide) / LANE_WIDTH;
    let across = abs(lane - round(lane)) * LANE_WIDTH;
    let is_divide = abs(from_divide) < LANE_WIDTH / 2.0;
    let is_dash = fract(place.x / 9.0) < 0.4 || is_divide;
    let is_inside = half_width - abs(place.y) > LANE_WIDTH / 2.0;
    let strength = 1.0 - smoothstep(line / 2.0, line / 2.0 + pixel, across);
    return strength * select(0.0, 1.0, is_dash && is_inside);
}

@fragment
fn fragment(in: Fragment) -> @location(0) vec4<f32> {
    let pixel = metres_per_pixel();
    let beyond_end = max(abs(in.place.x) - in.half_size.x, 0.0);
    let distance = length(vec2(beyond_end, in.place.y)) - in.half_size.y;
    let alpha = clamp(0.5 - distance / pixel, 0.0, 1.0);
    // The forward direction is on the right.
    let density = select(in.density.y, in.density.x, in.place.y < in.divide);
    // From far away the lines are thin, and need more light.
    let empty = EMPTY_ROAD * in.shade.y * (1.0 + smoothstep(2.0, 20.0, pixel));
    // In the street it is the cars that count.
    let tint = 0.12 + 0.88 * smoothstep(0.7, 2.5, pixel);
    var colour = mix(empty, traffic_colour(density, empty), tint);
    if density > 0.999 {
        colour = closed(in.place, pixel);
    }
    let close = 1.0 - smoothstep(0.15, 0.4, pixel);
    if close > 0.0 && in.place.x > in.open.x && in.place.x < in.open.y {
        colour = mix(colour, PAINT, close * paint(in.place, in.divide, in.half_size.y, pixel));
    }
    return encoded(vec4(colour, alpha * in.shade.x));
}
