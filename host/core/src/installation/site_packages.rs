//! What pip installed: programs in a folder of its own, and all else in the package `troupe` among
//! the packages of a Python, beside libtorch's.
//!
//! ```text
//! <prefix>/bin/host
//! <prefix>/lib/python3.…/site-packages/troupe/           or dist-packages, as Debian calls it
//! <prefix>/lib/python3.…/site-packages/troupe-<version>.dist-info/
//!
//! <folder>/bin/host, troupe/, troupe-….dist-info/        by `pip install --target <folder>`
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use super::ENGINE;

/// The package.
const PACKAGE: &str = "troupe";
/// What pip knows of it. A package of this name and of another version, or by somebody else, is
/// none of ours.
const RECORD: &str = concat!("troupe-", env!("CARGO_PKG_VERSION"), ".dist-info");

/// The package that belongs to the programs in a folder.
pub(super) fn package(program_folder: &Path) -> Option<PathBuf> {
    let prefix = program_folder.parent()?;
    let mut packages = vec![prefix.to_owned()];
    for library in ["lib", "lib64"] {
        let pythons = entries(&prefix.join(library)).into_iter().filter(|folder| {
            let name = folder.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with("python3")
        });
        packages.extend(
            pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|it| python.join(it))),
        );
    }
    packages.into_iter().map(|folder| folder.join(PACKAGE)).find(|folder| around(folder).is_some())
}

/// The folder of packages in which this one lies, if it is ours.
pub(super) fn around(package: &Path) -> Option<&Path> {
    let folder = package.parent()?;
    let is_ours = folder.join(RECORD).is_dir() && package.join(ENGINE).is_file();
    is_ours.then_some(folder)
}

/// Where the programs of a package may lie: beside it, or below the prefix of its Python.
pub(super) fn programs(package: &Path) -> Vec<PathBuf> {
    let prefixes = [1, 4].into_iter().filter_map(|above| package.ancestors().nth(above));
    prefixes.map(|prefix| prefix.join("bin")).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

#[cfg(test)]
mod tests {
    use super::super::{find, program_folders, shipped_with, worker_of};
    use super::*;

    /// Lays out what pip would, and says where.
    fn install(packages: &Path) {
        let files = ["troupe/host-engine", "troupe/configs/a.toml", &format!("{RECORD}/RECORD")];
        for file in files.map(|file| packages.join(file)) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
    }

    #[test]
    fn programs_and_their_package_find_each_other_wherever_pip_puts_them() {
        let places = [
            "lib/python3.13/site-packages",
            "lib64/python3.9/site-packages",
            "lib/python3/dist-packages",
            "",
        ];
        for place in places {
            let prefix = tempfile::tempdir().unwrap();
            let (bin, packages) = (prefix.path().join("bin"), prefix.path().join(place));
            fs::create_dir(&bin).unwrap();
            fs::write(bin.join("host"), "").unwrap();
            fs::write(bin.join("troupe"), "a script").unwrap();
            install(&packages);
            let package = packages.join("troupe");
            let found = find(ENGINE, &program_folders(&bin)).unwrap();
            assert_eq!(found, package.join(ENGINE), "{place}");
            assert_eq!(worker_of(&package).unwrap(), bin.join("host"), "{place}");
            let configuration = Path::new("configs/a.toml");
            for folder in [&bin, &package] {
                assert_eq!(shipped_with(folder, configuration), package.join(configuration));
                let plugins = super::super::plugin_folders_of(folder);
                assert!(plugins.contains(&package.join("plugins")), "{plugins:?}");
            }
        }
    }

    #[test]
    fn a_package_of_this_name_that_is_not_ours_is_passed_by() {
        let prefix = tempfile::tempdir().unwrap();
        let (bin, lib) = (prefix.path().join("bin"), prefix.path().join("lib"));
        let [strange, other] =
            ["3.11", "3.12"].map(|of| lib.join(format!("python{of}/site-packages")));
        install(&strange);
        fs::rename(strange.join(RECORD), strange.join("troupe-0.5.2.dist-info")).unwrap();
        assert_eq!(package(&bin), None);
        install(&other);
        assert_eq!(package(&bin), Some(other.join("troupe")));
    }
}
