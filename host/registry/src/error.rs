//! What goes wrong between a registry and us.

use oci_client::errors::{OciDistributionError, OciErrorCode};

use troupe_core::error::{Coded, ExitCode};
use troupe_core::oci::{OciError, OciReference};
use troupe_core::storage::StorageError;

/// Why a component was not pushed or pulled.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// It has no such component.
    #[error("the registry `{}` has no `{reference}`", reference.registry)]
    Absent {
        /// What was asked for.
        reference: Box<OciReference>,
    },
    /// It does not know us, or not well enough.
    #[error(
        "the registry `{}` wants somebody who may do this with `{reference}`: log in with `docker \
         login {}`, or name a folder with docker's `config.json` in DOCKER_CONFIG",
        reference.registry, reference.registry
    )]
    Refused {
        /// What was asked for.
        reference: Box<OciReference>,
    },
    /// Docker's credentials cannot be read.
    #[error("the credentials for `{registry}` in docker's `config.json` cannot be used: {reason}")]
    Credentials {
        /// The registry.
        registry: String,
        /// What was wrong.
        reason: String,
    },
    /// Nothing answers, or not in its language.
    #[error("the registry `{registry}` cannot be used: {reason}")]
    Unusable {
        /// The registry.
        registry: String,
        /// What it said, or did.
        reason: String,
    },
    /// It sent something else than it was asked for.
    #[error("the registry sent something else than `{reference}`: {reason}; nothing of it is kept")]
    Differs {
        /// What was asked for.
        reference: Box<OciReference>,
        /// What differs.
        reason: String,
    },
    /// It is not what we work with.
    #[error("`{reference}` is no component for this program: {reason}")]
    Unfit {
        /// What was asked for.
        reference: Box<OciReference>,
        /// Why.
        reason: String,
    },
    /// There is nowhere to keep it.
    #[error(transparent)]
    Reference(#[from] OciError),
    /// It cannot be kept.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Coded for RegistryError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            RegistryError::Reference(error) => error.code(),
            RegistryError::Storage(error) => error.code(),
            _ => Some(ExitCode::Plugin),
        }
    }
}

impl RegistryError {
    /// What `oci-client` says of a reference, in a sentence.
    pub(crate) fn of(reference: &OciReference, error: OciDistributionError) -> Self {
        use OciDistributionError as Said;
        let reference = Box::new(reference.clone());
        let unusable = |reason: String| RegistryError::Unusable {
            registry: reference.registry.clone(),
            reason,
        };
        match error {
            Said::ImageManifestNotFoundError(_) => RegistryError::Absent { reference },
            Said::ServerError { code: 404, .. } => RegistryError::Absent { reference },
            Said::UnauthorizedError { .. }
            | Said::AuthenticationFailure(_)
            | Said::ServerError { code: 401 | 403, .. } => RegistryError::Refused { reference },
            Said::RegistryError { envelope, .. } => {
                let codes: Vec<&OciErrorCode> = envelope.errors.iter().map(|it| &it.code).collect();
                match codes[..] {
                    [OciErrorCode::ManifestUnknown | OciErrorCode::NameUnknown, ..] => {
                        RegistryError::Absent { reference }
                    }
                    [OciErrorCode::Unauthorized | OciErrorCode::Denied, ..] => {
                        RegistryError::Refused { reference }
                    }
                    _ => unusable(envelope.errors.iter().map(|it| it.message.as_str()).collect()),
                }
            }
            Said::DigestError(reason) => {
                RegistryError::Differs { reference, reason: reason.to_string() }
            }
            Said::ServerError { code, message, .. } => {
                unusable(format!("it answers {code}: {}", message.trim()))
            }
            Said::RequestError(error) => match error.status().map(|status| status.as_u16()) {
                Some(401 | 403) => RegistryError::Refused { reference },
                Some(404) => RegistryError::Absent { reference },
                _ => unusable(causes(&error)),
            },
            other => unusable(other.to_string()),
        }
    }
}

/// The innermost cause says what happened.
fn causes(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), causes)
}
