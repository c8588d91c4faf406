//! The processes of a run with several. Each has all policies and takes every decision itself,
//! from the same numbers; they share the tasks of a step, the work of an update, and what the
//! optimizers remember. What they have to exchange for that is four things: episodes
//! ([`Ranks::gather`]), sums of gradients ([`Ranks::sum`]), the weights that each of them has
//! stepped ([`Ranks::tell`]), and what only rank 0 can know ([`Ranks::agree`]).
//!
//! A process alone is a rank, too: rank 0 of 1, for whom none of this costs anything.

mod pulse;
#[cfg(test)]
mod threads;

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};
use serde::Serialize;
use serde::de::DeserializeOwned;
use troupe_process_group::{Group, GroupError, Interface, Meeting, Number, Store};

use pulse::Pulse;
#[cfg(test)]
pub(crate) use threads::threads;
use troupe_core::error::{Coded, ExitCode};
use troupe_core::rank::{Rank, Service};

/// How long all ranks may take to come.
const ARRIVAL: Duration = Duration::from_secs(300);
/// How long a rank waits for another's episodes. One who is gone is noticed at once, one who
/// stands still by its pulse.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Why the ranks cannot work together.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RanksError {
    /// They did not all come.
    #[error("rank {rank} of {world} cannot meet the others at {place}: {reason}")]
    Meeting {
        /// This one.
        rank: usize,
        /// How many there should be.
        world: usize,
        /// Where.
        place: String,
        /// What happened.
        reason: String,
    },
    /// Some are gone.
    #[error(
        "{who} of {world} is lost: it ended, or has stood still for {seconds} s; what was saved \
         stays, and `host train --resume` goes on with any number of processes"
    )]
    Lost {
        /// Which.
        who: String,
        /// Of how many.
        world: usize,
        /// How long it was waited for.
        seconds: u64,
    },
    /// They do not come to the same.
    #[error(
        "rank {rank} has {what} other than rank 0: all ranks need the same files, libraries and \
         kind of processor"
    )]
    Differ {
        /// One that is different.
        rank: usize,
        /// In what.
        what: String,
    },
    /// What was exchanged cannot be read.
    #[error("the ranks cannot exchange what they found: {0}")]
    Exchange(String),
}

impl Coded for RanksError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Lost)
    }
}

/// All ranks of a run, seen from one of them. A copy is the same ranks.
#[derive(Clone, Debug, Default)]
pub struct Ranks(Option<Arc<Several>>);

#[derive(Debug)]
struct Several {
    rank: usize,
    world: usize,
    neighbors: usize,
    // Left in this order: who serves the meeting goes last.
    group: Mutex<Group>,
    pulse: Pulse,
    _store: Store,
}

impl Ranks {
    /// This process alone.
    pub fn alone() -> Self {
        Ranks(None)
    }

    /// Meet the others. `abandon` is called, from a thread of its own, when one of them stands
    /// still, and should end this process, which may be waiting for it.
    ///
    /// # Errors
    /// If they do not all come.
    pub fn meet(
        rank: &Rank,
        abandon: impl FnOnce(RanksError) + Send + 'static,
    ) -> Result<Self, RanksError> {
        let place = format!("{}:{}", rank.host, rank.port);
        let failed = |reason: String| RanksError::Meeting {
            rank: rank.number,
            world: rank.world,
            place: place.clone(),
            reason,
        };
        let torch = |GroupError(reason): GroupError| failed(reason);
        let meeting = meeting(rank);
        let store = match &rank.service {
            Service::First(listener) if rank.number == 0 => {
                listener
                    .map_or(Ok(()), keep_to_oneself)
                    .map_err(|error| failed(error.to_string()))?;
                Store::serve(&meeting, *listener, ARRIVAL)
            }
            _ => Store::visit(&meeting, ARRIVAL),
        };
        let store = store.map_err(torch)?;
        wait_for_all(&store, rank).map_err(failed)?;
        let seat = (rank.number, rank.world);
        let group = Group::join(&store, seat, &interface(rank), PATIENCE).map_err(torch)?;
        let beats = Store::visit(&meeting, ARRIVAL).map_err(torch)?;
        let pulse = Pulse::begin(beats, seat, abandon);
        let several = Several {
            rank: rank.number,
            world: rank.world,
            neighbors: rank.neighbors,
            group: Mutex::new(group),
            pulse,
            _store: store,
        };
        Ok(Ranks(Some(Arc::new(several))))
    }

    /// Whether there are no others.
    pub fn is_alone(&self) -> bool {
        self.0.is_none()
    }

    /// Which one this is, from 0.
    pub fn rank(&self) -> usize {
        self.0.as_ref().map_or(0, |several| several.rank)
    }

    /// How many there are.
    pub fn world(&self) -> usize {
        self.0.as_ref().map_or(1, |several| several.world)
    }

    /// How many are on this machine, with which its memory is shared.
    pub fn neighbors(&self) -> usize {
        self.0.as_ref().map_or(1, |several| several.neighbors)
    }

    /// Whether this is rank 0, which writes what is written and says what is said.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// Those of some items, which all ranks have, that are this one's to work on.
    pub fn share_of<I: IntoIterator>(&self, items: I) -> impl Iterator<Item = I::Item> {
        items.into_iter().skip(self.rank()).step_by(self.world())
    }

    /// Have each number be the sum of the ranks'.
    ///
    /// # Errors
    /// If a rank is lost.
    pub fn sum<N: Number>(&self, numbers: &mut [N]) -> Result<(), RanksError> {
        let Some(several) = &self.0 else { return Ok(()) };
        several.group().sum(numbers).map_err(|_| several.lost())
    }

    /// Have each number be that of one of the ranks.
    ///
    /// # Errors
    /// If a rank is lost.
    pub fn tell<N: Number>(&self, numbers: &mut [N], from: usize) -> Result<(), RanksError> {
        self.0.as_ref().map_or(Ok(()), |several| several.broadcast(numbers, from))
    }

    /// What all ranks bring, in their order.
    ///
    /// # Errors
    /// If a rank is lost.
    pub fn gather<T: Serialize + DeserializeOwned>(&self, value: T) -> Result<Vec<T>, RanksError> {
        let Some(several) = &self.0 else { return Ok(vec![value]) };
        let mut bytes = to_bytes(&value)?;
        let lengths = several.gather(&mut [bytes.len() as f64])?;
        let longest = lengths.iter().copied().fold(0.0, f64::max) as usize;
        bytes.resize(longest, 0);
        let all = several.gather(&mut bytes)?;
        let parts = all.chunks(longest.max(1)).zip(lengths);
        parts.map(|(part, length)| from_bytes(&part[..length as usize])).collect()
    }

    /// What rank 0 finds, for all. The others do nothing but wait for it.
    ///
    /// # Errors
    /// At rank 0 if it does not find it, at the others if rank 0 is lost, as it is then.
    pub fn agree<T: Serialize + DeserializeOwned, E: From<RanksError>>(
        &self,
        find: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(several) = &self.0 else { return find() };
        let value = self.leads().then(find).transpose()?;
        let mut bytes = value.as_ref().map(to_bytes).transpose()?.unwrap_or_default();
        let mut length = [bytes.len() as f64];
        several.broadcast(&mut length, 0)?;
        bytes.resize(length[0] as usize, 0);
        several.broadcast(&mut bytes, 0)?;
        Ok(value.map_or_else(|| from_bytes(&bytes), Ok)?)
    }

    /// Make sure that all ranks have come to the same.
    ///
    /// # Errors
    /// If one has not, by its number.
    pub fn check(&self, what: &str, value: impl Serialize) -> Result<(), RanksError> {
        if self.is_alone() {
            return Ok(());
        }
        let all = self.gather(to_bytes(&value)?)?;
        match all.iter().position(|other| *other != all[0]) {
            None => Ok(()),
            Some(rank) => Err(RanksError::Differ { rank, what: what.to_owned() }),
        }
    }
}

impl Several {
    fn group(&self) -> MutexGuard<'_, Group> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gather<N: Number>(&self, numbers: &mut [N]) -> Result<Vec<N>, RanksError> {
        self.group().gather(numbers).map_err(|_| self.lost())
    }

    fn broadcast<N: Number>(&self, numbers: &mut [N], from: usize) -> Result<(), RanksError> {
        self.group().broadcast(numbers, from).map_err(|_| self.lost())
    }

    /// The missing ranks, when a call has failed.
    fn lost(&self) -> RanksError {
        self.pulse.missing()
    }
}

/// Programs that this process starts do not get a socket that it was given.
fn keep_to_oneself(socket: i32) -> std::io::Result<()> {
    #[expect(unsafe_code, reason = "a socket that was inherited has no owner yet")]
    // SAFETY: who started this process opened it for this process, which borrows it here only.
    let socket = unsafe { BorrowedFd::borrow_raw(socket) };
    Ok(fcntl_setfd(socket, FdFlags::CLOEXEC)?)
}

fn meeting(rank: &Rank) -> Meeting {
    let prefix = match &rank.service {
        Service::First(_) => "troupe".to_owned(),
        // As PyTorch has it, so that a restart does not meet what was left of the time before.
        Service::Agent(attempt) => format!("/worker/attempt_{attempt}/troupe"),
    };
    Meeting { host: rank.host.clone(), port: rank.port, prefix }
}

/// Where this rank is reached: as the user says, or at the loopback where all are on one machine.
fn interface(rank: &Rank) -> Interface {
    match std::env::var("GLOO_SOCKET_IFNAME") {
        Ok(name) if !name.is_empty() => Interface::Named(name),
        _ if rank.neighbors == rank.world => Interface::Address("127.0.0.1".to_owned()),
        _ => Interface::Default,
    }
}

/// Wait until every rank has said that it is there.
fn wait_for_all(store: &Store, rank: &Rank) -> Result<(), String> {
    let here = |rank: usize| format!("here/{rank}");
    let count = |rank, more| store.add(&here(rank), more).map_err(|GroupError(reason)| reason);
    if count(rank.number, 1)? > 1 {
        return Err(format!("there is another rank {}", rank.number));
    }
    let began = Instant::now();
    for other in 0..rank.world {
        while count(other, 0)? == 0 {
            if began.elapsed() > ARRIVAL {
                return Err(format!("rank {other} did not come in {} s", ARRIVAL.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, RanksError> {
    serde_json::to_vec(value).map_err(|error| RanksError::Exchange(error.to_string()))
}

fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, RanksError> {
    serde_json::from_slice(bytes).map_err(|error| RanksError::Exchange(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_everything_is_ones_own() {
        let ranks = Ranks::alone();
        assert!((ranks.rank(), ranks.world(), ranks.leads()) == (0, 1, true));
        assert_eq!(ranks.share_of(0..3).collect::<Vec<_>>(), [0, 1, 2]);
        let mut numbers = [1.0_f32, 2.0];
        ranks.sum(&mut numbers).unwrap();
        assert_eq!((numbers, ranks.gather(7).unwrap()), ([1.0, 2.0], vec![7]));
        assert_eq!(ranks.agree(|| Ok::<_, RanksError>(5)).unwrap(), 5);
    }

    #[test]
    fn numbers_cross_as_they_are_to_the_last_bit() {
        let numbers = [0.1_f32, f32::MIN_POSITIVE, -1.175_494_2e-38, 3.4e38, 16_777_217.0];
        let back: Vec<f32> = from_bytes(&to_bytes(&numbers).unwrap()).unwrap();
        assert_eq!(back, numbers);
        let mut bits = 0x3f80_0001_u32;
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = f32::from_bits(bits);
            if number.is_finite() {
                let back: f32 = from_bytes(&to_bytes(&number).unwrap()).unwrap();
                assert_eq!(back.to_bits(), number.to_bits());
            }
        }
    }
}
