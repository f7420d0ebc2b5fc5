//! Colours that mean something: one for each system, and those of waiting, sleeping and help.

use bevy_egui::egui::{Color32, Rgba};

use crate::settings::SchedulerMode;

/// The palette of Okabe and Ito without its black: told apart with every common kind of colour
/// blindness, and readable on the dark panel.
const SYSTEMS: [Color32; 7] = [
    Color32::from_rgb(0x56, 0xB4, 0xE9),
    Color32::from_rgb(0xE6, 0x9F, 0x00),
    Color32::from_rgb(0x00, 0x9E, 0x73),
    Color32::from_rgb(0xCC, 0x79, 0xA7),
    Color32::from_rgb(0xF0, 0xE4, 0x42),
    Color32::from_rgb(0xD5, 0x5E, 0x00),
    Color32::from_rgb(0x00, 0x72, 0xB2),
];

/// Waiting at the barrier: duller than any system.
pub(super) const WAIT: Color32 = Color32::from_rgb(0x6E, 0x6E, 0x78);
/// Working, whatever on.
pub(super) const BUSY: Color32 = Color32::from_rgb(0x4F, 0xB4, 0x8C);
/// Neither working nor waiting.
pub(super) const IDLE: Color32 = Color32::from_rgb(0x36, 0x38, 0x40);
/// Runs of schedules and parts of rendering, and those that lie inside of another.
pub(super) const STAGE: Color32 = Color32::from_rgb(0x4A, 0x55, 0x6E);
pub(super) const STAGE_INSIDE: Color32 = Color32::from_rgb(0x66, 0x74, 0x93);
/// What one worker did of another's share, taken over or stolen: drawn over the colour of the
/// system.
pub(super) const HELP: Color32 = Color32::WHITE;
/// Over the budget, and the budget's line itself.
pub(super) const BUDGET: Color32 = Color32::from_rgb(0xFF, 0x6B, 0x5E);
/// What one reads first.
pub(super) const TEXT: Color32 = Color32::from_rgb(0xDC, 0xDE, 0xE4);
/// Names of lanes, numbers of the axis, what is old or explains.
pub(super) const LABEL: Color32 = Color32::from_rgb(0xA8, 0xAC, 0xB6);
/// Behind lanes and bars.
pub(super) const GROUND: Color32 = Color32::from_rgb(0x18, 0x1A, 0x20);

/// The colour of the system with this index. The first seven differ in hue, the next ones are
/// lighter or darker versions of them.
pub(super) fn system(index: usize) -> Color32 {
    let colour = SYSTEMS[index % SYSTEMS.len()];
    match index / SYSTEMS.len() % 3 {
        0 => colour,
        1 => colour.lerp_to_gamma(Color32::WHITE, 0.5),
        _ => colour.lerp_to_gamma(Color32::BLACK, 0.5),
    }
}

/// Black or white, whichever is easier to read on `ground`.
pub(super) fn on(ground: Color32) -> Color32 {
    // Rec. 709 luminance; at 0.18 black and white have the same contrast.
    if luminance(ground) > 0.18 { Color32::BLACK } else { Color32::WHITE }
}

fn luminance(colour: Color32) -> f32 {
    let linear = Rgba::from(colour);
    0.2126 * linear.r() + 0.7152 * linear.g() + 0.0722 * linear.b()
}

/// The colour of frames in `mode`.
pub(super) fn mode(mode: SchedulerMode) -> Color32 {
    SYSTEMS[SchedulerMode::ALL.iter().position(|&other| other == mode).unwrap_or(0) % SYSTEMS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_colours_of_their_own() {
        let mut colours: Vec<_> = (0..3 * SYSTEMS.len()).map(system).collect();
        colours.sort_by_key(|colour| colour.to_array());
        colours.dedup();
        assert_eq!(colours.len(), 3 * SYSTEMS.len(), "{colours:?}");
        assert!(!colours.contains(&WAIT) && !colours.contains(&IDLE));
    }

    #[test]
    fn text_is_readable_on_every_colour() {
        for colour in (0..3 * SYSTEMS.len()).map(system) {
            let contrast = contrast(colour, on(colour));
            assert!(contrast >= 4.5, "{colour:?} has contrast {contrast}");
        }
    }

    #[test]
    fn text_is_readable_on_the_panel() {
        // The ground of egui's windows and that of lanes, in its dark style.
        for ground in [Color32::from_gray(27), GROUND] {
            assert!([TEXT, LABEL, BUDGET].into_iter().all(|text| contrast(text, ground) >= 4.5));
        }
        for stage in [STAGE, STAGE_INSIDE] {
            assert!(contrast(stage, on(stage)) >= 4.5, "{stage:?}");
        }
    }

    /// By WCAG 2: 1 is none, 21 the most.
    fn contrast(a: Color32, b: Color32) -> f32 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }
}
