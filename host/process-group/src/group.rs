//! Processes that compute together.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;
use std::time::Duration;

use super::store::{RawStore, text};
use super::{GroupError, Store, call};

/// The C++ half's.
#[repr(C)]
struct RawGroup {
    _opaque: [u8; 0],
}

/// Where the others reach this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    /// At the network interface of this name.
    Named(String),
    /// At this address of the machine.
    Address(String),
    /// Where the machine's name leads.
    Default,
}

/// As many processes as there are ranks. All of them must make the same calls in the same order;
/// each call waits for the others.
#[derive(Debug)]
pub struct Group {
    raw: NonNull<RawGroup>,
    world: usize,
}

#[expect(unsafe_code, reason = "says what the C++ half keeps to")]
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Group {}

#[expect(unsafe_code, reason = "declares the C++ half")]
// SAFETY: declared as in group.cpp.
unsafe extern "C" {
    fn troupe_group_join(
        store: *mut RawStore,
        rank: c_int,
        world: c_int,
        interface: *const c_char,
        host: *const c_char,
        timeout_ms: i64,
        out: *mut *mut RawGroup,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn troupe_group_sum(
        group: *mut RawGroup,
        data: *mut c_void,
        count: i64,
        kind: c_int,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn troupe_group_broadcast(
        group: *mut RawGroup,
        data: *mut c_void,
        count: i64,
        kind: c_int,
        root: c_int,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn troupe_group_gather(
        group: *mut RawGroup,
        all: *mut c_void,
        own: *mut c_void,
        count: i64,
        kind: c_int,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn troupe_group_leave(group: *mut RawGroup);
}

/// A number that the group can exchange.
pub trait Number: Copy + Default + sealed::Kind {}

mod sealed {
    /// As group.cpp counts them.
    pub trait Kind {
        const KIND: i32;
    }
    impl Kind for u8 {
        const KIND: i32 = 0;
    }
    impl Kind for f32 {
        const KIND: i32 = 1;
    }
    impl Kind for f64 {
        const KIND: i32 = 2;
    }
}

impl Number for u8 {}
impl Number for f32 {}
impl Number for f64 {}

impl Group {
    /// Join as one of so many. `patience` is how long a call waits for others who are there, but
    /// have not come so far; one who is gone is an error at once.
    ///
    /// # Errors
    /// If the others cannot be reached.
    pub fn join(
        store: &Store,
        (rank, world): (usize, usize),
        interface: &Interface,
        patience: Duration,
    ) -> Result<Self, GroupError> {
        let (name, host) = match interface {
            Interface::Named(name) => (name.as_str(), ""),
            Interface::Address(host) => ("", host.as_str()),
            Interface::Default => ("", ""),
        };
        let (name, host) = (text(name)?, text(host)?);
        let mut raw = std::ptr::null_mut();
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: the store is open and kept by the group itself, the texts end with a zero.
        call(|message, capacity| unsafe {
            troupe_group_join(
                store.raw(),
                rank as c_int,
                world as c_int,
                name.as_ptr(),
                host.as_ptr(),
                patience.as_millis() as i64,
                &raw mut raw,
                message,
                capacity,
            )
        })?;
        let raw = NonNull::new(raw).ok_or_else(|| GroupError("no group".to_owned()))?;
        Ok(Group { raw, world })
    }

    /// Have each number be the sum of the ranks': the same bits for every rank.
    ///
    /// # Errors
    /// If a rank is gone.
    pub fn sum<N: Number>(&mut self, numbers: &mut [N]) -> Result<(), GroupError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let (data, count) = (numbers.as_mut_ptr().cast(), numbers.len() as i64);
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: `data` is `count` numbers of this kind, borrowed until the call is over.
        call(|message, capacity| unsafe {
            troupe_group_sum(self.raw.as_ptr(), data, count, N::KIND, message, capacity)
        })
    }

    /// Have everybody's numbers be those of one rank.
    ///
    /// # Errors
    /// If a rank is gone.
    pub fn broadcast<N: Number>(
        &mut self,
        numbers: &mut [N],
        root: usize,
    ) -> Result<(), GroupError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let (data, count) = (numbers.as_mut_ptr().cast(), numbers.len() as i64);
        let root = root as c_int;
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: as in `sum`.
        call(|message, capacity| unsafe {
            let group = self.raw.as_ptr();
            troupe_group_broadcast(group, data, count, N::KIND, root, message, capacity)
        })
    }

    /// What all ranks bring, as many numbers each, in the order of the ranks.
    ///
    /// # Errors
    /// If a rank is gone.
    pub fn gather<N: Number>(&mut self, own: &mut [N]) -> Result<Vec<N>, GroupError> {
        let mut all = vec![N::default(); own.len() * self.world];
        if own.is_empty() {
            return Ok(all);
        }
        let count = own.len() as i64;
        let (to, from) = (all.as_mut_ptr().cast(), own.as_mut_ptr().cast());
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: `from` is `count` numbers and `to` room for as many of each rank, both
        // borrowed until the call is over.
        call(|message, capacity| unsafe {
            troupe_group_gather(self.raw.as_ptr(), to, from, count, N::KIND, message, capacity)
        })?;
        Ok(all)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: joined by us, left once.
        unsafe {
            troupe_group_leave(self.raw.as_ptr());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::IntoRawFd;
    use std::thread;

    use super::*;
    use crate::Meeting;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// What each of so many ranks, which are threads here, makes of its group.
    fn ranks<R: Send>(world: usize, work: impl Fn(usize, Group) -> R + Sync) -> Vec<R> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let meeting = Meeting { host: "127.0.0.1".to_owned(), port, prefix: "test".to_owned() };
        let patience = PATIENCE;
        let socket = listener.into_raw_fd();
        let served = Store::serve(&meeting, Some(socket), patience).unwrap();
        let rank = |rank: usize| {
            let store = Store::visit(&meeting, patience).unwrap();
            let interface = Interface::Address("127.0.0.1".to_owned());
            let group = Group::join(&store, (rank, world), &interface, patience).unwrap();
            work(rank, group)
        };
        let results = thread::scope(|scope| {
            let rank = &rank;
            let threads: Vec<_> =
                (0..world).map(|number| scope.spawn(move || rank(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(served.add("asked", 2).unwrap() + served.add("asked", 1).unwrap(), 5);
        results
    }

    #[test]
    fn sums_gathers_and_broadcasts_are_what_they_say_for_every_rank() {
        for world in [1, 2, 3] {
            let found = ranks(world, |rank, mut group| {
                let mut sum = vec![rank as f32 + 1.0, 0.5];
                group.sum(&mut sum).unwrap();
                let mut exact = [1e-17 * (rank as f64 + 1.0)];
                group.sum(&mut exact).unwrap();
                let mut told = [rank as u8; 3];
                group.broadcast(&mut told, world - 1).unwrap();
                (sum, exact, told, group.gather(&mut [rank as u8, 7]).unwrap())
            });
            let count = world as f32;
            for (sum, exact, told, all) in &found {
                assert_eq!(*sum, [count * (count + 1.0) / 2.0, count * 0.5]);
                assert!((exact[0] * 1e17 - f64::from(sum[0])).abs() < 1e-9);
                assert_eq!(*told, [world as u8 - 1; 3]);
                assert_eq!(*all, (0..world as u8).flat_map(|rank| [rank, 7]).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_rank_that_is_gone_is_an_error_at_once() {
        let began = std::time::Instant::now();
        let found = ranks(2, |rank, mut group| {
            // Who leaves while the other is still joining is missed by the join instead.
            group.sum(&mut [1.0_f32; 4]).unwrap();
            (rank == 0).then(|| group.sum(&mut [1.0_f32; 4]))
        });
        assert!(matches!(found[0], Some(Err(_))), "{found:?}");
        assert!(began.elapsed() < PATIENCE);
    }

    #[test]
    fn who_is_not_served_is_told_so() {
        let meeting = Meeting { host: "127.0.0.1".to_owned(), port: 9, prefix: String::new() };
        assert!(Store::visit(&meeting, Duration::from_millis(200)).is_err());
    }
}
