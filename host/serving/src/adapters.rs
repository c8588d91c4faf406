//! Adapters that clients load and unload while the server runs, as vLLM lets them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::json;

use super::refused::Refused;
use super::{Model, PolicyApi};
use troupe_server::ApiResponse;

const LOAD: &str = "/v1/load_lora_adapter";
const UNLOAD: &str = "/v1/unload_lora_adapter";
/// Where adapters are loaded and unloaded.
pub(super) const ROUTES: [&str; 2] = [LOAD, UNLOAD];
/// Adapters that clients may have loaded at a time.
const MOST_ADAPTERS: usize = 64;

/// What clients may do with adapters.
pub(super) struct Adapters {
    /// The folder that theirs lie in.
    within: PathBuf,
    /// The number of the next one.
    next: AtomicUsize,
    /// Held by who loads or unloads one, so that what was found of the models is still so when
    /// they change.
    changing: Mutex<()>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    lora_name: String,
    lora_path: PathBuf,
    load_inplace: Option<bool>,
    is_3d_lora_weight: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unload {
    lora_name: String,
    /// vLLM's number for it, which the name says as well.
    #[serde(rename = "lora_int_id")]
    _number: Option<i64>,
}

impl Adapters {
    /// Those within a folder; so many models are there already.
    pub(super) fn new(within: PathBuf, models: usize) -> Self {
        Adapters { within, next: AtomicUsize::new(models), changing: Mutex::default() }
    }

    /// Waits for the others who change the models.
    fn alone(&self) -> MutexGuard<'_, ()> {
        // It guards no value that could be half changed.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder that a client means, if it may.
    fn find(&self, name: &str, folder: &Path) -> Result<PathBuf, Refused> {
        let missing = |path: &Path| {
            let message =
                format!("no adapter found for `{name}`: there is no `{}`", path.display());
            Refused::missing(message)
        };
        let within = self.within.canonicalize().map_err(|_| missing(&self.within))?;
        let found = folder.canonicalize().map_err(|_| missing(folder))?;
        if !found.starts_with(&within) {
            let message =
                format!("adapters are loaded from folders within `{}`", self.within.display());
            return Err(Refused::request(message));
        }
        Ok(found)
    }
}

impl PolicyApi {
    pub(super) fn change(&self, path: &str, body: &[u8]) -> Result<ApiResponse, Refused> {
        let unreadable = |error| Refused::request(format!("the request cannot be read: {error}"));
        let done = match path {
            LOAD => self.load(serde_json::from_slice(body).map_err(unreadable)?)?,
            _ => self.unload(&serde_json::from_slice(body).map_err(unreadable)?)?,
        };
        Ok(ApiResponse::Json(200, json!(done).to_string()))
    }

    fn load(&self, wanted: Load) -> Result<String, Refused> {
        let Load { lora_name: name, lora_path: folder, load_inplace, is_3d_lora_weight } = wanted;
        let Some(adapters) = &self.adapters else { return Err(Refused::no_such_path(LOAD)) };
        if load_inplace == Some(true) {
            return Err(Refused::request("`load_inplace` is not supported; use another name"));
        }
        if is_3d_lora_weight == Some(true) {
            return Err(Refused::request("`is_3d_lora_weight` is not supported; leave it out"));
        }
        let found = adapters.find(&name, &folder)?;
        let _alone = adapters.alone();
        let models = self.models();
        if models.iter().any(|model| model.name == name) {
            return Err(Refused::request(format!("the adapter `{name}` has already been loaded")));
        }
        if models.iter().filter(|model| model.folder.is_some()).count() >= MOST_ADAPTERS {
            let message = format!("{MOST_ADAPTERS} adapters are loaded; unload one");
            return Err(Refused::request(message));
        }
        let number = adapters.next.fetch_add(1, Ordering::Relaxed);
        self.desk.add(number, found)?;
        let model = Model {
            name: name.clone(),
            number,
            folder: Some(folder),
            wording: models[0].wording.clone(),
            ends: models[0].ends.clone(),
            positions: models[0].positions,
            is_adapter: true,
        };
        self.models.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(model));
        Ok(format!("Success: the adapter `{name}` was loaded"))
    }

    fn unload(&self, wanted: &Unload) -> Result<String, Refused> {
        let name = &wanted.lora_name;
        let _alone = self.adapters.as_ref().map(Adapters::alone);
        let found = {
            let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
            let is_it = |model: &Arc<Model>| model.name == *name && model.folder.is_some();
            models.iter().position(is_it).map(|place| models.remove(place))
        };
        let Some(model) = found else {
            let message = format!("no adapter `{name}` was loaded by a client");
            return Err(Refused::missing(message));
        };
        self.desk.remove(model.number)?;
        Ok(format!("Success: the adapter `{name}` was unloaded"))
    }
}
