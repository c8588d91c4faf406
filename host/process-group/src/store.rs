//! Where processes meet: numbers by name, served by one of them or by `torchrun`.

use std::ffi::{CString, c_char, c_int};
use std::ptr::NonNull;
use std::time::Duration;

use super::{GroupError, call};

/// Where to find a store.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// The machine that serves it.
    pub host: String,
    /// And its port.
    pub port: u16,
    /// What the names begin with.
    pub prefix: String,
}

/// The C++ half's.
#[repr(C)]
pub(super) struct RawStore {
    _opaque: [u8; 0],
}

/// A connection to the numbers, of its own for each thread that asks often: a question that
/// waits holds up all others of its connection.
#[derive(Debug)]
pub struct Store(NonNull<RawStore>);

#[expect(unsafe_code, reason = "says what the C++ half keeps to")]
// SAFETY: libtorch's stores lock themselves.
unsafe impl Send for Store {}

#[expect(unsafe_code, reason = "says what the C++ half keeps to")]
// SAFETY: as above.
unsafe impl Sync for Store {}

#[expect(unsafe_code, reason = "declares the C++ half")]
// SAFETY: declared as in group.cpp.
unsafe extern "C" {
    fn troupe_store_open(
        host: *const c_char,
        port: c_int,
        serves: c_int,
        listener: c_int,
        prefix: *const c_char,
        timeout_ms: i64,
        out: *mut *mut RawStore,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn troupe_store_add(
        store: *mut RawStore,
        key: *const c_char,
        amount: i64,
        out: *mut i64,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn troupe_store_close(store: *mut RawStore);
}

impl Store {
    /// Serve the numbers, over a socket that listens at the meeting's port already, if there is
    /// one: the port cannot have been taken meanwhile.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn serve(
        meeting: &Meeting,
        listener: Option<i32>,
        patience: Duration,
    ) -> Result<Self, GroupError> {
        Store::open(meeting, true, listener.unwrap_or(-1), patience)
    }

    /// Ask the process that serves them, which may start later.
    ///
    /// # Errors
    /// If none does for so long.
    pub fn visit(meeting: &Meeting, patience: Duration) -> Result<Self, GroupError> {
        Store::open(meeting, false, -1, patience)
    }

    fn open(
        meeting: &Meeting,
        serves: bool,
        listener: i32,
        patience: Duration,
    ) -> Result<Self, GroupError> {
        let (host, prefix) = (text(&meeting.host)?, text(&meeting.prefix)?);
        let mut store = std::ptr::null_mut();
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: the texts end with a zero and outlive the call, which keeps no pointer.
        call(|message, capacity| unsafe {
            troupe_store_open(
                host.as_ptr(),
                c_int::from(meeting.port),
                c_int::from(serves),
                listener,
                prefix.as_ptr(),
                patience.as_millis() as i64,
                &raw mut store,
                message,
                capacity,
            )
        })?;
        NonNull::new(store).map(Store).ok_or_else(|| GroupError("no store".to_owned()))
    }

    /// Add to the number of this name, 0 at first: what it is then.
    ///
    /// # Errors
    /// If who serves the store is gone.
    pub fn add(&self, name: &str, amount: i64) -> Result<i64, GroupError> {
        let (name, mut sum) = (text(name)?, 0);
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: the store is open, the text ends with a zero.
        call(|message, capacity| unsafe {
            troupe_store_add(self.raw(), name.as_ptr(), amount, &raw mut sum, message, capacity)
        })?;
        Ok(sum)
    }

    pub(super) fn raw(&self) -> *mut RawStore {
        self.0.as_ptr()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: opened by us, closed once.
        unsafe {
            troupe_store_close(self.raw());
        }
    }
}

pub(super) fn text(text: &str) -> Result<CString, GroupError> {
    CString::new(text).map_err(|_| GroupError(format!("{text:?} holds a zero")))
}
