//! The four sets, as large as they are expected to be, and what is made of them.

/// So small a part of a task is rounding's.
const NOTHING: f64 = 1e-9;

/// Expected sizes of the four sets of tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sets {
    /// Solved before and after: P.
    pub preserved: f64,
    /// After alone: E.
    pub gained: f64,
    /// Before alone: S.
    pub lost: f64,
    /// Neither before nor after: O.
    pub never: f64,
}

/// A figure of the four sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// P.
    Preserved,
    /// E.
    Gained,
    /// S.
    Lost,
    /// O.
    Never,
    /// E/S, the ratio of expansion to shrinkage.
    Esr,
    /// P/(P + S), the rate at which support is retained.
    Srr,
    /// E/(P + E), the rate of discoveries.
    Ndr,
    /// The harmonic mean of both.
    Sds,
    /// (E − S)/(P + E + S), the net rate at which support changes.
    Nscr,
}

impl Figure {
    /// All of them, in their order.
    pub const ALL: [Figure; 9] = [
        Figure::Preserved,
        Figure::Gained,
        Figure::Lost,
        Figure::Never,
        Figure::Esr,
        Figure::Srr,
        Figure::Ndr,
        Figure::Sds,
        Figure::Nscr,
    ];
    /// Those that are sizes of sets.
    pub const COUNTS: &'static [Figure] = Figure::ALL.split_at(4).0;
    /// Those that are ratios.
    pub const RATIOS: &'static [Figure] = Figure::ALL.split_at(4).1;

    /// Its place among all.
    pub fn place(self) -> usize {
        self as usize
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Preserved => "preserved",
            Figure::Gained => "gained",
            Figure::Lost => "lost",
            Figure::Never => "never",
            Figure::Esr => "esr",
            Figure::Srr => "srr",
            Figure::Ndr => "ndr",
            Figure::Sds => "sds",
            Figure::Nscr => "nscr",
        }
    }
}

impl Sets {
    /// The figures in their order. One that is not defined is no number, and infinite if it is
    /// only the divisor that is 0.
    pub(super) fn figures(self) -> [f64; Figure::ALL.len()] {
        let whole = |size: f64| if size.abs() < NOTHING { 0.0 } else { size };
        let [preserved, gained, lost, never] =
            [self.preserved, self.gained, self.lost, self.never].map(whole);
        let (srr, ndr) = (preserved / (preserved + lost), gained / (preserved + gained));
        Figure::ALL.map(|figure| match figure {
            Figure::Preserved => preserved,
            Figure::Gained => gained,
            Figure::Lost => lost,
            Figure::Never => never,
            Figure::Esr => gained / lost,
            Figure::Srr => srr,
            Figure::Ndr => ndr,
            Figure::Sds => 2.0 * srr * ndr / (srr + ndr),
            Figure::Nscr => (gained - lost) / (preserved + gained + lost),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios([preserved, gained, lost, never]: [f64; 4]) -> Vec<f64> {
        Sets { preserved, gained, lost, never }.figures()[4..].to_vec()
    }

    #[test]
    fn ratios_are_what_was_worked_out_by_hand() {
        // 30/10, 60/70, 30/90, 2 · 6/7 · 1/3 / (6/7 + 1/3) = 12/25, and 20/100.
        let expected = [3.0, 6.0 / 7.0, 1.0 / 3.0, 0.48, 0.2];
        for (actual, expected) in ratios([60.0, 30.0, 10.0, 5.0]).into_iter().zip(expected) {
            assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
        }
        let names = Figure::RATIOS.iter().map(|figure| figure.name()).collect::<Vec<_>>();
        assert_eq!(names, ["esr", "srr", "ndr", "sds", "nscr"]);
    }

    #[test]
    fn a_ratio_whose_divisor_is_0_is_no_finite_number() {
        assert_eq!(ratios([5.0, 3.0, 0.0, 0.0])[0], f64::INFINITY);
        // Nothing was solved before, and nothing after.
        assert!(ratios([0.0; 4]).into_iter().all(f64::is_nan));
        let [esr, srr, ndr, sds, nscr] = ratios([0.0, 0.0, 2.0, 3.0])[..] else { panic!("five") };
        assert_eq!((esr, srr, nscr), (0.0, 0.0, -1.0));
        assert!(ndr.is_nan() && sds.is_nan());
        // What is left of a subtraction is no lost task.
        assert_eq!(ratios([5.0, 3.0, 1e-15, 0.0])[0], f64::INFINITY);
        assert_eq!(ratios([5.0, 3.0, -1e-15, 0.0])[1], 1.0);
    }
}
