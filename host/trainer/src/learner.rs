//! One that learns.

use crate::objective::Objective;
use troupe_model::Policy;

/// A policy that learns, and from what.
#[derive(Clone, Copy)]
pub(super) struct Learner<'a> {
    pub(super) policy: &'a Policy,
    /// For the KL penalty; all learners have one or none has.
    pub(super) reference: Option<&'a Policy>,
    pub(super) objective: &'a (dyn Objective + Sync),
}
