//! A card that needs no card, for tests on machines without a GPU: a `libtorch_cuda.so` whose
//! device `cuda:0` is the host's memory and whose kernels are the CPU's, and which refuses what a
//! card refuses or gets wrong. README.md says what that is.
//!
//! A test that inserts it has it for its process; a program has it by [`environment`].

#![expect(unsafe_code, reason = "opens a library and calls its functions")]

mod breaks;
mod costs;

use std::path::Path;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
// Links libtorch, which the card is a part of.
use torch_sys as _;

pub use breaks::breaks;
pub use costs::{Cost, Costs};

/// Where the library lies.
pub const FOLDER: &str = env!("OUT_DIR");

/// What a program is started with to find the pretended card.
pub fn environment() -> [(&'static str, &'static str); 2] {
    [("LD_LIBRARY_PATH", FOLDER), ("TROUPE_DEVICE", "cuda:0")]
}

/// Have a card in this process: the pretended one, unless `TROUPE_CARD=real` asks for that of this
/// machine, of which nothing can be counted.
///
/// # Panics
/// If the library cannot be opened.
pub fn insert() -> Option<Card> {
    let real = std::env::var_os("TROUPE_CARD").is_some_and(|card| card == "real");
    (!real).then(Card::insert)
}

/// Bytes of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// That are taken.
    pub current: u64,
    /// That were taken at most.
    pub peak: u64,
}

/// The card in this process.
#[derive(Clone, Copy, Debug)]
pub struct Card(&'static Library);

impl Card {
    /// Have it in this process, as libtorch's CUDA half. It must be there before libtorch is asked
    /// for a card the first time, and before it goes back through a graph of operations.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn insert() -> Self {
        static OPENED: OnceLock<Library> = OnceLock::new();
        let open = || {
            let path = Path::new(FOLDER).join("libtorch_cuda.so");
            // SAFETY: its initializers register kernels with libtorch, which is linked.
            let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
            library.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        Card(OPENED.get_or_init(open))
    }

    /// Bytes that are taken of this card.
    pub fn memory(self, card: i32) -> Memory {
        let (mut current, mut peak) = (0_usize, 0_usize);
        let read =
            self.function::<unsafe extern "C" fn(i32, *mut usize, *mut usize)>(b"pretend_memory\0");
        // SAFETY: declared as in cost.cpp; both pointers are to locals.
        unsafe { read(card, &mut current, &mut peak) };
        Memory { current: current as u64, peak: peak as u64 }
    }

    /// Let every card have so many bytes.
    pub fn limit(self, bytes: u64) {
        // SAFETY: declared as in cost.cpp.
        unsafe { self.function::<unsafe extern "C" fn(u64)>(b"pretend_limit\0")(bytes) }
    }

    /// Count kernels and peaks of memory from here on.
    pub fn forget(self) {
        // SAFETY: declared as in cost.cpp.
        unsafe { self.function::<unsafe extern "C" fn()>(b"pretend_forget\0")() }
    }

    /// What was launched since.
    ///
    /// # Panics
    /// If the library counts in another way than this crate reads.
    pub fn costs(self) -> Costs {
        type Read = unsafe extern "C" fn(*mut u8, usize) -> usize;
        let read = self.function::<Read>(b"pretend_costs\0");
        let mut text = vec![0_u8; 1 << 20];
        // SAFETY: declared as in cost.cpp; it writes at most as many bytes as there are.
        let length = unsafe { read(text.as_mut_ptr(), text.len()) };
        text.truncate(length);
        Costs::read(&String::from_utf8_lossy(&text))
    }

    fn function<F: Copy>(self, name: &[u8]) -> F {
        // SAFETY: callers name the type with which cost.cpp declares it.
        let found = unsafe { self.0.get::<F>(name) };
        *found.unwrap_or_else(|error| panic!("{error}"))
    }
}
