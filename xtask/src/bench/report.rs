//! What a measure saw, as people and programs read it.

use std::fmt;

use serde::Serialize;

use super::stats::Summary;

/// One measure with all it saw.
#[derive(Debug, Serialize)]
pub(crate) struct Measure {
    name: &'static str,
    method: &'static str,
    figures: Vec<Figure>,
    notes: Vec<String>,
    not_run: Vec<String>,
}

/// One figure: ours, a peer's, or the ratio of both.
#[derive(Debug, Serialize)]
struct Figure {
    what: String,
    unit: &'static str,
    #[serde(flatten)]
    summary: Summary,
    /// The most it should be.
    budget: Option<f64>,
    /// Whether the median keeps the budget.
    pass: Option<bool>,
}

impl Measure {
    /// Starts an empty one.
    pub(crate) fn new(name: &'static str, method: &'static str) -> Self {
        Self { name, method, figures: Vec::new(), notes: Vec::new(), not_run: Vec::new() }
    }

    /// Adds a figure that nothing is promised about.
    pub(crate) fn figure(&mut self, what: impl Into<String>, unit: &'static str, samples: &[f64]) {
        self.push(what.into(), unit, samples, None);
    }

    /// Adds a figure whose median should be no more than the budget.
    pub(crate) fn budgeted(
        &mut self,
        what: impl Into<String>,
        unit: &'static str,
        samples: &[f64],
        budget: f64,
    ) {
        self.push(what.into(), unit, samples, Some(budget));
    }

    fn push(&mut self, what: String, unit: &'static str, samples: &[f64], budget: Option<f64>) {
        let summary = Summary::of(samples);
        let pass = budget.map(|budget| summary.median <= budget);
        self.figures.push(Figure { what, unit, summary, budget, pass });
    }

    /// Adds a remark.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Says that a part could not be run, and why.
    pub(crate) fn not_run(&mut self, why: impl Into<String>) {
        self.not_run.push(why.into());
    }

    /// Tells whether everything could be run.
    pub(crate) fn is_complete(&self) -> bool {
        self.not_run.is_empty()
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}: {}", self.name, self.method)?;
        let width =
            self.figures.iter().map(|figure| figure.what.chars().count()).max().unwrap_or(0);
        for figure in &self.figures {
            let Summary { median, min, max, n } = figure.summary;
            let value = format!("{} {}", short(median), figure.unit);
            write!(f, "  {:<width$}  {value:>12}", figure.what)?;
            if n > 1 {
                write!(f, "  {:<19}", format!("{}–{} of {n}", short(min), short(max)))?;
            } else if figure.budget.is_some() {
                write!(f, "  {:<19}", "")?;
            }
            if let (Some(budget), Some(pass)) = (figure.budget, figure.pass) {
                let verdict = if pass { "pass" } else { "MISS" };
                write!(f, "  budget ≤ {} {}: {verdict}", short(budget), figure.unit)?;
            }
            writeln!(f)?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        for why in &self.not_run {
            writeln!(f, "  not run: {why}")?;
        }
        Ok(())
    }
}

/// Prints a number with three digits that mean something.
fn short(value: f64) -> String {
    let decimals = match value.abs() {
        at if at >= 100.0 => 0,
        at if at >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_prints_its_verdicts_and_what_was_not_run() {
        let mut measure = Measure::new("sample", "by hand");
        measure.budgeted("ours", "ms", &[1.0, 2.0, 3.25], 1.5);
        measure.figure("theirs", "ms", &[120.4]);
        measure.not_run("nobody is there");
        let words: Vec<String> =
            measure.to_string().split_whitespace().map(str::to_owned).collect();
        let text = words.join(" ");
        assert_eq!(
            text,
            "sample: by hand ours 2 ms 1–3.25 of 3 budget ≤ 1.50 ms: MISS theirs 120 ms not run: \
             nobody is there"
        );
        assert!(!measure.is_complete());
    }
}
