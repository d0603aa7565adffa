//! Plots of distributions as SVG, with logarithmic axes.

use std::fmt::Write as _;

/// Points of a plot, drawn in one color.
#[derive(Clone, Debug)]
pub struct PlotSeries<'a> {
    /// Name in the legend.
    pub name: &'a str,
    /// Points. Those with a coordinate that is not positive are left out.
    pub points: Vec<(f64, f64)>,
}

/// A plot with two logarithmic axes.
#[derive(Clone, Debug)]
pub struct LogPlot<'a> {
    /// Title.
    pub title: &'a str,
    /// Label of the horizontal axis.
    pub x: &'a str,
    /// Label of the vertical axis.
    pub y: &'a str,
    /// Series.
    pub series: Vec<PlotSeries<'a>>,
}

const COLORS: [&str; 4] = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd"];
/// Length in pixels.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 40.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 60.0;
/// Distance in pixels below which a point is not drawn beside the last one of its series.
const POINT_DISTANCE: f64 = 1.0;

/// Decades of an axis, and its place in pixels.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let logs = values.map(f64::log10);
        let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| {
            (low.min(log), high.max(log))
        });
        let (low, high) = if low > high { (0.0, 1.0) } else { (low.floor(), high.ceil()) };
        Self { low, high: high.max(low + 1.0), start, end }
    }

    fn at(&self, log: f64) -> f64 {
        self.start + (log - self.low) / (self.high - self.low) * (self.end - self.start)
    }

    /// Returns the exponents of the ticks, at most about ten.
    fn ticks(&self) -> impl Iterator<Item = i32> {
        let (low, high) = (self.low as i32, self.high as i32);
        let step = ((high - low) / 10 + 1).unsigned_abs() as usize;
        (low..=high).step_by(step)
    }
}

impl LogPlot<'_> {
    /// Returns the plot as an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let is_drawn = |point: &&(f64, f64)| {
            point.0 > 0.0 && point.1 > 0.0 && point.0.is_finite() && point.1.is_finite()
        };
        let all = || self.series.iter().flat_map(|series| series.points.iter().filter(is_drawn));
        let x = Axis::of(all().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let y = Axis::of(all().map(|point| point.1), HEIGHT - BOTTOM, TOP);
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        text(&mut out, WIDTH / 2.0, TOP / 2.0 + 5.0, "middle", self.title);
        text(&mut out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 15.0, "middle", self.x);
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        let _ = writeln!(
            out,
            "<text transform=\"translate(20 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(self.y)
        );
        for tick in x.ticks() {
            let at = x.at(f64::from(tick));
            line(&mut out, (at, y.start), (at, y.end));
            text(&mut out, at, y.start + 20.0, "middle", &power(tick));
        }
        for tick in y.ticks() {
            let at = y.at(f64::from(tick));
            line(&mut out, (x.start, at), (x.end, at));
            text(&mut out, x.start - 8.0, at + 4.0, "end", &power(tick));
        }
        for (number, series) in self.series.iter().enumerate() {
            let color = COLORS[number % COLORS.len()];
            let _ = writeln!(out, "<g fill=\"{color}\">");
            let mut last = (f64::MIN, f64::MIN);
            for point in series.points.iter().filter(is_drawn) {
                let at = (x.at(point.0.log10()), y.at(point.1.log10()));
                if (at.0 - last.0).hypot(at.1 - last.1) >= POINT_DISTANCE {
                    let _ =
                        writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2\"/>", at.0, at.1);
                    last = at;
                }
            }
            let legend_y = TOP + 18.0 * (number as f64 + 1.0);
            text(&mut out, WIDTH - RIGHT - 8.0, legend_y, "end", series.name);
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        out
    }
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let text = escaped(text);
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn power(exponent: i32) -> String {
    match exponent {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        _ => format!("10<tspan dy=\"-5\" font-size=\"9\">{exponent}</tspan>"),
    }
}

/// Returns a text for XML. The elements that [`power`] makes stay.
fn escaped(text: &str) -> String {
    if text.starts_with("10<tspan") {
        return text.to_owned();
    }
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: Vec<(f64, f64)>) -> String {
        let series = vec![PlotSeries { name: "a < b & c", points }];
        LogPlot { title: "t", x: "x", y: "y", series }.svg()
    }

    #[test]
    fn points_are_drawn_where_both_coordinates_are_positive() {
        let svg = plot(vec![(1.0, 1.0), (0.0, 3.0), (10.0, f64::NAN), (100.0, 1e-9)]);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a &lt; b &amp; c"));
        // The corners of the plot.
        assert!(
            svg.contains("cx=\"80.0\" cy=\"40.0\"") && svg.contains("cx=\"700.0\" cy=\"420.0\"")
        );
    }

    #[test]
    fn an_empty_plot_has_axes() {
        let svg = plot(Vec::new());
        assert_eq!(svg.matches("<circle").count(), 0);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
