//! A server for tests that speaks Tinker's protocol.
//!
//! Its model is a table: each token is drawn by the one before it, so every gradient is known in
//! closed form, and a step takes microseconds. Everything else is as real servers have it, with
//! their [`Traps`], one by one or all of one server's.
//!
//! It checks nothing that it is sent, as real ones do not: an id beyond the vocabulary or a number
//! that is none ruins every model. [`Server::harmed`] says whether that has happened.

mod bigram;
mod http;
mod protobuf;
mod traps;
mod world;

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

pub use bigram::{Table, base, log_softmax};
pub use protobuf::{Datum, Gradient};
pub use traps::{Older, Sums, Traps};

use http::Request;
use world::World;

/// A running server; it ends with the test's process.
#[derive(Debug)]
pub struct Server {
    address: String,
    world: Arc<Mutex<World>>,
}

impl Server {
    /// Start one with these bases, all of so many tokens.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start(bases: &[&str], vocabulary: usize, traps: Traps) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let bases = bases.iter().map(ToString::to_string).collect();
        let world = Arc::new(Mutex::new(World::new(address.clone(), bases, vocabulary, traps)));
        let known = world.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let world = known.clone();
                thread::spawn(move || serve(stream, &world));
            }
        });
        Server { address, world }
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.address
    }

    /// Change its ways.
    pub fn set(&self, change: impl FnOnce(&mut Traps)) {
        change(&mut self.world().traps);
    }

    /// As after a restart: what was loaded is gone, what was saved and who asked is known.
    pub fn restart(&self) {
        self.world().restart();
    }

    /// Forget every checkpoint, too.
    pub fn lose_checkpoints(&self) {
        self.world().lose_checkpoints();
    }

    /// The gradients it was sent, the first one first.
    pub fn gradients(&self) -> Vec<Gradient> {
        self.world().gradients.clone()
    }

    /// The gradient of each step of a rate above 0, laid out by the token before and after.
    pub fn steps(&self) -> Vec<Vec<Vec<f64>>> {
        self.world().steps.clone()
    }

    /// The settings of each of these steps, as they came.
    pub fn optimizer_settings(&self) -> Vec<serde_json::Value> {
        self.world().settings.clone()
    }

    /// Models that are loaded.
    pub fn loaded(&self) -> usize {
        self.world().loaded()
    }

    /// Checkpoints that are kept.
    pub fn checkpoints(&self) -> Vec<String> {
        self.world().checkpoints()
    }

    /// Heartbeats that came.
    pub fn heartbeats(&self) -> usize {
        self.world().heartbeats
    }

    /// Requests that came, by route, the first one first.
    pub fn routes(&self) -> Vec<String> {
        self.world().routes.clone()
    }

    /// What it was sent that would have ruined a real server.
    pub fn harmed(&self) -> Vec<String> {
        self.world().harms.clone()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    // A test that failed within it is told of by its panic.
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, world: &Mutex<World>) {
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some(request) = Request::read(&mut reader) {
        let (response, slow) = {
            let mut world = lock(world);
            (world.answer(&request), world.slowness(&request))
        };
        thread::sleep(slow);
        // A lost answer: the connection ends instead.
        let Some(response) = response else { return };
        if response.write(&mut writer).is_err() {
            return;
        }
    }
}
