//! What was launched on the card.

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// What a kernel cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How often it was launched.
    pub launches: u64,
    /// Bytes it read; each address of an argument once.
    pub read: u64,
    /// Bytes it wrote.
    pub written: u64,
    /// floating-point operations, of products of matrices and attention alone.
    pub flops: u64,
}

impl Cost {
    /// Bytes it read and wrote.
    pub fn bytes(&self) -> u64 {
        self.read + self.written
    }
}

impl AddAssign<&Cost> for Cost {
    fn add_assign(&mut self, other: &Cost) {
        self.launches += other.launches;
        self.read += other.read;
        self.written += other.written;
        self.flops += other.flops;
    }
}

/// What kernels cost, by their name; in parentheses what is no kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs(pub BTreeMap<String, Cost>);

impl Costs {
    pub(crate) fn read(text: &str) -> Self {
        let line = |line: &str| {
            let mut fields = line.split('\t');
            let name = fields.next().expect("a line has a name").to_owned();
            let mut number = || fields.next().and_then(|n| n.parse().ok()).expect("four numbers");
            let cost =
                Cost { launches: number(), read: number(), written: number(), flops: number() };
            (name, cost)
        };
        Costs(text.lines().map(line).collect())
    }

    /// Of all kernels.
    pub fn kernels(&self) -> Cost {
        let mut sum = Cost::default();
        let kernels = self.0.iter().filter(|(name, _)| !name.starts_with('('));
        kernels.for_each(|(_, cost)| sum += cost);
        sum
    }

    /// What these cost more than others. Others that cost more leave nothing.
    pub fn less(&self, others: &Costs) -> Costs {
        self.each(|name, cost| {
            let other = others.of(name);
            Cost {
                launches: cost.launches.saturating_sub(other.launches),
                read: cost.read.saturating_sub(other.read),
                written: cost.written.saturating_sub(other.written),
                flops: cost.flops.saturating_sub(other.flops),
            }
        })
    }

    /// What each of so many cost.
    pub fn shared(&self, among: u64) -> Costs {
        self.each(|_, cost| Cost {
            launches: cost.launches / among,
            read: cost.read / among,
            written: cost.written / among,
            flops: cost.flops / among,
        })
    }

    fn each(&self, change: impl Fn(&str, &Cost) -> Cost) -> Costs {
        Costs(self.0.iter().map(|(name, cost)| (name.clone(), change(name, cost))).collect())
    }

    /// Of one kernel, or of what is no kernel: `(wait)`, `(replay)`, `(event)`, `(to the card)`
    /// and `(to the host)`.
    pub fn of(&self, name: &str) -> Cost {
        self.0.get(name).copied().unwrap_or_default()
    }
}
