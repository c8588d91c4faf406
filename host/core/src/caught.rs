//! Panics of libraries that were not written for untrusted files.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic on this thread is caught, and reported where it was caught.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result of `work`, or nothing if it panicked. A panic that is caught here is not
/// printed: an error of ours says what became of it. Panics of other threads are shown as ever.
pub fn caught<R>(work: impl FnOnce() -> R) -> Option<R> {
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
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_caught_is_nothing_and_what_comes_after_it_is_shown_again() {
        assert_eq!(caught(|| 5), Some(5));
        assert_eq!(caught(|| -> u8 { panic!("of a library") }), None);
        assert!(!QUIET.get());
        let inner = caught(|| {
            assert_eq!(caught(|| -> u8 { panic!("within") }), None);
            QUIET.get()
        });
        assert_eq!(inner, Some(true));
    }
}
