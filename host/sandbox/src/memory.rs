//! The linear memory of an interpreter, made ready for the next run in place.
//!
//! A run of CPython writes to several hundred pages all over its memory. To give
//! them back and to fault them in again costs several times what a short
//! program does. So they stay, and what the run wrote is overwritten with what
//! was there before.

mod mapping;
mod pagemap;

use std::io;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use self::mapping::{Mapping, Pristine};
use self::pagemap::Pagemap;
use super::image::Image;

/// The beginning of errors that are the machine's fault, not the program's.
const UNMAPPED: &str = "no memory could be mapped";

/// Whether a run failed because the system had no address space for it.
pub(super) fn is_unmapped(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().starts_with(UNMAPPED)
}

/// Makes the memories of one interpreter.
pub(super) struct Memories {
    home: Arc<Home>,
}

/// Where a memory goes when its instance is gone.
struct Home {
    pristine: Arc<Pristine>,
    minimum: u64,
    maximum: Option<u64>,
    pagemap: Option<Pagemap>,
    idle: Mutex<Option<Mapping>>,
}

impl Memories {
    /// Memories; those that fit the image begin with its contents.
    pub(super) fn new(image: &Image) -> io::Result<Self> {
        Memories::with_pagemap(image, Pagemap::open())
    }

    fn with_pagemap(image: &Image, pagemap: Option<Pagemap>) -> io::Result<Self> {
        let home = Home {
            pristine: Arc::new(Pristine::new(&image.bytes)?),
            minimum: image.minimum,
            maximum: image.maximum,
            pagemap,
            idle: Mutex::new(None),
        };
        Ok(Memories { home: Arc::new(home) })
    }
}

// SAFETY: each memory has a mapping of its own with the room and the guard that
// were asked for, which does not move; nothing else writes to it while it lives.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        ty: MemoryType,
        minimum: usize,
        _maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let capacity = reserved.unwrap_or(minimum).max(minimum);
        let home = &self.home;
        let begins_as_image = (ty.minimum(), ty.maximum()) == (home.minimum, home.maximum);
        let mapping = if begins_as_image {
            match home.take().filter(|mapping| mapping.is_like(minimum, capacity, guard)) {
                Some(mapping) => Ok(mapping),
                None => Mapping::new(minimum, capacity, guard, Some(home.pristine.clone())),
            }
        } else {
            Mapping::new(minimum, capacity, guard, None)
        };
        let mapping = mapping.map_err(|error| format!("{UNMAPPED}: {error}"))?;
        let home = begins_as_image.then(|| home.clone());
        Ok(Box::new(Memory { mapping: ManuallyDrop::new(mapping), home }))
    }
}

impl Home {
    fn take(&self) -> Option<Mapping> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps a mapping for the next memory, if it can be made new again.
    fn receive(&self, mut mapping: Mapping) {
        if mapping.reset(self.pagemap.as_ref()).is_ok() {
            *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(mapping);
        }
    }
}

/// One linear memory. What it leaves goes home.
struct Memory {
    mapping: ManuallyDrop<Mapping>,
    home: Option<Arc<Home>>,
}

// SAFETY: base, size and capacity are the mapping's, whose pages beyond the
// size cannot be accessed.
unsafe impl LinearMemory for Memory {
    fn byte_size(&self) -> usize {
        self.mapping.accessible()
    }

    fn byte_capacity(&self) -> usize {
        self.mapping.capacity()
    }

    fn grow_to(&mut self, bytes: usize) -> wasmtime::Result<()> {
        Ok(self.mapping.grow(bytes)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.mapping.base()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this is the only place that takes it, and it runs once.
        let mapping = unsafe { ManuallyDrop::take(&mut self.mapping) };
        if let Some(home) = &self.home {
            home.receive(mapping);
        }
    }
}

#[cfg(test)]
mod tests;
