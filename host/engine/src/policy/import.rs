//! `host policy import`: a GGUF file becomes a folder.

use std::path::Path;

use super::{describe, dtype_of, report};
use troupe_cli::args::PolicyImportArgs;
use troupe_core::storage::{self, StorageError};
use troupe_model::{Device, Imported, Policy, import_gguf};

/// The folder appears as a whole, once it was found to load.
pub fn import(args: &PolicyImportArgs, device: Device) -> anyhow::Result<()> {
    check_new(&args.out)?;
    let template = args.chat_template.as_deref().map(read_text).transpose()?;
    let unfinished = storage::beside(&args.out);
    storage::remove_folder(&unfinished)?;
    let dtype = args.dtype.map(|name| dtype_of(name, device));
    let made = import_gguf(&args.file, &unfinished, dtype, template.as_deref())
        .map_err(anyhow::Error::from)
        .and_then(|imported| Ok((imported, Policy::load(&unfinished, device)?)));
    let (imported, policy) = match made {
        Ok(made) => made,
        Err(error) => {
            storage::remove_folder(&unfinished)?;
            return Err(error);
        }
    };
    storage::rename(&unfinished, &args.out).map_err(StorageError::io("write", &args.out))?;
    describe(&policy)?;
    let Imported { encodings, dtype, bytes } = imported;
    report::line(&format!("  read from {}: {}", args.file.display(), encodings.join(", ")));
    report::line(&format!(
        "  written to {}: {}, {:.0} MB",
        args.out.display(),
        dtype.name(),
        bytes as f64 / 1e6
    ));
    Ok(())
}

fn read_text(path: &Path) -> Result<String, StorageError> {
    std::fs::read_to_string(path).map_err(StorageError::io("read", path))
}

/// Refuse a folder in which there is something.
fn check_new(folder: &Path) -> Result<(), StorageError> {
    if storage::list_folder(folder)?.is_empty() {
        return Ok(());
    }
    let reason = "it holds something already; name a new folder".to_owned();
    Err(StorageError::Unfit { path: folder.to_owned(), reason })
}
