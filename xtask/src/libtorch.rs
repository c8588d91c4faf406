//! libtorch in `.deps`, from the wheels that PyPI has of it.
//!
//! The folder appears under its name only when complete, with a stamp that names the pins. Of the
//! wheels only libraries, headers and licenses are kept: no Python ever imports them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cache::{Cache, fresh_dir, replace_dir};
use crate::pins::{CUDA, LIBTORCH, Pin};
use crate::workspace::Workspace;
use crate::{progress, wheel};

/// The version that the `tch` crate in `Cargo.toml` is made for.
const NAME: &str = "libtorch 2.11.0";

/// The file in `.deps` that lists the pins of what the folder holds.
const STAMP: &str = "libtorch.stamp";

/// Which libraries are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Those that run without a GPU.
    Cpu,
    /// CUDA's too.
    Cuda,
}

/// Brings libtorch unless it is there; a set-up for CUDA serves without a GPU too.
pub fn ensure(workspace: &Workspace, cache: &Cache, flavour: Flavour) -> Result<()> {
    let deps = workspace.root.join(".deps");
    if let Some(own) = own_libtorch(&deps) {
        progress::ready("libtorch", format!("your own, LIBTORCH={}", own.display()));
        return Ok(());
    }
    let pins = flavour.pins()?;
    let there = fs::read_to_string(deps.join(STAMP)).unwrap_or_default();
    if !there.starts_with(&stamp(&pins)) {
        install(&pins, &deps, cache, flavour)?;
    }
    progress::ready(NAME, deps.display());
    Ok(())
}

/// What the user's `LIBTORCH` names; without one, cargo sets it to our folder.
fn own_libtorch(deps: &Path) -> Option<PathBuf> {
    let named = env::var_os("LIBTORCH").map(PathBuf::from)?;
    (named != deps.join("torch")).then_some(named)
}

fn install(pins: &[Pin], deps: &Path, cache: &Cache, flavour: Flavour) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("{NAME} is pinned for x86-64 Linux only: set LIBTORCH to one of your own");
    }
    eprintln!("{NAME}: installing it; its wheels are kept in {}", cache.join("wheels").display());
    let wheels: Vec<PathBuf> =
        pins.iter().map(|pin| wheel::fetch(pin, cache)).collect::<Result<_>>()?;

    let partial = deps.with_extension("partial");
    fresh_dir(&partial)?;
    for (pin, wheel) in pins.iter().zip(&wheels) {
        wheel::unpack(wheel, &partial, pin.name, |path| flavour.keeps(path))?;
    }
    fs::write(partial.join(STAMP), stamp(pins))?;
    replace_dir(deps, &partial)
}

fn stamp(pins: &[Pin]) -> String {
    pins.iter().map(|pin| format!("{}\n", pin.requirement)).collect()
}

impl Flavour {
    /// CUDA's come last: then the stamp of a set-up for CUDA begins with that of one without.
    fn pins(self) -> Result<Vec<Pin<'static>>> {
        let mut pins = Pin::parse_all(LIBTORCH)?;
        if self == Self::Cuda {
            pins.extend(Pin::parse_all(CUDA)?);
        }
        Ok(pins)
    }

    /// Whether a file of a wheel is needed. libtorch's CPU half links two of CUDA's libraries.
    fn keeps(self, path: &str) -> bool {
        let Some((folder, file)) = path.rsplit_once('/') else { return false };
        let starts_with = |names: &[&str]| names.iter().any(|name| file.starts_with(name));
        let cuda = self == Self::Cuda;
        if folder == "torch/lib" {
            !starts_with(&["libtorch_python"])
                && (cuda || !starts_with(&["libtorch_cuda", "libtorch_nvshmem"]))
        } else if folder.starts_with("nvidia/") {
            cuda || starts_with(&["libcudart.", "libcupti."])
        } else {
            folder.starts_with("torch/include") || folder.contains(".dist-info")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_are_of_the_version_we_name() {
        let pins = Pin::parse_all(LIBTORCH).unwrap();
        assert_eq!(NAME.strip_prefix("libtorch "), Some(pins[0].version));
    }

    #[test]
    fn without_a_gpu_only_the_cpu_half_is_kept() {
        let kept = |path| (Flavour::Cpu.keeps(path), Flavour::Cuda.keeps(path));
        assert_eq!(kept("torch/lib/libtorch_cpu.so"), (true, true));
        assert_eq!(kept("torch/include/c10/core/Device.h"), (true, true));
        assert_eq!(kept("torch-2.11.0.dist-info/licenses/LICENSE"), (true, true));
        assert_eq!(kept("nvidia/cu13/lib/libcudart.so.13"), (true, true));
        assert_eq!(kept("nvidia/cu13/lib/libcublas.so.13"), (false, true));
        assert_eq!(kept("torch/lib/libtorch_cuda_linalg.so"), (false, true));
        assert_eq!(kept("torch/lib/libtorch_python.so"), (false, false));
        assert_eq!(kept("torch/nn/functional.py"), (false, false));
    }

    #[test]
    fn a_set_up_for_cuda_serves_without_a_gpu_too() {
        let [cpu, cuda] = [Flavour::Cpu, Flavour::Cuda].map(|f| stamp(&f.pins().unwrap()));
        assert!(cuda.starts_with(&cpu));
        assert!(!cpu.starts_with(&cuda));
    }
}
