//! The client.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use docker_credential::{CredentialRetrievalError, DockerCredential};
use futures_util::TryStreamExt;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::manifest::OciDescriptor;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::artifact::{Artifact, IMAGE};
use crate::error::RegistryError;
use troupe_core::oci::{COMPONENT, MANIFEST, Manifest, OciError, OciReference, SHA256, Stored};
use troupe_core::storage::{StorageError, create_folder, digest};

/// A component may have so many bytes; the largest of ours has 40 MB.
const LARGEST: u64 = 256 << 20;
/// How long a registry may say nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// Speaks with registries: over TLS, and without it only on this machine.
pub struct Registry {
    runtime: Runtime,
}

impl Registry {
    /// A client.
    ///
    /// # Errors
    /// If the system has no room for one.
    pub fn new() -> Result<Self, RegistryError> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Somebody else's choice is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(StorageError::io("start a client for", Path::new("oci://")))?;
        Ok(Registry { runtime })
    }

    /// The manifest that a reference names now: its bytes, and its SHA-256 in hexadecimal.
    ///
    /// # Errors
    /// If the registry does not have it or sends another.
    pub fn manifest(&self, reference: &OciReference) -> Result<(Vec<u8>, String), RegistryError> {
        let client = client(reference);
        let auth = credentials(&reference.registry)?;
        let named = named(reference);
        let pulled = client.pull_manifest_raw(&named, &auth, &[IMAGE]);
        let pulled = self.runtime.block_on(pulled);
        let (bytes, _) = pulled.map_err(|error| RegistryError::of(reference, error))?;
        let found = digest(&bytes);
        if reference.digest.as_ref().is_some_and(|wanted| *wanted != found) {
            return Err(RegistryError::Differs {
                reference: reference.clone().into(),
                reason: format!("a manifest with the digest {SHA256}{found}"),
            });
        }
        Ok((bytes.to_vec(), found))
    }

    /// Bring the component of a reference that has a digest, unless it is here. `received` is told
    /// how many bytes of how many have come.
    ///
    /// # Errors
    /// If the registry does not have it, sends something else, or it cannot be kept.
    pub fn pull(
        &self,
        reference: &OciReference,
        received: &mut dyn FnMut(u64, u64),
    ) -> Result<Stored, RegistryError> {
        match reference.stored() {
            Err(OciError::Absent(_)) => {}
            kept => return Ok(kept?),
        }
        let (manifest, found) = self.manifest(reference)?;
        let unfit = |reason: &str| RegistryError::Unfit {
            reference: reference.clone().into(),
            reason: reason.to_owned(),
        };
        let named = Manifest::read(&manifest).map_err(unfit)?;
        if named.size > LARGEST {
            let size = named.size;
            return Err(unfit(&format!("it has {size} bytes, and {LARGEST} are the most")));
        }
        let folder = reference.folder(&found)?;
        let parent = folder.parent().unwrap_or(Path::new("."));
        create_folder(parent)?;
        let partial = TempDir::with_prefix_in(".partial-", parent)
            .map_err(StorageError::io("create a folder in", parent))?;
        let file = partial.path().join(format!("{}.wasm", reference.name()));
        self.runtime.block_on(fetch(reference, &named, &file, received))?;
        let kept = partial.path().join(MANIFEST);
        fs::write(&kept, &manifest).map_err(StorageError::io("write", &kept))?;
        // Another process that brought the same has made the same folder.
        if fs::rename(partial.path(), &folder).is_ok() {
            let _ = partial.keep();
        } else if let Err(OciError::Absent(_)) = reference.pinned(&found).stored() {
            // The same component under another name: its file joins it.
            let name = folder.join(format!("{}.wasm", reference.name()));
            fs::rename(&file, &name).map_err(StorageError::io("write", &name))?;
        }
        Ok(reference.pinned(&found).stored()?)
    }

    /// Send a component; the SHA-256 of its manifest in hexadecimal.
    ///
    /// # Errors
    /// If the registry does not take it.
    pub fn push(
        &self,
        reference: &OciReference,
        artifact: &Artifact,
    ) -> Result<String, RegistryError> {
        let (configuration, manifest) = artifact.written();
        let pushed = artifact.digest();
        self.runtime.block_on(async {
            let refused = |error| RegistryError::of(reference, error);
            let client = client(reference);
            let auth = credentials(&reference.registry)?;
            let named = named(reference);
            client.auth(&named, &auth, RegistryOperation::Push).await.map_err(refused)?;
            for blob in [artifact.component.clone(), configuration] {
                let name = format!("{SHA256}{}", digest(&blob));
                if !client.blob_exists(&named, &name).await.map_err(refused)? {
                    client.push_blob(&named, blob, &name).await.map_err(refused)?;
                }
            }
            let kind = IMAGE.parse().map_err(|_| RegistryError::Unusable {
                registry: reference.registry.clone(),
                reason: "its media type is no header".to_owned(),
            })?;
            client.push_manifest_raw(&named, manifest, kind).await.map_err(refused)?;
            Ok::<_, RegistryError>(())
        })?;
        Ok(pushed)
    }
}

/// Write the component to a file. Its digest is compared by whoever reads it from there.
async fn fetch(
    reference: &OciReference,
    manifest: &Manifest,
    file: &Path,
    received: &mut dyn FnMut(u64, u64),
) -> Result<(), RegistryError> {
    let differs =
        |reason: String| RegistryError::Differs { reference: reference.clone().into(), reason };
    let size = manifest.size;
    let client = client(reference);
    let named = named(reference);
    let auth = credentials(&reference.registry)?;
    client
        .auth(&named, &auth, RegistryOperation::Pull)
        .await
        .map_err(|error| RegistryError::of(reference, error))?;
    let layer = OciDescriptor {
        media_type: COMPONENT.to_owned(),
        digest: format!("{SHA256}{}", manifest.component),
        size: size as i64,
        ..OciDescriptor::default()
    };
    let stream = client.pull_blob_stream(&named, &layer).await;
    let mut stream = stream.map_err(|error| RegistryError::of(reference, error))?;
    let mut out = fs::File::create(file).map_err(StorageError::io("write", file))?;
    let mut come = 0;
    // A digest that does not fit and a connection that is cut come as errors of the stream.
    while let Some(bytes) = stream.try_next().await.map_err(|error| differs(error.to_string()))? {
        come += bytes.len() as u64;
        if come > size {
            return Err(differs(format!("more than the {size} bytes that its manifest says")));
        }
        out.write_all(&bytes).map_err(StorageError::io("write", file))?;
        received(come, size);
    }
    if come < size {
        return Err(differs(format!("{come} of the {size} bytes that its manifest says")));
    }
    out.sync_all().map_err(StorageError::io("write", file))?;
    Ok(())
}

fn client(reference: &OciReference) -> Client {
    let protocol = if reference.is_local() { ClientProtocol::Http } else { ClientProtocol::Https };
    Client::new(ClientConfig {
        protocol,
        connect_timeout: Some(PATIENCE),
        read_timeout: Some(PATIENCE),
        user_agent: concat!("troupe/", env!("CARGO_PKG_VERSION")),
        ..ClientConfig::default()
    })
}

fn named(reference: &OciReference) -> Reference {
    let (registry, repository) = (reference.registry.clone(), reference.repository.clone());
    match (&reference.digest, &reference.tag) {
        (Some(digest), _) => {
            Reference::with_digest(registry, repository, format!("{SHA256}{digest}"))
        }
        (None, tag) => Reference::with_tag(registry, repository, tag.clone().unwrap_or_default()),
    }
}

/// As docker has them, if it has any.
fn credentials(registry: &str) -> Result<RegistryAuth, RegistryError> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".docker"));
    let folder = env::var_os("DOCKER_CONFIG").map(PathBuf::from).or_else(home);
    if !folder.is_some_and(|folder| folder.join("config.json").exists()) {
        return Ok(RegistryAuth::Anonymous);
    }
    match docker_credential::get_credential(registry) {
        Ok(DockerCredential::UsernamePassword(name, password)) => {
            Ok(RegistryAuth::Basic(name, password))
        }
        Ok(DockerCredential::IdentityToken(token)) => Ok(RegistryAuth::Bearer(token)),
        Err(
            CredentialRetrievalError::ConfigNotFound
            | CredentialRetrievalError::NoCredentialConfigured,
        ) => Ok(RegistryAuth::Anonymous),
        Err(reason) => Err(RegistryError::Credentials {
            registry: registry.to_owned(),
            reason: reason.to_string().lines().next().unwrap_or_default().to_owned(),
        }),
    }
}
