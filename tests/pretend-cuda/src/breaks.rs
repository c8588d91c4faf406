//! What no program should do to a card; its C++ half is `breaks.cpp`.

use std::ffi::{CString, c_char, c_int};

// SAFETY: declared as in breaks.cpp.
unsafe extern "C" {
    fn pretend_break(rule: *const c_char, message: *mut c_char, capacity: usize) -> c_int;
}

/// Break a rule of this name on purpose; what the card says to it, or what came of it.
///
/// # Panics
/// If no rule has this name.
pub fn breaks(rule: &str) -> String {
    let name = CString::new(rule).expect("rules have no zero in their names");
    let mut message = vec![0_u8; 1 << 14];
    // SAFETY: the C++ half writes at most `capacity` bytes with a zero at their end.
    let known = unsafe { pretend_break(name.as_ptr(), message.as_mut_ptr().cast(), message.len()) };
    assert!(known == 0, "there is no rule `{rule}`");
    let message = message.split(|&byte| byte == 0).next().unwrap_or_default();
    let message = String::from_utf8_lossy(message);
    message.lines().next().unwrap_or_default().to_owned()
}
