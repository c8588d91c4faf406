//! A file system in memory for guests that are not trusted: `/` holds an empty
//! `/tmp`, which is writable, and nothing else. Nothing of it is shared with
//! the machine or with another instance, its size is bounded, and it depends on
//! nothing but what the guest does and the time the embedding gives.
//!
//! It is served in place of WASI's own `wasi:filesystem`. Streams are
//! WASI's own `wasi:io` streams, with a file of the tree behind them.

mod content;
mod descriptor;
mod host;
mod naming;
mod stream;
mod tree;
mod walk;

use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::sync::filesystem::types;

use descriptor::SharedTree;
use host::Guest;
use tree::Tree;

use super::meter::Meter;

/// The file system of one instance. Costs nothing until the guest touches it.
pub(super) struct Filesystem {
    capacity: u64,
    tree: Option<SharedTree>,
    meter: Meter,
    /// Descriptors that the guest holds.
    open: usize,
}

impl Filesystem {
    /// A file system whose files may hold `capacity` bytes together. The host
    /// uses at most about 45 MiB more than that: a file's memory comes in blocks of
    /// 4 KiB, and there are at most 10,000 files and directories.
    /// The work is charged to the meter.
    pub(super) fn new(capacity: u64, meter: Meter) -> Self {
        Filesystem { capacity, tree: None, meter, open: 0 }
    }

    /// The tree; made at the first look, all of it at time `now`.
    fn tree(&mut self, now: u64) -> &SharedTree {
        self.tree.get_or_insert_with(|| Arc::new(Mutex::new(Tree::new(self.capacity, now))))
    }
}

/// A store's state that has a [`Filesystem`].
pub(super) trait FilesystemView: Send + 'static {
    /// The file system, and the table its descriptors and streams go into: the
    /// one that WASI uses, whose capacity bounds how many are open at a time.
    fn filesystem(&mut self) -> (&mut Filesystem, &mut ResourceTable);

    /// Looks at the clock: nanoseconds since 1970. Called once for everything
    /// that sets a file's times, except that what is written to a stream bears
    /// the time of the last such call.
    fn now(&mut self) -> u64;
}

/// Serves the file system instead of WASI's, which the linker has already;
/// shadowing is allowed meanwhile, and not afterwards.
pub(super) fn link<T: FilesystemView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    types::add_to_linker::<T, Has<T>>(linker, |state| Guest(state))?;
    preopens::add_to_linker::<T, Has<T>>(linker, |state| Guest(state))?;
    linker.allow_shadowing(false);
    Ok(())
}

struct Has<T>(PhantomData<T>);

impl<T: FilesystemView> HasData for Has<T> {
    type Data<'a> = Guest<'a, T>;
}

#[cfg(test)]
mod tests {
    use wasmtime::component::Resource;
    use wasmtime::{Config, Engine};
    use wasmtime_wasi::p2::FsResult;
    use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
    use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

    use super::preopens::Host as _;
    use super::types::{DescriptorFlags, Host as _, HostDescriptor as _, OpenFlags, PathFlags};
    use super::*;

    type Fd = Resource<types::Descriptor>;

    struct State {
        files: Filesystem,
        context: WasiCtx,
        resources: ResourceTable,
        time: u64,
    }

    impl FilesystemView for State {
        fn filesystem(&mut self) -> (&mut Filesystem, &mut ResourceTable) {
            (&mut self.files, &mut self.resources)
        }

        fn now(&mut self) -> u64 {
            self.time += 1_000_000_000;
            self.time
        }
    }

    impl WasiView for State {
        fn ctx(&mut self) -> WasiCtxView<'_> {
            WasiCtxView { ctx: &mut self.context, table: &mut self.resources }
        }
    }

    impl State {
        fn new() -> Self {
            State {
                files: Filesystem::new(100, Meter::new(100_000_000)),
                context: WasiCtx::builder().build(),
                resources: ResourceTable::new(),
                time: 0,
            }
        }

        fn root(&mut self) -> Fd {
            let mut directories = Guest(self).get_directories().unwrap();
            assert_eq!(directories.len(), 1);
            let (root, path) = directories.remove(0);
            assert_eq!(path, "/");
            root
        }

        fn open(&mut self, path: &str, opening: OpenFlags) -> FsResult<Fd> {
            let (root, flags) = (self.root(), DescriptorFlags::READ | DescriptorFlags::WRITE);
            Guest(self).open_at(root, PathFlags::empty(), path.to_owned(), opening, flags)
        }
    }

    /// The same descriptor once more, as when a guest lends it again.
    fn lend(fd: &Fd) -> Fd {
        Resource::new_borrow(fd.rep())
    }

    #[test]
    fn it_can_be_linked_in_place_of_the_ordinary_one() {
        let engine = Engine::new(&Config::new()).unwrap();
        let mut linker = Linker::<State>::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
        link(&mut linker).unwrap();
        let again = wasmtime_wasi::p2::add_to_linker_sync(&mut linker);
        assert!(again.is_err(), "shadowing is off afterwards");
    }

    #[test]
    fn there_is_no_tree_before_the_first_look() {
        let mut state = State::new();
        assert!(state.files.tree.is_none());
        state.root();
        assert!(state.files.tree.is_some());
    }

    #[test]
    fn a_file_holds_what_was_written_at_the_time_of_the_clock() {
        let mut state = State::new();
        let file = state.open("tmp/x", OpenFlags::CREATE).unwrap();
        let mut guest = Guest(&mut state);
        assert_eq!(guest.write(lend(&file), b"hello".to_vec(), 1).unwrap(), 5);
        assert_eq!(guest.read(lend(&file), 3, 0).unwrap(), (b"\0he".to_vec(), false));
        assert_eq!(guest.read(lend(&file), 9, 3).unwrap(), (b"llo".to_vec(), true));
        let status = guest.stat(file).unwrap();
        assert_eq!(status.size, 6);
        assert_eq!(status.data_access_timestamp.unwrap().seconds, 2);
        assert_eq!(status.data_modification_timestamp.unwrap().seconds, 3);
    }

    #[test]
    fn a_guest_without_room_for_descriptors_is_told_so() {
        let mut state = State::new();
        let root = state.root();
        state.resources.set_max_capacity(1);
        let mut guest = Guest(&mut state);
        let error = guest.read_directory(root).map(|_| ()).unwrap_err();
        assert_eq!(error.downcast().unwrap(), ErrorCode::InsufficientMemory);
    }

    #[test]
    fn a_number_that_is_no_descriptor_is_a_trap() {
        let mut state = State::new();
        let error = Guest(&mut state).stat(Resource::new_borrow(7)).map(|_| ()).unwrap_err();
        assert!(error.downcast().is_err());
    }

    #[test]
    fn the_code_of_a_failed_write_can_be_asked_for() {
        let mut state = State::new();
        let file = state.open("tmp/x", OpenFlags::CREATE).unwrap();
        let stream = Guest(&mut state).append_via_stream(file).unwrap();
        let written = state.resources.get_mut(&stream).unwrap().write(vec![0; 101].into());
        let Err(wasmtime_wasi::p2::StreamError::LastOperationFailed(error)) = written else {
            panic!("there was room")
        };
        let error = state.resources.push(error).unwrap();
        let code = Guest(&mut state).filesystem_error_code(error).unwrap();
        assert_eq!(code, Some(types::ErrorCode::InsufficientSpace));
    }
}
