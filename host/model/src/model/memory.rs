//! How much memory is free.

use std::path::{Path, PathBuf};

use super::device::{Device, cuda_half};

impl Device {
    /// Bytes that can still be taken; nothing if the system does not say.
    pub fn free_memory(self) -> Option<u64> {
        match self.torch() {
            tch::Device::Cuda(index) => cuda_memory(index),
            _ => cpu_memory(),
        }
    }
}

/// Bytes of memory that this process has now; nothing if the system does not say.
pub fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(field(&status, "VmRSS:")? * 1024)
}

/// Give the system back what was freed. The allocator keeps it while a phase of a step lasts,
/// which takes and frees the same sizes over and over, and the next phase takes others.
pub fn give_back_memory() {
    #[expect(unsafe_code, reason = "mimalloc's own function")]
    // SAFETY: declared as in mimalloc.h; what is in use is not touched.
    unsafe {
        mi_collect(true);
    }
}

#[expect(unsafe_code, reason = "mimalloc's own function")]
// SAFETY: declared as in mimalloc.h.
unsafe extern "C" {
    fn mi_collect(force: bool);
}

/// What the kernel could give, bounded by the limit of our control group, as far as either can be
/// seen.
fn cpu_memory() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let available = || Some(field(&read(Path::new("/proc/meminfo"))?, "MemAvailable:")? * 1024);
    // What is not said is looked for where a container has its own.
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or(UNSAID.to_owned());
    let left = folders(&groups).into_iter().filter_map(|folder| {
        let number = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
        let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
        // Version 1 says "none" by the largest number that there is.
        let limit = Some(limit).filter(|limit| *limit < NO_LIMIT)?;
        let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
        let files = field(&read(&folder.join("memory.stat"))?, "inactive_file").unwrap_or(0);
        // The system gives up cached files that are not in use when memory is needed.
        Some(limit.saturating_sub(used.saturating_sub(files)))
    });
    left.chain(available()).min()
}

/// More than any machine has.
const NO_LIMIT: u64 = 1 << 60;
/// The group at the root, in both versions.
const UNSAID: &str = "0::/\n0:memory:/\n";

/// The value behind a name in a file of names and values.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Where the limits of the control groups in `/proc/self/cgroup` may be, in
/// version 2 and version 1, seen from outside or from inside a container.
fn folders(groups: &str) -> Vec<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let root = match controllers {
            "" => root.to_owned(),
            _ if controllers.split(',').any(|one| one == "memory") => root.join("memory"),
            _ => continue,
        };
        folders.push(root.join(path.trim_start_matches('/')));
        folders.push(root);
    }
    folders
}

/// Free memory of a GPU, from the CUDA runtime that libtorch's CUDA half works with.
fn cuda_memory(index: usize) -> Option<u64> {
    type GetDevice = unsafe extern "C" fn(*mut i32) -> i32;
    type SetDevice = unsafe extern "C" fn(i32) -> i32;
    type Info = unsafe extern "C" fn(*mut usize, *mut usize) -> i32;
    let (mut current, mut free, mut total) = (0, 0, 0);
    // Not those of the whole program: libtorch's CPU half brings a runtime of its own.
    let library = cuda_half().ok()?;
    #[expect(unsafe_code, reason = "the CUDA runtime has no safe interface")]
    // SAFETY: declared as in cuda_runtime_api.h; all pointers are to locals.
    let failed = unsafe {
        let get_device = library.get::<GetDevice>(b"cudaGetDevice\0").ok()?;
        let set_device = library.get::<SetDevice>(b"cudaSetDevice\0").ok()?;
        let info = library.get::<Info>(b"cudaMemGetInfo\0").ok()?;
        let failed = get_device(&mut current) | set_device(i32::try_from(index).ok()?);
        let failed = failed | info(&mut free, &mut total);
        failed | set_device(current)
    };
    (failed == 0).then_some(free as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_has_some_memory_left() {
        let free = Device::cpu().free_memory().unwrap();
        assert!((1 << 20..1 << 50).contains(&free), "{free}");
    }

    /// Tests beside this one take and give back memory of the same process, so
    /// that no difference is asked for: what is held here is counted at least.
    #[test]
    fn what_is_written_to_is_resident() {
        let block = vec![1_u8; 256 << 20];
        let resident = resident_memory().unwrap();
        assert!(resident >= block.len() as u64, "{resident} of {}", block.len());
        assert!(resident < 1 << 40, "{resident}");
    }

    #[test]
    fn limits_are_looked_for_in_both_versions_of_control_groups() {
        let found = folders("4:cpu,memory:/a/b\n2:cpu:/c\n0::/d\n");
        let expected = ["memory/a/b", "memory", "d", ""];
        assert_eq!(found, expected.map(|path| Path::new("/sys/fs/cgroup").join(path)));
        assert_eq!(field("A: 3 kB\nB: 4 kB\n", "B:"), Some(4));
    }
}
