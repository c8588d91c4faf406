//! A server: what it says of itself, and sessions of it.

mod tasks;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use super::action_form::ActionForm;
use super::http::Http;
use super::observation::Observation;
use super::options::Options;
use super::room::Room;
use super::session::Session;
use super::socket::Way;
use super::trouble::{Trouble, short};
use crate::plugin::{SettingError, Split, Task};
use tasks::Tasks;
use troupe_core::config::Limits;
use troupe_core::error::{Coded, ExitCode};

/// A frame may hold several texts.
const TEXTS_PER_FRAME: usize = 8;

/// Why a server cannot be played with. Found before a run begins.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// A setting is not one, or cannot be used.
    #[error("the [environment] settings do not fit an OpenEnv server: {0}")]
    Settings(#[from] SettingError),
    /// A setting's value cannot be used.
    #[error("the [environment] settings do not fit an OpenEnv server: {0}")]
    Unfit(String),
    /// It does not answer as it should.
    #[error("the environment at {address} cannot be played: {reason}")]
    Server {
        /// Where it is.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// States cannot be gone back to, and the run wants that.
    #[error(
        "the environment at {address} cannot be forked: {reason}; choose independent episodes, \
         with rollout.scheme = \"trajectory\" and an estimator such as advantage.estimator = \
         \"grpo\""
    )]
    Unforkable {
        /// Where it is.
        address: String,
        /// What differed.
        reason: String,
    },
}

impl Coded for ForeignError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            ForeignError::Server { .. } => Some(ExitCode::Plugin),
            _ => Some(ExitCode::Usage),
        }
    }
}

/// A server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) summary: String,
    pub(super) form: ActionForm,
    pub(super) options: Options,
    way: Way,
    room: Room,
    tasks: Tasks,
    most_bytes: usize,
    driver: Driver,
}

/// The thread that waits for all sockets.
#[derive(Debug)]
struct Driver {
    handle: Handle,
    /// Dropped with the server, which ends the thread.
    _until: oneshot::Sender<()>,
}

impl Driver {
    fn start() -> std::io::Result<Self> {
        let runtime: Runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        let (until, ended) = oneshot::channel::<()>();
        thread::Builder::new().name("openenv".to_owned()).spawn(move || {
            let _ = runtime.block_on(ended);
        })?;
        Ok(Driver { handle, _until: until })
    }

    /// Does something on that thread and waits for it.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (done, result) = std::sync::mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // Waiting sessions stay until there is something.
            let _ = done.send(work.await);
        });
        result.recv().map_err(|_| Trouble::Connection("its thread has ended".to_owned()))
    }
}

impl Server {
    /// Asks a server what it is.
    pub(super) fn meet(options: Options, limits: &Limits) -> Result<Self, ForeignError> {
        let address = options.address.to_string();
        let failed = |reason: String| ForeignError::Server { address: address.clone(), reason };
        let token = token(&options).map_err(ForeignError::Unfit)?;
        let driver = Driver::start().map_err(|error| failed(error.to_string()))?;
        let most_bytes = limits.text_kib << 10;
        let way = Way {
            address: options.address.clone(),
            token,
            timeout: options.timeout,
            frame_bytes: most_bytes.saturating_mul(TEXTS_PER_FRAME),
        };
        let asked = driver.wait(introduce(way.clone(), options.validation_split.clone())).flatten();
        let (metadata, schema, tasks) = asked.map_err(|trouble| failed(trouble.to_string()))?;
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = match text("name").trim() {
            "" => "openenv".to_owned(),
            name => plain(name),
        };
        Ok(Server {
            name,
            version: plain(text("version")),
            summary: short(text("description")),
            form: ActionForm::of(schema.get("action").unwrap_or(&Value::Null)),
            room: Room::new(options.sessions),
            options,
            way,
            tasks,
            most_bytes,
            driver,
        })
    }

    /// Begins a task in a new session. `gives_way` says whether sessions that wait may
    /// be closed for it.
    pub(super) fn begin(
        &self,
        task: &Task,
        gives_way: bool,
    ) -> Result<(Session, Observation), Trouble> {
        let reset = self.reset(task)?;
        let until = Instant::now() + self.options.timeout;
        let mut pause = Duration::from_millis(10);
        loop {
            let place = self.room.place(gives_way, self.options.timeout)?;
            let socket = self.way.open(&self.driver.handle, place);
            match Session::begin(socket, &reset, self.most_bytes) {
                // It may not have noticed yet that others are closed.
                Err(Trouble::Full(_)) if Instant::now() < until => self.room.shrink(),
                Ok(begun) => {
                    self.room.grow();
                    return Ok(begun);
                }
                failed => return failed,
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }

    /// Where sessions wait.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    /// A split that can be tried.
    pub(super) fn any_split(&self) -> Split {
        self.tasks.any_split()
    }

    /// The fields of a reset: the user's, and what names the task.
    fn reset(&self, task: &Task) -> Result<Map<String, Value>, Trouble> {
        let mut reset = self.options.reset.clone();
        reset.extend(self.tasks.choose(task)?);
        Ok(reset)
    }
}

/// The token, from its file.
fn token(options: &Options) -> Result<Option<String>, String> {
    let Some(file) = &options.token_file else { return Ok(None) };
    let text = fs::read_to_string(file)
        .map_err(|error| format!("`token_file` `{}` cannot be read: {error}", file.display()))?;
    let token = text.trim();
    let is_fit = |letter: u8| letter.is_ascii_graphic();
    if token.is_empty() || !token.bytes().all(is_fit) {
        return Err(format!("`token_file` `{}` holds no token: one word", file.display()));
    }
    Ok(Some(token.to_owned()))
}

/// Asks for the server's metadata, the schema of its actions and its tasks.
async fn introduce(way: Way, validation: String) -> Result<(Value, Value, Tasks), Trouble> {
    let http = Http {
        address: &way.address,
        token: way.token.as_deref(),
        timeout: way.timeout,
        most_bytes: way.frame_bytes,
    };
    let schema = http.get("/schema").await?;
    let Some(schema) = schema else {
        let message = "it has no `/schema`, so it is no OpenEnv server";
        return Err(Trouble::Invalid(message.to_owned()));
    };
    let metadata = http.get("/metadata").await?.unwrap_or_default();
    Ok((metadata, schema, Tasks::ask(&http, &validation).await?))
}

/// A word of a server as it may stand in names of files and figures.
fn plain(text: &str) -> String {
    let fits = |c: &char| !c.is_control() && !"/\\`\"".contains(*c);
    text.chars().filter(fits).take(64).collect()
}
