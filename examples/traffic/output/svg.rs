//! Plots as SVG: a frame with axes, and marks in it.

use std::fmt::Write;

/// In pixels: where the frame lies in the picture.
const FRAME: (f64, f64, f64, f64) = (70.0, 40.0, 560.0, 220.0);
const PICTURE: (f64, f64) = (660.0, 310.0);

/// About how many ticks an axis has.
const TICKS: f64 = 8.0;

/// What an axis shows.
pub struct Axis {
    pub label: &'static str,
    pub least: f64,
    pub most: f64,
}

pub struct Plot {
    x: Axis,
    y: Axis,
    marks: String,
    title: String,
}

impl Plot {
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self { x, y, marks: String::new(), title: title.to_owned() }
    }

    /// A line from point to point.
    pub fn line(&mut self, points: &[(f64, f64)], colour: &str) {
        let points = points.iter().map(|&point| self.at(point));
        let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let line = format!("<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>\n", points.join(" "));
        self.marks.push_str(&line);
    }

    /// A rectangle between two corners; `share` from 0 to 1 is how dark it is.
    pub fn cell(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, share: f64) {
        let ((left, bottom), (right, top)) = (self.at(from), self.at(to));
        let size = format!("width=\"{:.1}\" height=\"{:.1}\"", right - left, bottom - top);
        let style = format!("fill=\"{colour}\" fill-opacity=\"{share:.2}\"");
        self.marks.push_str(&format!("<rect x=\"{left:.1}\" y=\"{top:.1}\" {size} {style}/>\n"));
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (left, top, width, height) = FRAME;
        (left + self.x.share(x) * width, top + (1.0 - self.y.share(y)) * height)
    }

    /// The plot, its upper edge `offset` pixels below that of the picture.
    fn body(&self, offset: f64) -> String {
        let (left, top, width, height) = FRAME;
        let (right, bottom) = (left + width, top + height);
        let mut out = format!("<g transform=\"translate(0 {offset})\">\n{}", self.marks);
        let frame = format!("x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"");
        let _ = writeln!(out, "<rect {frame} fill=\"none\" stroke=\"#444\"/>");
        for value in self.x.ticks() {
            let x = self.at((value, 0.0)).0;
            let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>", bottom + 16.0);
        }
        for value in self.y.ticks() {
            let y = self.at((0.0, value)).1;
            let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>", left - 6.0, y + 4.0);
        }
        let (middle, under) = (left + width / 2.0, bottom + 34.0);
        let _ = writeln!(out, "<text x=\"{middle}\" y=\"{under}\" text-anchor=\"middle\">{}</text>", self.x.label);
        let _ = writeln!(out, "<text x=\"{left}\" y=\"{}\">{}</text>", top - 8.0, self.y.label);
        let _ = writeln!(out, "<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{}</text>", top - 8.0, self.title);
        out + "</g>\n"
    }
}

impl Axis {
    fn share(&self, value: f64) -> f64 {
        ((value - self.least) / (self.most - self.least)).clamp(0.0, 1.0)
    }

    /// Round numbers along the axis.
    fn ticks(&self) -> Vec<f64> {
        let rough = (self.most - self.least) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.least / step).ceil() as i64;
        let tick = |number: i64| (number as f64 * step * 1_000.0).round() / 1_000.0;
        (first..).map(tick).take_while(|value| *value <= self.most).take(2 * TICKS as usize).collect()
    }
}

/// A picture of plots, one below the other.
pub fn picture(plots: &[Plot]) -> String {
    let (width, height) = (PICTURE.0, PICTURE.1 * plots.len() as f64);
    let size = format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
    let font = "font-family=\"sans-serif\" font-size=\"12\"";
    let mut out = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {size} {font}>\n");
    out.push_str("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    for (number, plot) in plots.iter().enumerate() {
        out.push_str(&plot.body(number as f64 * PICTURE.1));
    }
    out + "</svg>\n"
}
