//! The directories and files: numbered nodes that know nothing of the guest.

use std::collections::BTreeMap;
use std::ops::Bound;

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::content::Content;

/// A node's number, counted from 1 and never used again.
pub(super) type Inode = u64;
/// The root directory, which only the host may change.
pub(super) const ROOT: Inode = 1;

/// All there is.
pub(super) struct Tree {
    nodes: BTreeMap<Inode, Node>,
    last: Inode,
    /// The sizes of all files together, and what they may be.
    used: u64,
    capacity: u64,
    clock: u64,
}

struct Node {
    body: Body,
    /// The directory that names it; none once it was removed.
    parent: Option<Inode>,
    times: Times,
    /// The number of descriptors and streams that keep it when it is removed.
    holders: u32,
}

pub(super) enum Body {
    Directory(Entries),
    File(Content),
}

/// A directory's nodes by name.
pub(super) type Entries = BTreeMap<String, Inode>;

/// Nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) accessed: u64,
    pub(super) modified: u64,
    /// The last change of anything about it, such as its name.
    pub(super) changed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
}

/// A node's metadata.
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    pub(super) kind: Kind,
    /// Directories that name it: one, or none.
    pub(super) links: u64,
    pub(super) size: u64,
    pub(super) times: Times,
}

impl Tree {
    /// A root with an empty `tmp`, at time `now`.
    pub(super) fn new(capacity: u64, now: u64) -> Self {
        let mut tree = Tree { nodes: BTreeMap::new(), last: 0, used: 0, capacity, clock: now };
        let root = tree.add(ROOT, Body::Directory(Entries::new()));
        let tmp = tree.add(root, Body::Directory(Entries::new()));
        if let Ok(entries) = tree.directory_mut(root) {
            entries.insert("tmp".to_owned(), tmp);
        }
        tree
    }

    /// Sets the time of what happens from now on.
    pub(super) fn set_clock(&mut self, now: u64) {
        self.clock = now;
    }

    pub(super) fn clock(&self) -> u64 {
        self.clock
    }

    /// The number of nodes, with those that only handles keep.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn add(&mut self, parent: Inode, body: Body) -> Inode {
        self.last += 1;
        let now = self.clock;
        let times = Times { accessed: now, modified: now, changed: now };
        self.nodes.insert(self.last, Node { body, parent: Some(parent), times, holders: 0 });
        self.last
    }

    fn node(&self, inode: Inode) -> Result<&Node, ErrorCode> {
        self.nodes.get(&inode).ok_or(ErrorCode::BadDescriptor)
    }

    fn node_mut(&mut self, inode: Inode) -> Result<&mut Node, ErrorCode> {
        self.nodes.get_mut(&inode).ok_or(ErrorCode::BadDescriptor)
    }

    /// # Errors
    ///
    /// It must be a directory.
    pub(super) fn directory(&self, inode: Inode) -> Result<&Entries, ErrorCode> {
        match &self.node(inode)?.body {
            Body::Directory(entries) => Ok(entries),
            Body::File(_) => Err(ErrorCode::NotDirectory),
        }
    }

    /// For a change of its entries, which is then its last modification.
    pub(super) fn directory_mut(&mut self, inode: Inode) -> Result<&mut Entries, ErrorCode> {
        self.touch(inode)?;
        match &mut self.node_mut(inode)?.body {
            Body::Directory(entries) => Ok(entries),
            Body::File(_) => Err(ErrorCode::NotDirectory),
        }
    }

    pub(super) fn file(&self, inode: Inode) -> Result<&Content, ErrorCode> {
        match &self.node(inode)?.body {
            Body::File(content) => Ok(content),
            Body::Directory(_) => Err(ErrorCode::IsDirectory),
        }
    }

    /// The directory around a directory; the root's is the root.
    ///
    /// # Errors
    ///
    /// It must not have been removed.
    pub(super) fn parent(&self, inode: Inode) -> Result<Inode, ErrorCode> {
        self.directory(inode)?;
        self.node(inode)?.parent.ok_or(ErrorCode::NoEntry)
    }

    /// The directories from this one up to the root.
    pub(super) fn ancestors(&self, inode: Inode) -> impl Iterator<Item = Inode> {
        std::iter::successors(Some(inode), |&at| self.parent(at).ok().filter(|&above| above != at))
    }

    /// Says which directory names a node from now on. Without any, and with no
    /// holders, it vanishes.
    ///
    /// # Errors
    ///
    /// There must be such a node.
    pub(super) fn set_parent(
        &mut self,
        inode: Inode,
        parent: Option<Inode>,
    ) -> Result<(), ErrorCode> {
        let now = self.clock;
        let node = self.node_mut(inode)?;
        node.parent = parent;
        node.times.changed = now;
        self.reap(inode);
        Ok(())
    }

    fn touch(&mut self, inode: Inode) -> Result<(), ErrorCode> {
        let now = self.clock;
        let times = &mut self.node_mut(inode)?.times;
        (times.modified, times.changed) = (now, now);
        Ok(())
    }

    /// Keeps a node, even if it is removed meanwhile, until it is released.
    ///
    /// # Errors
    ///
    /// There must be such a node.
    pub(super) fn hold(&mut self, inode: Inode) -> Result<(), ErrorCode> {
        self.node_mut(inode)?.holders += 1;
        Ok(())
    }

    pub(super) fn release(&mut self, inode: Inode) {
        if let Ok(node) = self.node_mut(inode) {
            node.holders -= 1;
            self.reap(inode);
        }
    }

    /// Lets go of a node that nothing names or holds.
    fn reap(&mut self, inode: Inode) {
        let gone = |node: &Node| node.parent.is_none() && node.holders == 0;
        if self.nodes.get(&inode).is_some_and(gone) {
            self.used -= self.file(inode).map_or(0, Content::size);
            self.nodes.remove(&inode);
        }
    }

    /// At most `length` bytes of a file; none at its end.
    ///
    /// # Errors
    ///
    /// It must be a file.
    pub(super) fn read(
        &self,
        inode: Inode,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, ErrorCode> {
        Ok(self.file(inode)?.read(offset, length))
    }

    /// All of the bytes, or none.
    ///
    /// # Errors
    ///
    /// It must be a file, and there must be room.
    pub(super) fn write(
        &mut self,
        inode: Inode,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), ErrorCode> {
        let end = offset.checked_add(bytes.len() as u64).ok_or(ErrorCode::FileTooLarge)?;
        let size = self.file(inode)?.size();
        let grown = if bytes.is_empty() { size } else { size.max(end) };
        self.change_content(inode, grown, |content| content.write(offset, bytes))
    }

    /// Cuts a file off, or adds zeros, which are counted like other bytes.
    ///
    /// # Errors
    ///
    /// It must be a file, and there must be room.
    pub(super) fn resize(&mut self, inode: Inode, size: u64) -> Result<(), ErrorCode> {
        self.change_content(inode, size, |content| content.resize(size))
    }

    fn change_content(
        &mut self,
        inode: Inode,
        size: u64,
        change: impl FnOnce(&mut Content),
    ) -> Result<(), ErrorCode> {
        let others = self.used - self.file(inode)?.size();
        let used = others.checked_add(size).filter(|&used| used <= self.capacity);
        let used = used.ok_or(ErrorCode::InsufficientSpace)?;
        self.touch(inode)?;
        if let Body::File(content) = &mut self.node_mut(inode)?.body {
            change(content);
            self.used = used;
        }
        Ok(())
    }

    /// # Errors
    ///
    /// There must be such a node.
    pub(super) fn status(&self, inode: Inode) -> Result<Status, ErrorCode> {
        let node = self.node(inode)?;
        let (kind, size) = match &node.body {
            Body::Directory(_) => (Kind::Directory, 0),
            Body::File(content) => (Kind::File, content.size()),
        };
        Ok(Status { kind, links: u64::from(node.parent.is_some()), size, times: node.times })
    }

    /// Sets the times that are given.
    ///
    /// # Errors
    ///
    /// The root's cannot be set.
    pub(super) fn set_times(
        &mut self,
        inode: Inode,
        accessed: Option<u64>,
        modified: Option<u64>,
    ) -> Result<(), ErrorCode> {
        if inode == ROOT {
            return Err(ErrorCode::Access);
        }
        let changed = self.clock;
        let times = &mut self.node_mut(inode)?.times;
        let accessed = accessed.unwrap_or(times.accessed);
        let modified = modified.unwrap_or(times.modified);
        *times = Times { accessed, modified, changed };
        Ok(())
    }

    /// The entry of a directory that follows a name in their order.
    ///
    /// # Errors
    ///
    /// It must be a directory.
    pub(super) fn entry_after(
        &self,
        directory: Inode,
        name: Option<&str>,
    ) -> Result<Option<(String, Kind)>, ErrorCode> {
        let after = name.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.directory(directory)?.range::<str, _>((after, Bound::Unbounded));
        let Some((name, &inode)) = rest.next() else { return Ok(None) };
        Ok(Some((name.clone(), self.status(inode)?.kind)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::naming::Opening;
    use super::*;

    const CAPACITY: u64 = 3 * 4096;

    #[derive(Clone, Debug)]
    enum Step {
        Open { path: String, truncate: bool, hold: bool },
        Write { file: usize, offset: u64, length: usize },
        Resize { file: usize, size: u64 },
        CreateDirectory { path: String },
        Remove { path: String },
        Rename { from: String, to: String },
        Release { file: usize },
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c", ".."]), 1..4)
            .prop_map(|names| format!("tmp/{}", names.join("/")))
    }

    fn step() -> impl Strategy<Value = Step> {
        let size = || prop_oneof![0..CAPACITY, 0..2 * CAPACITY, Just(u64::MAX)];
        prop_oneof![
            (path(), any::<bool>(), any::<bool>()).prop_map(|(path, truncate, hold)| Step::Open {
                path,
                truncate,
                hold
            }),
            (0..4_usize, size(), 0..8000_usize).prop_map(|(file, offset, length)| Step::Write {
                file,
                offset,
                length
            }),
            (0..4_usize, size()).prop_map(|(file, size)| Step::Resize { file, size }),
            path().prop_map(|path| Step::CreateDirectory { path }),
            path().prop_map(|path| Step::Remove { path }),
            (path(), path()).prop_map(|(from, to)| Step::Rename { from, to }),
            (0..4_usize).prop_map(|file| Step::Release { file }),
        ]
    }

    /// Does a step, or fails at it; `held` are the nodes kept open.
    fn perform(tree: &mut Tree, held: &mut Vec<Inode>, step: Step) -> Result<(), ErrorCode> {
        let file = |at: usize| held.get(at).copied().ok_or(ErrorCode::BadDescriptor);
        match step {
            Step::Open { path, truncate, hold } => {
                let how = Opening { create: true, truncate, ..Opening::default() };
                let inode = tree.open(ROOT, &path, how)?;
                if hold {
                    tree.hold(inode)?;
                    held.push(inode);
                }
                Ok(())
            }
            Step::Write { file: at, offset, length } => {
                tree.write(file(at)?, offset, &vec![1; length])
            }
            Step::Resize { file: at, size } => tree.resize(file(at)?, size),
            Step::CreateDirectory { path } => tree.create_directory(ROOT, &path),
            Step::Remove { path } => {
                tree.remove_file(ROOT, &path).or_else(|_| tree.remove_directory(ROOT, &path))
            }
            Step::Rename { from, to } => tree.rename((ROOT, &from), (ROOT, &to)),
            Step::Release { file: at } => {
                tree.release(file(at)?);
                held.remove(at);
                Ok(())
            }
        }
    }

    fn size_of_all(tree: &Tree) -> u64 {
        tree.nodes.keys().map(|&inode| tree.file(inode).map_or(0, Content::size)).sum()
    }

    /// Every node is named by its parent, and only by it, or else held.
    fn check_names(tree: &Tree) {
        let mut named = 0;
        for (&inode, node) in &tree.nodes {
            assert!(node.parent.is_some() || node.holders > 0);
            for child in tree.directory(inode).into_iter().flat_map(BTreeMap::values) {
                assert_eq!(tree.nodes[child].parent, Some(inode));
                named += 1;
            }
        }
        let linked = tree.nodes.values().filter(|node| node.parent.is_some()).count();
        assert_eq!(named, linked - 1, "the root is named by nothing");
    }

    proptest! {
        #[test]
        fn what_is_used_is_the_sum_of_the_sizes_and_within_the_capacity(
            steps in prop::collection::vec(step(), 0..60),
        ) {
            let mut tree = Tree::new(CAPACITY, 0);
            let mut held = Vec::new();
            for step in steps {
                let before = size_of_all(&tree);
                let was_write = matches!(step, Step::Write { .. } | Step::Resize { .. });
                let result = perform(&mut tree, &mut held, step);
                prop_assert_eq!(tree.used, size_of_all(&tree));
                prop_assert!(tree.used <= CAPACITY);
                prop_assert!(!was_write || result.is_ok() || tree.used == before);
                check_names(&tree);
            }
            held.into_iter().for_each(|inode| tree.release(inode));
            prop_assert!(tree.nodes.values().all(|node| node.parent.is_some()));
            prop_assert_eq!(tree.used, size_of_all(&tree));
        }
    }

    fn file(tree: &mut Tree, path: &str) -> Inode {
        tree.open(ROOT, path, Opening { create: true, ..Opening::default() }).unwrap()
    }

    #[test]
    fn a_file_that_was_removed_stays_until_it_is_released() {
        let mut tree = Tree::new(10, 0);
        let inode = file(&mut tree, "tmp/x");
        tree.hold(inode).unwrap();
        tree.write(inode, 0, b"12345678").unwrap();
        tree.remove_file(ROOT, "tmp/x").unwrap();
        assert_eq!(tree.read(inode, 2, 3), Ok(b"345".to_vec()));
        assert_eq!(tree.status(inode).unwrap().links, 0);
        let other = file(&mut tree, "tmp/x");
        assert_eq!(tree.write(other, 0, b"12345678"), Err(ErrorCode::InsufficientSpace));
        tree.release(inode);
        assert_eq!(tree.read(inode, 0, 1), Err(ErrorCode::BadDescriptor));
        assert_eq!(tree.write(other, 0, b"12345678"), Ok(()));
    }

    #[test]
    fn numbers_count_up_and_are_never_used_again() {
        let mut tree = Tree::new(10, 0);
        assert_eq!(tree.resolve(ROOT, "tmp"), Ok(2));
        assert_eq!(file(&mut tree, "tmp/x"), 3);
        tree.remove_file(ROOT, "tmp/x").unwrap();
        assert_eq!(file(&mut tree, "tmp/x"), 4);
    }

    #[test]
    fn times_are_those_of_the_clock() {
        let mut tree = Tree::new(10, 5);
        tree.set_clock(10);
        let inode = file(&mut tree, "tmp/x");
        tree.set_clock(20);
        tree.write(inode, 0, b"x").unwrap();
        let times = |tree: &Tree, inode| tree.status(inode).unwrap().times;
        assert_eq!(times(&tree, inode), Times { accessed: 10, modified: 20, changed: 20 });
        assert_eq!(times(&tree, 2), Times { accessed: 5, modified: 10, changed: 10 });
        tree.set_clock(30);
        tree.rename((ROOT, "tmp/x"), (ROOT, "tmp/y")).unwrap();
        assert_eq!(times(&tree, inode), Times { accessed: 10, modified: 20, changed: 30 });
        tree.set_clock(40);
        tree.set_times(inode, None, Some(1)).unwrap();
        assert_eq!(times(&tree, inode), Times { accessed: 10, modified: 1, changed: 40 });
        assert_eq!(tree.set_times(ROOT, None, None), Err(ErrorCode::Access));
    }
}
