//! The address space of one linear memory, and how it is made new again.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap,
};
use rustix::param::page_size;

use super::pagemap::Pagemap;

/// Pages kept for the next run. A run that leaves more took so long that
/// faulting them in again does not matter, and short ones should not have to
/// look through them.
const KEPT_BYTES: usize = 16 << 20;
/// Runs that may leave a kept page as it is before it is given back. To look
/// at a page so often costs about as much as to fault it in once.
const UNUSED_RUNS: u8 = 8;

/// Addresses that belong to this process until dropped.
struct Reservation {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is a range of addresses, tied to no thread; what lies there is
// only written to through `&mut`, or by the one guest whose memory it is.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    fn new(base: *mut std::ffi::c_void, bytes: usize) -> io::Result<Self> {
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at null"))?;
        Ok(Reservation { base, bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the range was mapped for this alone, and none of its users
        // is left. If it fails, the addresses are lost and nothing else.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// The bytes a memory begins with, in an anonymous file that cannot be
/// written to. It is a whole number of pages.
pub(super) struct Pristine {
    file: rustix::fd::OwnedFd,
    view: Reservation,
}

impl Pristine {
    /// Fails where there is no memory left for it.
    pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
        let length = bytes.len().max(1).next_multiple_of(page_size());
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("interpreter", flags)?;
        ftruncate(&file, length as u64)?;
        let mut written = 0;
        while written < bytes.len() {
            written += rustix::io::pwrite(&file, &bytes[written..], written as u64)?;
        }
        let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, all)?;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address the kernel chooses.
        let view = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, flags, &file, 0) }?;
        Ok(Pristine { file, view: Reservation::new(view, length)? })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the view is readable, and the file sealed against changes.
        unsafe { slice::from_raw_parts(self.view.base.as_ptr(), self.view.bytes) }
    }
}

/// A memory's address space: a guard, the bytes that can be accessed, the
/// room to grow into, and another guard.
pub(super) struct Mapping {
    reservation: Reservation,
    guard: usize,
    capacity: usize,
    minimum: usize,
    accessible: usize,
    pristine: Option<Arc<Pristine>>,
    /// For each page, how many runs have left it as it was.
    unused: Vec<u8>,
    zeros: Vec<u8>,
}

impl Mapping {
    /// Maps a memory of `minimum` bytes that can grow to `capacity`. All sizes
    /// are whole pages, and the image is not longer than the minimum.
    pub(super) fn new(
        minimum: usize,
        capacity: usize,
        guard: usize,
        pristine: Option<Arc<Pristine>>,
    ) -> io::Result<Self> {
        let image = pristine.as_ref().map_or(0, |pristine| pristine.view.bytes);
        let whole = [minimum, capacity, guard].iter().all(|size| size % page_size() == 0);
        let bytes = guard.checked_mul(2).and_then(|guards| guards.checked_add(capacity));
        let (true, Some(bytes)) = (whole && image <= minimum && minimum <= capacity, bytes) else {
            return Err(io::Error::other("a memory of an impossible size was asked for"));
        };
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address the kernel chooses.
        let base = unsafe {
            mmap_anonymous(std::ptr::null_mut(), bytes.max(page_size()), ProtFlags::empty(), flags)
        }?;
        let reservation = Reservation::new(base, bytes.max(page_size()))?;
        let mut mapping = Mapping {
            reservation,
            guard,
            capacity,
            minimum,
            accessible: 0,
            pristine,
            unused: Vec::new(),
            zeros: vec![0; page_size()],
        };
        mapping.grow(minimum)?;
        if let Some(pristine) = &mapping.pristine {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
            // SAFETY: the image is not longer than the memory, so this replaces
            // pages of our own reservation, to which there are no references yet.
            unsafe { mmap(mapping.base().cast(), image, protection, flags, &pristine.file, 0) }?;
        }
        Ok(mapping)
    }

    /// Where the memory begins.
    pub(super) fn base(&self) -> *mut u8 {
        self.reservation.base.as_ptr().wrapping_add(self.guard)
    }

    /// Bytes that can be accessed.
    pub(super) fn accessible(&self) -> usize {
        self.accessible
    }

    /// Bytes it can grow to.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether it is as one that is newly made with these sizes.
    pub(super) fn is_like(&self, minimum: usize, capacity: usize, guard: usize) -> bool {
        (self.minimum, self.capacity, self.guard) == (minimum, capacity, guard)
    }

    /// Makes more bytes accessible; they are zero.
    pub(super) fn grow(&mut self, bytes: usize) -> io::Result<()> {
        if bytes > self.capacity {
            return Err(io::Error::other("the memory cannot grow so far"));
        }
        if bytes > self.accessible {
            self.protect(self.accessible..bytes, MprotectFlags::READ | MprotectFlags::WRITE)?;
            self.accessible = bytes;
        }
        Ok(())
    }

    /// Makes the memory what it was when it was new. After an error it must
    /// not be used again.
    pub(super) fn reset(&mut self, pagemap: Option<&Pagemap>) -> io::Result<()> {
        let start = self.base().addr();
        let range = start..start + self.accessible;
        // Where the kernel does not tell, everything is given back.
        let owned = pagemap.and_then(|pagemap| pagemap.owned(range).ok());
        let is_kept = |owned: &Vec<Range<usize>>| {
            owned.iter().map(ExactSizeIterator::len).sum::<usize>() <= KEPT_BYTES
        };
        match owned.filter(is_kept) {
            Some(owned) => self.restore(&owned)?,
            None => self.give_back(0..self.accessible)?,
        }
        if self.accessible > self.minimum {
            self.protect(self.minimum..self.accessible, MprotectFlags::empty())?;
            self.accessible = self.minimum;
        }
        Ok(())
    }

    /// Copies the pages that have changed, and gives back those that have not
    /// for some time. `owned` are addresses of whole pages.
    fn restore(&mut self, owned: &[Range<usize>]) -> io::Result<()> {
        let start = self.base().addr();
        self.unused.resize(self.unused.len().max(self.accessible / page_size()), 0);
        let mut idle = 0..0;
        for page in owned.iter().flat_map(|range| range.clone().step_by(page_size())) {
            if self.restore_page(page - start) {
                let from = if idle.end == page - start { idle.start } else { page - start };
                if from != idle.start {
                    self.give_back(idle)?;
                }
                idle = from..page - start + page_size();
            }
        }
        self.give_back(idle)
    }

    /// Restores the page at this offset. Whether it is no longer worth keeping.
    fn restore_page(&mut self, offset: usize) -> bool {
        let size = page_size();
        let image = self.pristine.as_ref().map_or(&[][..], |pristine| pristine.bytes());
        let pristine = image.get(offset..offset + size).unwrap_or(&self.zeros);
        // SAFETY: the page is accessible, and as the memory's guest is gone,
        // `&mut self` is the only way to it.
        let page = unsafe { slice::from_raw_parts_mut(self.base().add(offset), size) };
        let unused = &mut self.unused[offset / size];
        if page == pristine {
            *unused += 1;
        } else {
            page.copy_from_slice(pristine);
            *unused = 0;
        }
        let idle = *unused >= UNUSED_RUNS;
        if idle {
            *unused = 0;
        }
        idle
    }

    /// Gives pages back to the system. What is read there from then on is the
    /// image, or zero beyond it.
    fn give_back(&self, range: Range<usize>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: the range lies in our reservation; its contents are not needed.
        let done = unsafe {
            madvise(self.base().add(range.start).cast(), range.len(), Advice::LinuxDontNeed)
        };
        Ok(done?)
    }

    fn protect(&self, range: Range<usize>, flags: MprotectFlags) -> io::Result<()> {
        // SAFETY: the range lies in our reservation. Taking access away happens
        // when the memory's guest is gone.
        let done = unsafe { mprotect(self.base().add(range.start).cast(), range.len(), flags) };
        Ok(done?)
    }
}
