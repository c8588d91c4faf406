//! `--device`: where tensors live.

use super::ConfigError;

/// Which device to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The GPU of this process if there is one that works, else the CPU.
    Automatic,
    /// The CPU.
    Cpu,
    /// The GPU of this process: the first, or among several processes on a machine, that of its
    /// number.
    Gpu,
    /// The GPU with this index.
    Cuda(usize),
}

impl std::str::FromStr for DeviceChoice {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, ConfigError> {
        let unknown = || ConfigError::Invalid {
            key: "--device".to_owned(),
            reason: format!("there is no device `{name}`; say `cpu`, `cuda` or `cuda:<index>`"),
        };
        match name.split_once(':') {
            None if name.is_empty() => Ok(DeviceChoice::Automatic),
            None if name == "cpu" => Ok(DeviceChoice::Cpu),
            None if name == "cuda" => Ok(DeviceChoice::Gpu),
            Some(("cuda", index)) => index.parse().map(DeviceChoice::Cuda).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_chosen_by_name() {
        assert_eq!("cpu".parse::<DeviceChoice>().unwrap(), DeviceChoice::Cpu);
        assert_eq!("cuda".parse::<DeviceChoice>().unwrap(), DeviceChoice::Gpu);
        assert_eq!("cuda:3".parse::<DeviceChoice>().unwrap(), DeviceChoice::Cuda(3));
        assert_eq!("".parse::<DeviceChoice>().unwrap(), DeviceChoice::Automatic);
        let error = "tpu".parse::<DeviceChoice>().unwrap_err().to_string();
        assert!(error.contains("`tpu`") && error.contains("cuda:<index>"), "{error}");
    }
}
