//! A set of measured values, and what is said about it.

/// Values in one unit, sorted. Never empty where it comes from a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample(Vec<f64>);

impl Sample {
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// The value that `percent` of the values do not exceed (nearest rank); 0 of none.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or(0.0)
    }

    /// The median distance from the median.
    pub(super) fn spread(&self) -> f64 {
        let median = self.median();
        Self::of(self.0.iter().map(|value| (value - median).abs())).median()
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn a_sample_is_described_by_ranks_that_outliers_do_not_move() {
        let sample = Sample::of([4.0, 1.0, 2.0, 3.0, 1000.0]);
        assert_eq!((sample.count(), sample.median(), sample.spread()), (5, 3.0, 1.0));
        assert_eq!((sample.percentile(90), sample.percentile(20)), (1000.0, 1.0));
    }

    #[test]
    fn one_value_is_every_rank_and_has_no_spread() {
        let sample = Sample::of([7.0]);
        assert_eq!((sample.median(), sample.percentile(90), sample.spread()), (7.0, 7.0, 0.0));
    }
}
