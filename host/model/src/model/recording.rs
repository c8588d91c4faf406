//! What a device is told over and over, recorded the first time; its C++ half is `recording.cpp`.
//!
//! A GPU of today is faster than the host can tell it what to do: a decoding step is hundreds of
//! small operations. As a CUDA graph they are told in one call.

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

use tch::TchError;
use troupe_core::caught::caught;

use super::message::{done, made};

#[expect(unsafe_code, reason = "declares the C++ half")]
// SAFETY: declared as in recording.cpp.
unsafe extern "C" {
    fn troupe_recording_new(device: c_int, message: *mut c_char, capacity: usize) -> *mut Opaque;
    fn troupe_recording_delete(recording: *mut Opaque);
    fn troupe_recording_enter(it: *mut Opaque, message: *mut c_char, capacity: usize) -> c_int;
    fn troupe_recording_leave(it: *mut Opaque, message: *mut c_char, capacity: usize) -> c_int;
    fn troupe_recording_begin(it: *mut Opaque, message: *mut c_char, capacity: usize) -> c_int;
    fn troupe_recording_end(it: *mut Opaque, message: *mut c_char, capacity: usize) -> c_int;
    fn troupe_recording_replay(it: *mut Opaque, message: *mut c_char, capacity: usize) -> c_int;
}

/// What the C++ half keeps.
enum Opaque {}

/// A member of the C++ half.
type Member = unsafe extern "C" fn(*mut Opaque, *mut c_char, usize) -> c_int;

/// Work that is repeated, always on the same tensors.
#[derive(Debug)]
pub struct Recording(State);

#[derive(Debug)]
enum State {
    /// Nothing can be recorded: the work is done anew every time.
    Anew,
    /// The work was not done yet. libtorch sets up what it needs for it the first time, which
    /// cannot be recorded.
    Cold(Graph),
    /// It was done once.
    Warm(Graph),
    Recorded(Graph),
}

impl Recording {
    /// Nothing so far, of work on this device.
    pub fn on(device: tch::Device) -> Self {
        let graph = match device {
            tch::Device::Cuda(index) => Graph::new(index).ok(),
            _ => None,
        };
        Recording(graph.map_or(State::Anew, State::Cold))
    }

    /// Do the work once more. All that it reads and leaves behind lies in tensors that were there
    /// before, at the same addresses every time; it does not wait for the device.
    pub fn repeat(&mut self, work: &mut dyn FnMut()) -> Result<(), TchError> {
        self.0 = match std::mem::replace(&mut self.0, State::Anew) {
            State::Anew => {
                work();
                State::Anew
            }
            State::Cold(graph) => {
                graph.aside(work)?;
                State::Warm(graph)
            }
            State::Warm(graph) => match graph.record(work) {
                Ok(()) => {
                    graph.tell(troupe_recording_replay)?;
                    State::Recorded(graph)
                }
                // Nothing was done yet, and it goes without.
                Err(_) => {
                    work();
                    State::Anew
                }
            },
            State::Recorded(graph) => {
                graph.tell(troupe_recording_replay)?;
                State::Recorded(graph)
            }
        };
        Ok(())
    }
}

/// A CUDA graph.
#[derive(Debug)]
struct Graph(NonNull<Opaque>);

#[expect(unsafe_code, reason = "the C++ half is behind a pointer")]
// SAFETY: the C++ half belongs to no thread; between calls it keeps nothing of the one that made it.
unsafe impl Send for Graph {}

impl Graph {
    fn new(device: usize) -> Result<Self, TchError> {
        let device = c_int::try_from(device).unwrap_or(c_int::MAX);
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: the C++ half writes at most `capacity` bytes with a zero at their end and throws
        // nothing.
        made(|message, capacity| unsafe { troupe_recording_new(device, message, capacity) })
            .map(Graph)
    }

    fn tell(&self, member: Member) -> Result<(), TchError> {
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: as above, and it was made by `new` and not deleted.
        done(|message, capacity| unsafe { member(self.0.as_ptr(), message, capacity) })
    }

    /// Do the work where it could be recorded.
    fn aside(&self, work: &mut dyn FnMut()) -> Result<(), TchError> {
        self.tell(troupe_recording_enter)?;
        let _back = Back(self);
        work();
        Ok(())
    }

    /// Record the work instead of doing it. libtorch says by a panic what cannot be recorded.
    fn record(&self, work: &mut dyn FnMut()) -> Result<(), TchError> {
        self.tell(troupe_recording_enter)?;
        let _back = Back(self);
        self.tell(troupe_recording_begin)?;
        let worked = caught(work);
        let ended = self.tell(troupe_recording_end);
        worked.map_err(|_| TchError::Torch("this work cannot be recorded".to_owned()))?;
        ended
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "calls the C++ half")]
        // SAFETY: made by `new`, and no longer in use.
        unsafe {
            troupe_recording_delete(self.0.as_ptr());
        }
    }
}

/// Brings this thread back to where it told the device before, whatever happens.
struct Back<'a>(&'a Graph);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        // What fails here fails again in the next call, which says so.
        let _ = self.0.tell(troupe_recording_leave);
    }
}

#[cfg(test)]
mod tests {
    use tch::{Kind, Tensor};

    use super::*;

    /// Adds up 1, 2, 3, … in place.
    fn sum_of(device: tch::Device, times: usize) -> (Recording, i64) {
        let zero = || Tensor::zeros([1], (Kind::Int64, device));
        let (mut count, mut sum) = (zero(), zero());
        let mut recording = Recording::on(device);
        for _ in 0..times {
            let mut work = || {
                count += 1;
                sum += &count;
            };
            recording.repeat(&mut work).unwrap();
        }
        (recording, sum.int64_value(&[0]))
    }

    #[test]
    fn what_is_repeated_is_done_so_often() {
        for times in [0, 1, 2, 3, 10] {
            let (_, sum) = sum_of(tch::Device::Cpu, times);
            assert_eq!(sum, (times * (times + 1) / 2) as i64);
        }
    }

    fn card() -> tch::Device {
        pretend_cuda::insert();
        tch::Device::Cuda(0)
    }

    #[test]
    fn on_a_gpu_it_is_recorded_and_done_so_often() {
        for times in [1, 2, 3, 10] {
            let (recording, sum) = sum_of(card(), times);
            assert_eq!(sum, (times * (times + 1) / 2) as i64);
            assert_eq!(times > 1, matches!(recording.0, State::Recorded(_)));
        }
    }

    #[test]
    fn what_waits_for_the_device_is_not_recorded_and_done_each_time() {
        let mut sum = Tensor::zeros([1], (Kind::Int64, card()));
        let mut recording = Recording::on(card());
        for times in 1..=4 {
            let mut work = || {
                sum += 1;
                let _ = sum.int64_value(&[0]);
            };
            recording.repeat(&mut work).unwrap();
            assert_eq!(sum.int64_value(&[0]), times);
        }
        assert!(matches!(recording.0, State::Anew));
    }

    #[test]
    fn on_a_card_that_is_not_there_nothing_is_recorded() {
        card();
        assert!(!Graph::new(99).unwrap_err().to_string().is_empty());
        assert!(matches!(Recording::on(tch::Device::Cuda(99)).0, State::Anew));
    }
}
