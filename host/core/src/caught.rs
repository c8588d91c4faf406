//! Panics of libraries that were not written for untrusted files.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic on this thread is caught, and reported where it was caught.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result of `work`, or what it said when it panicked. A panic that is caught here is not
/// printed: an error of ours says what became of it. Panics of other threads are shown as ever.
///
/// # Errors
/// If it panicked.
pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                shown(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    result.map_err(|cause| match cause.downcast::<String>() {
        Ok(said) => *said,
        Err(cause) => (*cause.downcast::<&str>().unwrap_or_default()).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_caught_is_nothing_and_what_comes_after_it_is_shown_again() {
        assert_eq!(caught(|| 5), Ok(5));
        assert_eq!(caught(|| -> u8 { panic!("of a library") }), Err("of a library".to_owned()));
        assert!(!QUIET.get());
        let inner = caught(|| {
            let number = 7;
            assert_eq!(caught(|| -> u8 { panic!("{number}") }), Err("7".to_owned()));
            QUIET.get()
        });
        assert_eq!(inner, Ok(true));
    }
}
