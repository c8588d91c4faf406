//! The files of a layer, with what an archive says of each.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use tar::{Builder, EntryType, Header};

/// Who owns a file: a number for user and group. What has names for them has other names elsewhere.
pub const ROOT: u64 = 0;

/// What lies in one place.
pub enum Node {
    /// A folder, of this owner and mode.
    Folder(u64, u32),
    /// A file of root's: its bytes, and whether it is a program.
    File(Vec<u8>, bool),
    /// The same, of a file on this machine.
    Copy(PathBuf, bool),
    /// A symbolic link to there.
    Link(String),
}

/// Files by their paths, which are relative. The same files are the same archive, whenever and by
/// whomever they were made.
#[derive(Default)]
pub struct Tree {
    nodes: BTreeMap<String, Node>,
}

impl Tree {
    /// Puts something in a place, and makes the folders above it.
    pub fn put(&mut self, path: impl Into<String>, node: Node) {
        let path = path.into();
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            above = folder;
            self.nodes.entry(folder.to_owned()).or_insert(Node::Folder(ROOT, 0o755));
        }
        self.nodes.insert(path, node);
    }

    /// Puts a text in a place.
    pub fn text(&mut self, path: &str, text: impl Into<Vec<u8>>) {
        self.put(path, Node::File(text.into(), false));
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Writes the archive.
    pub fn write<W: Write>(&self, archive: &mut Builder<W>) -> Result<()> {
        for (path, node) in &self.nodes {
            append(archive, path, node).with_context(|| format!("cannot pack `{path}`"))?;
        }
        Ok(())
    }
}

fn append<W: Write>(archive: &mut Builder<W>, path: &str, node: &Node) -> Result<()> {
    let mode = |runs: &bool| if *runs { 0o755 } else { 0o644 };
    match node {
        Node::Folder(owner, mode) => {
            let mut header = header(EntryType::Directory, *owner, *mode, 0);
            archive.append_data(&mut header, format!("{path}/"), std::io::empty())?;
        }
        Node::File(bytes, runs) => {
            let mut header = header(EntryType::Regular, ROOT, mode(runs), bytes.len() as u64);
            archive.append_data(&mut header, path, bytes.as_slice())?;
        }
        Node::Copy(source, runs) => {
            let file = fs::File::open(source)
                .with_context(|| format!("cannot read `{}`", source.display()))?;
            let size = file.metadata()?.len();
            let mut header = header(EntryType::Regular, ROOT, mode(runs), size);
            archive.append_data(&mut header, path, file)?;
        }
        Node::Link(target) => {
            let mut header = header(EntryType::Symlink, ROOT, 0o777, 0);
            archive.append_link(&mut header, path, target)?;
        }
    }
    Ok(())
}

fn header(kind: EntryType, owner: u64, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_uid(owner);
    header.set_gid(owner);
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_size(size);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_before_what_is_in_them_and_nothing_says_when_it_was_made() {
        let mut tree = Tree::default();
        tree.text("usr/share/a", "a");
        tree.put("tmp", Node::Folder(ROOT, 0o1777));
        tree.put("usr/bin/x", Node::Link("y".to_owned()));
        let mut archive = Builder::new(Vec::new());
        tree.write(&mut archive).unwrap();
        let bytes = archive.into_inner().unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
            let entry = entry.unwrap();
            assert_eq!(entry.header().mtime().unwrap(), 0);
            let path = entry.path().unwrap().display().to_string();
            (path, entry.header().mode().unwrap())
        };
        let found: Vec<(String, u32)> = archive.entries().unwrap().map(read).collect();
        let found: Vec<(&str, u32)> = found.iter().map(|(path, mode)| (&**path, *mode)).collect();
        let expected = [
            ("tmp/", 0o1777),
            ("usr/", 0o755),
            ("usr/bin/", 0o755),
            ("usr/bin/x", 0o777),
            ("usr/share/", 0o755),
            ("usr/share/a", 0o644),
        ];
        assert_eq!(found, expected);
    }
}
