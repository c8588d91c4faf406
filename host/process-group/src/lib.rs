//! Processes that sum and exchange numbers: libtorch's c10d, which `tch` does not
//! hand out. They meet at a [`Store`] that one of them serves, and form a
//! [`Group`] over Gloo. The C++ half is `c10d/group.cpp`.

mod group;
mod store;

use std::ffi::{CStr, c_char};

pub use group::{Group, Interface, Number};
pub use store::{Meeting, Store};

/// What libtorch says of a failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GroupError(pub String);

/// Room for an error's message.
const CAPACITY: usize = 1024;

/// Call the C++ half, which is given room for a message and returns 0 if all went well.
fn call(work: impl FnOnce(*mut c_char, usize) -> i32) -> Result<(), GroupError> {
    let mut message = [0_u8; CAPACITY];
    if work(message.as_mut_ptr().cast(), CAPACITY) == 0 {
        return Ok(());
    }
    let message = CStr::from_bytes_until_nul(&message).unwrap_or_default().to_string_lossy();
    // What follows is where in libtorch it happened.
    Err(GroupError(message.lines().next().unwrap_or_default().to_owned()))
}
