//! What a built program needs of the system that it is put on, as the dynamic linker reads it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use object::elf::{DT_NEEDED, DT_RUNPATH, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, SectionIndex};

/// Libraries that every Linux of a manylinux tag has, and those of the package `torch`.
const FOUND: [&str; 11] = [
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libc10.so",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
    "libtorch_cpu.so",
];

/// The newest symbols of libstdc++, GLIBCXX_3.4.x, that a system of glibc 2.y is sure to have; from
/// the policies of auditwheel.
const LIBSTDCXX: [(u32, u32); 6] = [(19, 17), (24, 27), (28, 31), (29, 34), (30, 35), (33, 39)];

/// The oldest glibc that a manylinux tag is given for here.
const OLDEST: u32 = 17;

/// One program's needs.
#[derive(Debug, PartialEq, Eq)]
pub struct Needs {
    /// The shared libraries that it names.
    pub libraries: BTreeSet<String>,
    /// Versions of symbols, such as GLIBC_2.34.
    pub versions: BTreeSet<String>,
    /// Where its libraries are looked for first.
    pub run_path: Vec<String>,
    /// Where the run path stands in the file.
    place: usize,
}

impl Needs {
    /// Of a program on disk.
    pub fn of(program: &Path) -> Result<Self> {
        let bytes =
            fs::read(program).with_context(|| format!("cannot read `{}`", program.display()))?;
        Self::read(&bytes).with_context(|| format!("cannot understand `{}`", program.display()))
    }

    /// Of a program's bytes.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let header = FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let (entries, linked) =
            sections.dynamic(endian, bytes)?.context("it is not linked dynamically")?;
        let strings = sections.strings(endian, bytes, linked)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut needs = Self {
            libraries: BTreeSet::new(),
            versions: BTreeSet::new(),
            run_path: Vec::new(),
            place: 0,
        };
        for entry in entries {
            match entry.tag32(endian).and_then(|tag| u32::try_from(tag).ok()) {
                Some(tag) if tag == DT_NEEDED as u32 => {
                    needs.libraries.insert(text(entry.string(endian, strings)?));
                }
                Some(tag) if tag == DT_RUNPATH as u32 => {
                    let path = text(entry.string(endian, strings)?);
                    needs.run_path = path.split(':').map(str::to_owned).collect();
                    let table = sections.section(SectionIndex(linked.0))?.sh_offset.get(endian);
                    needs.place = usize::try_from(table + entry.d_val.get(endian))?;
                }
                _ => {}
            }
        }
        if let Some((mut libraries, linked)) = sections.gnu_verneed(endian, bytes)? {
            let strings = sections.strings(endian, bytes, linked)?;
            while let Some((_, mut versions)) = libraries.next()? {
                while let Some(version) = versions.next()? {
                    needs.versions.insert(text(version.name(endian, strings)?));
                }
            }
        }
        Ok(needs)
    }

    /// The y of the oldest glibc 2.y with which it starts.
    ///
    /// # Errors
    /// If it needs what no system is sure to have, or a libstdc++ that none is known to.
    pub fn glibc(&self) -> Result<u32> {
        if let Some(library) = self.libraries.iter().find(|name| !FOUND.contains(&name.as_str())) {
            bail!("it needs `{library}`, which a system or Python's torch need not have");
        }
        let newest = |prefix: &str| {
            let minors = self.versions.iter().filter_map(|version| version.strip_prefix(prefix));
            minors.filter_map(|minor| minor.split('.').next()?.parse::<u32>().ok()).max()
        };
        let own = newest("GLIBC_2.").unwrap_or(OLDEST);
        let Some(minor) = newest("GLIBCXX_3.4.") else { return Ok(own.max(OLDEST)) };
        let known = LIBSTDCXX.iter().find(|(symbols, _)| *symbols >= minor);
        let (_, glibc) = known.with_context(|| {
            format!("it needs libstdc++'s GLIBCXX_3.4.{minor}, of which no system is known to us")
        })?;
        Ok(own.max(*glibc).max(OLDEST))
    }
}

/// Cuts the folders of this machine from a program's run path: what is left is beside the program.
pub fn cut_run_path(bytes: &mut [u8]) -> Result<()> {
    let needs = Needs::read(bytes)?;
    if needs.run_path.is_empty() {
        return Ok(());
    }
    let kept = needs.run_path.iter().filter(|folder| folder.starts_with("$ORIGIN"));
    let kept = kept.map(String::as_str).collect::<Vec<_>>().join(":");
    let whole = needs.run_path.join(":").len();
    let place = bytes.get_mut(needs.place..needs.place + whole);
    let place = place.context("its run path lies outside of it")?;
    ensure!(!kept.is_empty(), "its run path names no folder beside it");
    place.fill(0);
    place[..kept.len()].copy_from_slice(kept.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(libraries: &[&str], versions: &[&str]) -> Needs {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let (libraries, versions) = (set(libraries), set(versions));
        Needs { libraries, versions, run_path: Vec::new(), place: 0 }
    }

    #[test]
    fn the_newest_symbol_says_which_glibc_is_needed() {
        let glibc = |versions: &[&str]| needs(&["libc.so.6"], versions).glibc().unwrap();
        assert_eq!(glibc(&["GLIBC_2.2.5"]), 17);
        assert_eq!(glibc(&["GLIBC_2.2.5", "GLIBC_2.9", "GLIBC_2.34"]), 34);
        assert_eq!(glibc(&["GLIBC_2.28", "GLIBCXX_3.4", "GLIBCXX_3.4.29"]), 34);
        assert_eq!(glibc(&["GLIBC_2.35", "GLIBCXX_3.4.29"]), 35);
        assert_eq!(glibc(&["GLIBC_2.35", "GLIBCXX_3.4.31"]), 39);
    }

    #[test]
    fn a_library_that_is_not_sure_to_be_there_is_named() {
        let said = |needs: Needs| needs.glibc().unwrap_err().to_string();
        assert!(said(needs(&["libssl.so.3"], &[])).contains("`libssl.so.3`"));
        let new = said(needs(&["libstdc++.so.6"], &["GLIBCXX_3.4.99"]));
        assert!(new.contains("GLIBCXX_3.4.99"), "{new}");
    }

    #[test]
    fn this_programs_own_needs_are_read_and_its_run_path_is_cut() {
        let mut bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
        let before = Needs::read(&bytes).unwrap();
        assert!(before.libraries.contains("libc.so.6"), "{before:?}");
        assert!(before.versions.iter().any(|version| version.starts_with("GLIBC_2.")));
        cut_run_path(&mut bytes).unwrap();
        let after = Needs::read(&bytes).unwrap();
        assert!(after.run_path.iter().all(|folder| folder.starts_with("$ORIGIN")), "{after:?}");
        assert_eq!((after.libraries, after.versions), (before.libraries, before.versions));
    }
}
