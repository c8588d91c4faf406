//! Asks the kernel which pages of this process are its own: written to at some
//! time, rather than untouched or those of a file.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

/// Ranges asked for in one call. The kernel gathers as many before it hands
/// them over, and says where it stopped only if they are too many.
const RANGES: usize = 512;

/// Categories of a page, as `PAGEMAP_SCAN` counts them.
const FILE: u64 = 1 << 2;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
const ZERO_PAGE: u64 = 1 << 5;

/// The page table of this process.
pub(super) struct Pagemap {
    file: File,
    process: u32,
}

/// `struct page_region` of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg` of the kernel.
#[repr(C)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_length: u64,
    max_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

impl Pagemap {
    /// The page table, or nothing if the kernel does not show it. A kernel
    /// older than 6.7 shows it and fails each scan.
    pub(super) fn open() -> Option<Pagemap> {
        let file = File::open("/proc/self/pagemap").ok()?;
        Some(Pagemap { file, process: std::process::id() })
    }

    /// The addresses in the range whose pages are the process's own, in
    /// ascending order.
    pub(super) fn owned(&self, range: Range<usize>) -> io::Result<Vec<Range<usize>>> {
        // After a fork the file still shows the parent's pages.
        if self.process != std::process::id() {
            return Err(io::Error::other("the page table is another process's"));
        }
        let mut owned = Vec::new();
        let mut regions = [Region::default(); RANGES];
        let mut next = range.start;
        while next < range.end {
            let (count, stopped) = self.scan(next..range.end, &mut regions)?;
            let mut end = next;
            for region in regions.get(..count).unwrap_or(&regions) {
                let pages = region.start as usize..region.end as usize;
                if pages.start < end || pages.end > range.end || pages.is_empty() {
                    return Err(io::Error::other("the kernel named pages it was not asked for"));
                }
                end = pages.end;
                owned.push(pages);
            }
            end = end.max(stopped);
            if end == next || end > range.end {
                return Err(io::Error::other("the kernel did not look at all pages"));
            }
            next = end;
        }
        Ok(owned)
    }

    /// One call: how many ranges were found, and where the kernel stopped.
    fn scan(&self, range: Range<usize>, regions: &mut [Region]) -> io::Result<(usize, usize)> {
        let scan = Scan {
            size: size_of::<Scan>() as u64,
            flags: 0,
            start: range.start as u64,
            end: range.end as u64,
            walk_end: 0,
            regions: regions.as_mut_ptr() as u64,
            regions_length: regions.len() as u64,
            max_pages: 0,
            inverted: FILE | ZERO_PAGE,
            all_of: FILE | ZERO_PAGE,
            any_of: PRESENT | SWAPPED,
            returned: 0,
        };
        // SAFETY: `Scan` is what this call takes, and the kernel writes at most
        // `regions_length` regions to `regions`, which is borrowed for as long.
        Ok(unsafe { ioctl(&self.file, scan) }?)
    }
}

// SAFETY: the number is that of `PAGEMAP_SCAN`, which reads and writes a `Scan`
// and returns how many regions it has written.
unsafe impl Ioctl for Scan {
    type Output = (usize, usize);

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<Scan>(b'f', 16)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(
        count: IoctlOutput,
        scan: *mut c_void,
    ) -> rustix::io::Result<Self::Output> {
        // SAFETY: the pointer is what `as_ptr` gave.
        let scan = unsafe { &*scan.cast::<Scan>() };
        Ok((usize::try_from(count).unwrap_or(0), scan.walk_end as usize))
    }
}
