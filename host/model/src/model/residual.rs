//! What a block of a layer adds to the residual stream.

use tch::Tensor;

use super::adapter::Site;
use super::linear::Linear;
use super::norm::Norm;
use super::shared_base::LayerRows;

/// A linear map back to the model's width and, in some families, a norm of
/// what is added.
#[derive(Debug)]
pub(super) struct Residual {
    pub(super) map: Linear,
    pub(super) norm: Option<Norm>,
}

impl Residual {
    /// What `states` `[rows, inputs]` add to `stream` `[rows, hidden]`.
    pub(super) fn add_to(
        &self,
        stream: &Tensor,
        states: &Tensor,
        rows: &LayerRows,
        site: Site,
    ) -> Tensor {
        match &self.norm {
            None => rows.add(self.map.add_to(stream, states), states, site),
            Some(norm) => stream + self.normed(norm, states, rows, site),
        }
    }

    /// The same where nobody reads `stream` any more.
    pub(super) fn add_onto(
        &self,
        stream: Tensor,
        states: &Tensor,
        rows: &LayerRows,
        site: Site,
    ) -> Tensor {
        match &self.norm {
            None => rows.add(self.map.add_onto(stream, states), states, site),
            Some(norm) => stream + self.normed(norm, states, rows, site),
        }
    }

    fn normed(&self, norm: &Norm, states: &Tensor, rows: &LayerRows, site: Site) -> Tensor {
        norm.apply(&rows.add(self.map.apply(states), states, site))
    }
}
