//! Ranks that are threads of one process.

use std::net::TcpListener;
use std::os::fd::IntoRawFd;
use std::thread;

use super::Ranks;
use troupe_core::rank::{Rank, Service};

/// What each of so many comes to.
pub(crate) fn threads<R: Send>(world: usize, work: impl Fn(Ranks) -> R + Sync) -> Vec<R> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = listener.into_raw_fd();
    let rank = |number: usize| {
        let rank = Rank {
            number,
            world,
            local: number,
            neighbors: world,
            host: "127.0.0.1".to_owned(),
            port,
            service: Service::First(Some(socket).filter(|_| number == 0)),
        };
        let ranks = Ranks::meet(&rank, |_| ()).unwrap();
        let result = work(ranks.clone());
        // No rank leaves while others still ask which one serves the meeting.
        ranks.gather(()).unwrap();
        result
    };
    thread::scope(|scope| {
        let rank = &rank;
        let ranks: Vec<_> = (0..world).map(|number| scope.spawn(move || rank(number))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}
