//! Numbers out of samples. No units and no judgement.

use serde::Serialize;

/// What a row of samples comes to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// The middle one.
    pub(crate) median: f64,
    /// The smallest.
    pub(crate) min: f64,
    /// The largest.
    pub(crate) max: f64,
    /// How many.
    pub(crate) n: usize,
}

impl Summary {
    /// Sums up samples; all zeros when there are none.
    pub(crate) fn of(samples: &[f64]) -> Self {
        let sorted = sorted(samples);
        let at = |idx: usize| sorted.get(idx).copied().unwrap_or(0.0);
        let n = sorted.len();
        let median = (at(n / 2) + at(n.saturating_sub(1) / 2)) / 2.0;
        Self { median, min: at(0), max: at(n.saturating_sub(1)), n }
    }
}

/// Returns the sample below which so many of a hundred lie.
pub(crate) fn percentile(samples: &[f64], percent: usize) -> f64 {
    let sorted = sorted(samples);
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).copied().unwrap_or(0.0)
}

/// Returns the ratio of each pair.
pub(crate) fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_to_their_middle_and_ends() {
        assert_eq!(
            Summary::of(&[3.0, 1.0, 2.0]),
            Summary { median: 2.0, min: 1.0, max: 3.0, n: 3 }
        );
        assert_eq!(Summary::of(&[4.0, 2.0]).median.to_string(), "3");
        assert_eq!(Summary::of(&[]).n, 0);
    }

    #[test]
    fn percentiles_are_samples() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&hundred, 99).to_string(), "99");
        assert_eq!(percentile(&[7.0], 99).to_string(), "7");
        assert_eq!(percentile(&[], 50).to_string(), "0");
    }
}
