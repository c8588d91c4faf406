//! Success on validation tasks over what was spent, as an image: the mean over the seeds of each
//! row that none of its seeds failed in, and Student's band around it.

use super::results::{Results, RowResult};
use super::sitting::Point;
use troupe_core::statistics::{Interval, mean, student_interval};
use troupe_page::escaped_text;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 260.0;
const MARGIN: f64 = 46.0;
/// Places at which a curve is drawn.
const PLACES: usize = 48;
/// Okabe and Ito's colours, which most people can tell apart.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a00", "#666666"];

/// What is spent, and how that is written.
type Axis = (&'static str, fn(&Point) -> f64);

const AXES: [Axis; 2] = [
    ("completion tokens", |point| point.completion_tokens),
    ("processor seconds", |point| point.cpu_seconds),
];

/// Rows that are drawn into one pair of panels.
struct Panel<'r> {
    title: String,
    rows: Vec<&'r RowResult>,
}

/// The image: for every part and every sweep a panel over tokens and one over seconds.
pub fn curves(results: &Results) -> String {
    let panels = panels(results);
    let legend = |panel: &Panel| 18.0 * panel.rows.len() as f64;
    let height: f64 = panels.iter().map(|panel| HEIGHT + 40.0 + legend(panel)).sum();
    let mut body = String::new();
    let mut top = 0.0;
    for panel in &panels {
        body.push_str(&format!(
            "<text x=\"{MARGIN}\" y=\"{:.0}\" font-size=\"14\">{}</text>\n",
            top + 18.0,
            escaped_text(&panel.title)
        ));
        for (column, axis) in AXES.into_iter().enumerate() {
            body.push_str(&draw(panel, axis, column as f64 * (WIDTH + 20.0), top + 24.0));
        }
        body.push_str(&names(panel, top + HEIGHT + 36.0));
        top += HEIGHT + 40.0 + legend(panel);
    }
    let width = 2.0 * WIDTH + 20.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"11\" \
         role=\"img\" aria-label=\"Success over tokens and processor seconds\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

fn panels(results: &Results) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel> = Vec::new();
    let drawn = results.rows.iter().filter(|row| row.trained && !row.failed);
    let drawn = drawn.filter(|row| !row.curves.is_empty());
    for row in drawn {
        let sweep = row.name.split_once('=').map(|(sweep, _)| sweep);
        let words = [Some(row.part.as_str()).filter(|part| !part.is_empty()), sweep];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        let title = if words.is_empty() { results.title.clone() } else { words.join(", ") };
        match panels.iter_mut().find(|panel| panel.title == title) {
            Some(panel) => panel.rows.push(row),
            None => panels.push(Panel { title, rows: vec![row] }),
        }
    }
    panels
}

fn draw(panel: &Panel, (name, spent): Axis, left: f64, top: f64) -> String {
    let points = panel.rows.iter().flat_map(|row| row.curves.iter().flatten());
    let most = points.map(spent).fold(1e-9, f64::max);
    let x = |value: f64| left + MARGIN + value / most * (WIDTH - MARGIN - 10.0);
    let y = |share: f64| top + (1.0 - share) * (HEIGHT - 40.0) + 6.0;
    let mut text = String::new();
    for tenths in [0, 2, 4, 6, 8, 10] {
        let share = f64::from(tenths) / 10.0;
        text.push_str(&format!(
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{} %</text>\n",
            x(0.0),
            x(most),
            y(share),
            y(share),
            x(0.0) - 5.0,
            y(share) + 4.0,
            10 * tenths
        ));
    }
    for (share, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        text.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
            x(share * most),
            y(0.0) + 16.0,
            short(share * most)
        ));
    }
    text.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>\n",
        x(most / 2.0),
        y(0.0) + 30.0
    ));
    for (row, colour) in panel.rows.iter().zip(COLOURS.iter().cycle()) {
        text.push_str(&curve(row, spent, colour, &x, &y));
    }
    text
}

fn curve(
    row: &RowResult,
    spent: fn(&Point) -> f64,
    colour: &str,
    x: &impl Fn(f64) -> f64,
    y: &impl Fn(f64) -> f64,
) -> String {
    let ends = row.curves.iter().filter_map(|curve| curve.last().map(spent));
    let end = ends.fold(0.0, f64::max);
    let (mut line, mut upper, mut lower) = (Vec::new(), Vec::new(), Vec::new());
    for place in 0..=PLACES {
        let at = end * place as f64 / PLACES as f64;
        let shares: Vec<f64> =
            row.curves.iter().map(|curve| success_at(curve, spent, at)).collect();
        let center = mean(&shares);
        let band = student_interval(&shares);
        let band = band.unwrap_or(Interval { low: center, high: center }).within(0.0, 1.0);
        let point = |share: f64| format!("{:.1},{:.1}", x(at), y(share));
        line.push(point(center));
        upper.push(point(band.high));
        lower.push(point(band.low));
    }
    lower.reverse();
    upper.extend(lower);
    format!(
        "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\"0.14\"/>\
         <polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>\n",
        upper.join(" "),
        line.join(" ")
    )
}

/// Success after so much was spent: between two measurements in proportion, after the last what
/// that was.
fn success_at(curve: &[Point], spent: fn(&Point) -> f64, at: f64) -> f64 {
    let after = curve.iter().position(|point| spent(point) >= at);
    match after {
        None => curve.last().map_or(0.0, |point| point.success),
        Some(0) => curve[0].success,
        Some(place) => {
            let (one, other) = (&curve[place - 1], &curve[place]);
            let part = (at - spent(one)) / (spent(other) - spent(one)).max(1e-9);
            one.success + part * (other.success - one.success)
        }
    }
}

fn names(panel: &Panel, top: f64) -> String {
    let rows = panel.rows.iter().zip(COLOURS.iter().cycle()).enumerate();
    rows.map(|(place, (row, colour))| {
        let y = top + 18.0 * place as f64;
        format!(
            "<rect x=\"{MARGIN}\" y=\"{:.0}\" width=\"14\" height=\"4\" fill=\"{colour}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{}</text>\n",
            y - 6.0,
            MARGIN + 20.0,
            y,
            escaped_text(&row.title)
        )
    })
    .collect()
}

fn short(amount: f64) -> String {
    match amount {
        amount if amount >= 1e6 => format!("{:.1} M", amount / 1e6),
        amount if amount >= 1e4 => format!("{:.0} k", amount / 1e3),
        amount => format!("{amount:.0}"),
    }
}
