//! What a C++ half says when it fails, as `guarded.h` writes it.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::NonNull;

use tch::TchError;

/// Room for it.
const CAPACITY: usize = 512;

/// What `call` made, or its message. It is given where to write one and how many bytes at most.
pub(super) fn made<T>(
    call: impl FnOnce(*mut c_char, usize) -> *mut T,
) -> Result<NonNull<T>, TchError> {
    let mut message = [0_u8; CAPACITY];
    let made = call(message.as_mut_ptr().cast(), CAPACITY);
    NonNull::new(made).ok_or_else(|| error(&message))
}

/// The same of a call that returns 0 if all went well.
pub fn done(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), TchError> {
    let mut message = [0_u8; CAPACITY];
    match call(message.as_mut_ptr().cast(), CAPACITY) {
        0 => Ok(()),
        _ => Err(error(&message)),
    }
}

fn error(message: &[u8]) -> TchError {
    let message = CStr::from_bytes_until_nul(message).unwrap_or_default();
    TchError::Torch(message.to_string_lossy().into_owned())
}
