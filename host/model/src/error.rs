//! Why a policy cannot be made, loaded, saved or asked.

use std::path::{Path, PathBuf};

use troupe_core::error::{Coded, ExitCode};
use troupe_core::storage::StorageError;

/// Why a policy cannot be made, loaded, saved or asked.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file of a policy that is to be loaded is damaged, or cannot be read.
    #[error(transparent)]
    Unreadable(StorageError),
    /// There is no policy.
    #[error("there is no policy in `{}`: {}", .0.display(), what_instead(.0))]
    Missing(PathBuf),
    /// A file of llama.cpp cannot be made a checkpoint folder.
    #[error("cannot import `{}`: {reason}", path.display())]
    Gguf {
        /// The file.
        path: PathBuf,
        /// What is wrong and what would work.
        reason: String,
    },
    /// `config.json` is not one of a model we can run.
    #[error("cannot use `{}`: {reason}", path.display())]
    Architecture {
        /// The file.
        path: PathBuf,
        /// What is wrong and what would work.
        reason: String,
    },
    /// The weights do not fit the architecture.
    #[error("cannot load the weights in `{}`: {reason}", path.display())]
    Weights {
        /// The file or folder.
        path: PathBuf,
        /// Which tensor, what is wrong and what was expected.
        reason: String,
    },
    /// There is no room for the weights.
    #[error(
        "its weights would take {} and {} are free; take a smaller model or a narrower type of \
         weights",
        with_unit(*needed), with_unit(*free)
    )]
    TooLarge {
        /// Bytes of the weights.
        needed: u64,
        /// Bytes there are.
        free: u64,
    },
    /// An adapter cannot be made or does not fit its base.
    #[error("cannot use the adapter: {0}")]
    Adapter(String),
    /// The tokenizer cannot be made, loaded or used.
    #[error("cannot use the tokenizer: {0}")]
    Tokenizer(String),
    /// The chat template cannot be parsed or rendered.
    #[error("cannot use the chat template: {0}")]
    Template(String),
    /// The tokenizer has no token for words that must be learned or said.
    #[error("the tokenizer does not know {}; add them to the vocabulary", quoted(.0))]
    UnknownWords(Vec<String>),
    /// A prompt cannot be answered.
    #[error("{0}")]
    Prompt(String),
    /// A thought cannot be ended.
    #[error(
        "`thinking_budget` needs a policy that ends a thought with one token, and this one has no \
         `</think>`; leave it out, or set it as roles.<role>.thinking_budget for those that think"
    )]
    Thoughtless,
    /// The policy cannot keep to what answers may be.
    #[error("`allowed` cannot be kept: {0}")]
    Allowed(String),
    /// A prompt leaves no room for an answer.
    #[error(
        "a prompt of {prompt} tokens leaves no room for `max_completion_tokens = {answer}`: the \
         policy handles {positions} in all; shorten the prompt or the answer"
    )]
    PromptTooLong {
        /// Tokens of the prompt.
        prompt: usize,
        /// Tokens that the answer may have.
        answer: usize,
        /// What the policy can handle.
        positions: i64,
    },
    /// The weights no longer give probabilities.
    #[error(
        "the policy's log-probabilities are not finite, its weights have diverged; go back to a \
         checkpoint and lower `learning_rate`"
    )]
    Diverged,
    /// A sampling setting is out of range.
    #[error("`{setting}` is {value}, but must be {range}")]
    Sampling {
        /// Its name in the configuration.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// The values that make sense.
        range: &'static str,
    },
    /// The device asked for is not there.
    #[error("cannot use device `{device}`: {reason}")]
    Device {
        /// As asked for.
        device: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The server of a remote policy cannot be used.
    #[error("cannot use the server at `{url}`: {reason}")]
    Remote {
        /// Its address.
        url: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// libtorch reported an error.
    #[error("libtorch: {}", first_line(.0))]
    Torch(tch::TchError),
}

impl From<tch::TchError> for PolicyError {
    // Not as a source: all of it but the first line is a back trace.
    fn from(error: tch::TchError) -> Self {
        PolicyError::Torch(error)
    }
}

impl PolicyError {
    /// The same, where a policy was to be loaded: what is wrong with its files is wrong with it.
    pub(super) fn in_loading(self) -> Self {
        match self {
            PolicyError::Storage(error) => PolicyError::Unreadable(error),
            other => other,
        }
    }

    /// What libtorch said if a card had no memory left.
    pub fn no_memory(&self) -> Option<String> {
        match self {
            PolicyError::Torch(error) => no_memory(error),
            _ => None,
        }
    }

    /// The code where a policy was loaded, and worked until something happened in the run.
    pub fn code_in_a_run(&self) -> Option<ExitCode> {
        match self {
            PolicyError::Storage(error) => error.code(),
            _ => Some(ExitCode::Run),
        }
    }
}

impl Coded for PolicyError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            PolicyError::Storage(error) => error.code(),
            _ => Some(ExitCode::Policy),
        }
    }
}

/// What to name where there is no policy.
fn what_instead(path: &Path) -> String {
    let is_gguf = |path: &Path| path.extension().is_some_and(|extension| extension == "gguf");
    let within =
        || std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).find(|p| is_gguf(p));
    let file = if is_gguf(path) { Some(path.to_owned()) } else { within() };
    match file {
        Some(file) => format!(
            "a GGUF file is imported first: `host policy import {} --out FOLDER`",
            file.display()
        ),
        None => "it has no config.json; name a folder in the Hugging Face layout (nothing is \
                 downloaded)"
            .to_owned(),
    }
}

fn with_unit(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Wrap words in backticks for an error message.
fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The message of a libtorch error without its C++ back trace.
pub fn first_line(error: &tch::TchError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// What libtorch said if this is its error for a card without memory.
pub fn no_memory(error: &tch::TchError) -> Option<String> {
    let said = first_line(error);
    said.find("CUDA out of memory").map(|at| said[at..].to_owned())
}
