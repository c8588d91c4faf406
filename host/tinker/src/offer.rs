//! What a server says it has.

use serde_json::Value;

use crate::client::Client;
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};

/// What a server says it has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) bases: Vec<(String, Option<usize>)>,
}

impl Offer {
    pub(crate) fn of(client: &Client) -> Result<Offer, TinkerFailure> {
        let said = client.get("get_server_capabilities")?;
        let models = said["supported_models"].as_array().cloned().ok_or_else(|| {
            Kind::Malformed.because(
                "its answer to `get_server_capabilities` has no `supported_models`; check that \
                 `url` is a server that speaks Tinker's protocol",
            )
        })?;
        let base = |model: &Value| {
            let name = model["model_name"].as_str()?.to_owned();
            let longest = model["max_context_length"].as_u64();
            Some((name, longest.and_then(|it| usize::try_from(it).ok())))
        };
        Ok(Offer { bases: models.iter().filter_map(base).collect() })
    }
}
