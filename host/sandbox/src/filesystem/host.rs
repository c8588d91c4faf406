//! The tree as `wasi:filesystem`. Of WASI's own descriptors only the type is
//! used, which names a resource of that interface in its bindings: behind the
//! numbers are this module's [`Descriptor`] and [`Listing`].

use wasmtime::component::{Resource, ResourceTableError};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use super::super::meter::Meter;
use super::FilesystemView;
use super::descriptor::{Descriptor, Handle, Listing};
use super::naming::Opening;
use super::stream::{Reader, TRANSFER_BYTES, Writer};
use super::tree::{Inode, Kind, ROOT, Status, Tree};

const NANOSECONDS: u64 = 1_000_000_000;
/// Files and directories that may be open at a time, as on Linux. Each may
/// have two streams, and there is room for those.
const OPEN: usize = 1024;

type Fd = Resource<types::Descriptor>;
type EntryStream = Resource<types::DirectoryEntryStream>;

/// The store's state, as the interface's functions see it.
pub(super) struct Guest<'a, T>(pub(super) &'a mut T);

impl<T: FilesystemView> Guest<'_, T> {
    fn descriptor(&mut self, fd: &Fd) -> FsResult<&mut Descriptor> {
        self.charge(0)?;
        let resource = Resource::<Descriptor>::new_borrow(fd.rep());
        Ok(self.0.filesystem().1.get_mut(&resource)?)
    }

    fn meter(&mut self) -> Meter {
        self.0.filesystem().0.meter.clone()
    }

    fn charge(&mut self, bytes: u64) -> FsResult<()> {
        self.0.filesystem().0.meter.charge(bytes).map_err(FsError::trap)
    }

    /// Does something with a descriptor's node that changes nothing.
    fn look<R>(
        &mut self,
        fd: &Fd,
        action: impl FnOnce(&Tree, Inode) -> Result<R, ErrorCode>,
    ) -> FsResult<R> {
        let handle = &self.descriptor(fd)?.handle;
        Ok(action(&handle.tree(), handle.inode())?)
    }

    /// Does something with a descriptor's node that may set times.
    fn change<R>(
        &mut self,
        fd: &Fd,
        action: impl FnOnce(&mut Tree, Inode) -> Result<R, ErrorCode>,
    ) -> FsResult<R> {
        let now = self.0.now();
        let handle = &self.descriptor(fd)?.handle;
        let mut tree = handle.tree();
        tree.set_clock(now);
        Ok(action(&mut tree, handle.inode())?)
    }

    /// A file to write, at the time of now.
    fn for_writing(&mut self, fd: &Fd) -> FsResult<&Handle> {
        let now = self.0.now();
        let handle = self.descriptor(fd)?.for_writing()?;
        handle.tree().set_clock(now);
        Ok(handle)
    }

    /// Gives the guest a resource; their number is limited.
    fn push<R: Send + 'static>(&mut self, resource: R) -> FsResult<Resource<R>> {
        match self.0.filesystem().1.push(resource) {
            Err(ResourceTableError::Full) => Err(ErrorCode::InsufficientMemory.into()),
            result => Ok(result?),
        }
    }

    fn push_descriptor(&mut self, handle: Handle, flags: types::DescriptorFlags) -> FsResult<Fd> {
        if self.0.filesystem().0.open == OPEN {
            return Err(ErrorCode::InsufficientMemory.into());
        }
        let writable = flags.contains(types::DescriptorFlags::WRITE);
        let readable = flags.contains(types::DescriptorFlags::READ) || !writable;
        let resource = self.push(Descriptor { handle, readable, writable })?;
        self.0.filesystem().0.open += 1;
        Ok(Resource::new_own(resource.rep()))
    }

    fn delete<R: 'static>(&mut self, number: u32) -> wasmtime::Result<()> {
        self.0.filesystem().1.delete(Resource::<R>::new_own(number))?;
        Ok(())
    }
}

impl<T: FilesystemView> preopens::Host for Guest<'_, T> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        let now = self.0.now();
        let tree = self.0.filesystem().0.tree(now).clone();
        let root = Handle::find(&tree, |_| Ok(ROOT))?;
        match self.push_descriptor(root, types::DescriptorFlags::READ) {
            Ok(root) => Ok(vec![(root, "/".to_owned())]),
            Err(error) => Err(error.downcast()?.into()),
        }
    }
}

impl<T: FilesystemView> types::Host for Guest<'_, T> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<types::ErrorCode> {
        Ok(error.downcast()?.into())
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<types::ErrorCode>> {
        let error = self.0.filesystem().1.get(&error)?;
        Ok(error.downcast_ref::<ErrorCode>().map(|&code| code.into()))
    }
}

impl<T: FilesystemView> types::HostDirectoryEntryStream for Guest<'_, T> {
    fn read_directory_entry(
        &mut self,
        entries: EntryStream,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        self.charge(0)?;
        let resource = Resource::<Listing>::new_borrow(entries.rep());
        let entry = self.0.filesystem().1.get_mut(&resource)?.next()?;
        Ok(entry.map(|(name, kind)| types::DirectoryEntry { type_: kind.into(), name }))
    }

    fn drop(&mut self, entries: EntryStream) -> wasmtime::Result<()> {
        self.delete::<Listing>(entries.rep())
    }
}

impl<T: FilesystemView> types::HostDescriptor for Guest<'_, T> {
    fn read_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynInputStream>> {
        let handle = self.descriptor(&fd)?.for_reading()?.again()?;
        let stream: DynInputStream = Box::new(Reader::new(handle, offset, self.meter()));
        self.push(stream)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynOutputStream>> {
        let handle = self.for_writing(&fd)?.again()?;
        let stream: DynOutputStream = Box::new(Writer::at(handle, offset, self.meter()));
        self.push(stream)
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        let handle = self.for_writing(&fd)?.again()?;
        let stream: DynOutputStream = Box::new(Writer::append(handle, self.meter()));
        self.push(stream)
    }

    fn advise(&mut self, fd: Fd, _: u64, _: u64, _: types::Advice) -> FsResult<()> {
        self.descriptor(&fd).map(|_| ())
    }

    fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.descriptor(&fd).map(|_| ())
    }

    fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.descriptor(&fd).map(|_| ())
    }

    /// A directory is never read-only as a whole: what may be changed in it is
    /// for the tree to say.
    fn get_flags(&mut self, fd: Fd) -> FsResult<types::DescriptorFlags> {
        use types::DescriptorFlags as Flags;
        let kind = self.look(&fd, Tree::status)?.kind;
        let descriptor = self.descriptor(&fd)?;
        let parts = [
            (descriptor.readable, Flags::READ),
            (descriptor.writable, Flags::WRITE),
            (kind == Kind::Directory, Flags::MUTATE_DIRECTORY),
        ];
        let set = parts.into_iter().filter(|&(is_set, _)| is_set);
        Ok(set.fold(Flags::empty(), |flags, (_, flag)| flags | flag))
    }

    fn get_type(&mut self, fd: Fd) -> FsResult<types::DescriptorType> {
        Ok(self.look(&fd, Tree::status)?.kind.into())
    }

    fn set_size(&mut self, fd: Fd, size: u64) -> FsResult<()> {
        let before = self.look(&fd, Tree::status)?.size;
        let handle = self.for_writing(&fd)?;
        handle.tree().resize(handle.inode(), size)?;
        // A size that is refused has cost nothing.
        self.charge(before.abs_diff(size))
    }

    fn set_times(
        &mut self,
        fd: Fd,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> FsResult<()> {
        self.change(&fd, |tree, inode| set_times(tree, inode, accessed, modified))
    }

    fn read(&mut self, fd: Fd, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        let length = length.min(TRANSFER_BYTES as u64) as usize;
        let handle = self.descriptor(&fd)?.for_reading()?;
        let bytes = handle.tree().read(handle.inode(), offset, length)?;
        self.charge(bytes.len() as u64)?;
        let is_end = bytes.len() < length || length == 0;
        Ok((bytes, is_end))
    }

    fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        self.charge(bytes.len() as u64)?;
        let handle = self.for_writing(&fd)?;
        handle.tree().write(handle.inode(), offset, &bytes)?;
        Ok(bytes.len() as u64)
    }

    fn read_directory(&mut self, fd: Fd) -> FsResult<EntryStream> {
        let listing = Listing::new(self.descriptor(&fd)?.handle.again()?)?;
        let resource = self.push(listing)?;
        Ok(Resource::new_own(resource.rep()))
    }

    fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, |tree, base| tree.create_directory(base, &path))
    }

    fn stat(&mut self, fd: Fd) -> FsResult<types::DescriptorStat> {
        Ok(self.look(&fd, Tree::status)?.into())
    }

    fn stat_at(
        &mut self,
        fd: Fd,
        _: types::PathFlags,
        path: String,
    ) -> FsResult<types::DescriptorStat> {
        let status = self.look(&fd, |tree, base| tree.status(tree.resolve(base, &path)?))?;
        Ok(status.into())
    }

    fn set_times_at(
        &mut self,
        fd: Fd,
        _: types::PathFlags,
        path: String,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> FsResult<()> {
        self.change(&fd, |tree, base| {
            let inode = tree.resolve(base, &path)?;
            set_times(tree, inode, accessed, modified)
        })
    }

    fn link_at(&mut self, _: Fd, _: types::PathFlags, _: String, _: Fd, _: String) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    fn open_at(
        &mut self,
        fd: Fd,
        _: types::PathFlags,
        path: String,
        opening: types::OpenFlags,
        flags: types::DescriptorFlags,
    ) -> FsResult<Fd> {
        let how = Opening {
            create: opening.contains(types::OpenFlags::CREATE),
            exclusive: opening.contains(types::OpenFlags::EXCLUSIVE),
            truncate: opening.contains(types::OpenFlags::TRUNCATE),
            directory: opening.contains(types::OpenFlags::DIRECTORY),
            write: flags.contains(types::DescriptorFlags::WRITE),
        };
        let now = self.0.now();
        let base = &self.descriptor(&fd)?.handle;
        let opened = Handle::find(base.shared(), |tree| {
            tree.set_clock(now);
            tree.open(base.inode(), &path, how)
        })?;
        self.push_descriptor(opened, flags)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        self.delete::<Descriptor>(fd.rep())?;
        self.0.filesystem().0.open -= 1;
        Ok(())
    }

    /// There are no links, so nothing that exists is one.
    fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.look(&fd, |tree, base| tree.resolve(base, &path))?;
        Err(ErrorCode::Invalid.into())
    }

    fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, |tree, base| tree.remove_directory(base, &path))
    }

    fn rename_at(&mut self, fd: Fd, from: String, to_fd: Fd, to: String) -> FsResult<()> {
        let to_base = self.look(&to_fd, |_, base| Ok(base))?;
        self.change(&fd, |tree, base| tree.rename((base, &from), (to_base, &to)))
    }

    fn symlink_at(&mut self, _: Fd, _: String, _: String) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, |tree, base| tree.remove_file(base, &path))
    }

    fn is_same_object(&mut self, first: Fd, second: Fd) -> wasmtime::Result<bool> {
        let resources = [first, second].map(|fd| Resource::<Descriptor>::new_borrow(fd.rep()));
        let table = self.0.filesystem().1;
        Ok(table.get(&resources[0])?.handle.inode() == table.get(&resources[1])?.handle.inode())
    }

    fn metadata_hash(&mut self, fd: Fd) -> FsResult<types::MetadataHashValue> {
        self.look(&fd, |_, inode| Ok(hash(inode)))
    }

    fn metadata_hash_at(
        &mut self,
        fd: Fd,
        _: types::PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        self.look(&fd, |tree, base| Ok(hash(tree.resolve(base, &path)?)))
    }
}

/// What guests take for the inode number; it serves for telling files apart.
fn hash(inode: Inode) -> types::MetadataHashValue {
    types::MetadataHashValue { lower: inode, upper: 0 }
}

fn set_times(
    tree: &mut Tree,
    inode: Inode,
    accessed: types::NewTimestamp,
    modified: types::NewTimestamp,
) -> Result<(), ErrorCode> {
    let now = tree.clock();
    tree.set_times(inode, nanoseconds(accessed, now)?, nanoseconds(modified, now)?)
}

fn nanoseconds(time: types::NewTimestamp, now: u64) -> Result<Option<u64>, ErrorCode> {
    match time {
        types::NewTimestamp::NoChange => Ok(None),
        types::NewTimestamp::Now => Ok(Some(now)),
        types::NewTimestamp::Timestamp(Datetime { seconds, nanoseconds }) => {
            let whole = seconds.checked_mul(NANOSECONDS).ok_or(ErrorCode::Overflow)?;
            whole.checked_add(nanoseconds.into()).ok_or(ErrorCode::Overflow).map(Some)
        }
    }
}

fn datetime(time: u64) -> Datetime {
    Datetime { seconds: time / NANOSECONDS, nanoseconds: (time % NANOSECONDS) as u32 }
}

impl From<Kind> for types::DescriptorType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Directory => types::DescriptorType::Directory,
            Kind::File => types::DescriptorType::RegularFile,
        }
    }
}

impl From<Status> for types::DescriptorStat {
    fn from(status: Status) -> Self {
        types::DescriptorStat {
            type_: status.kind.into(),
            link_count: status.links,
            size: status.size,
            data_access_timestamp: Some(datetime(status.times.accessed)),
            data_modification_timestamp: Some(datetime(status.times.modified)),
            status_change_timestamp: Some(datetime(status.times.changed)),
        }
    }
}
