//! What episodes and sessions are saved as and resumed from: any type that serde
//! knows, in a compact binary form (postcard). Environments and workflows have it
//! without a word; one with something else to say overrides both.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, PartialEq, Debug)]
//! struct Board {
//!     cells: Vec<u8>,
//! }
//!
//! let board = Board { cells: vec![1, 2, 3] };
//! let saved = plugin_sdk::state::save(&board).expect("boards can be saved");
//! assert_eq!(plugin_sdk::state::load::<Board>(&saved), Ok(board));
//! ```

use serde::{Serialize, de::DeserializeOwned};

/// The value as bytes; nothing if it holds what postcard cannot express, in
/// which case the host replays the episode instead.
pub fn save<T: Serialize>(value: &T) -> Option<Vec<u8>> {
    postcard::to_allocvec(value).ok()
}

/// The value that [`save`] turned into these bytes.
pub fn load<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StateError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(StateError(format!("{} bytes are left over", rest.len()))),
        Err(error) => Err(StateError(error.to_string())),
    }
}

/// Why saved bytes could not be read. `?` turns it into a
/// [`Problem`](crate::types::Problem).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a saved state of this version: {0}")]
pub struct StateError(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_over_and_missing_bytes_are_refused() {
        let saved = save(&(7_u32, "seven")).expect("pairs can be saved");
        assert_eq!(load::<(u32, String)>(&saved), Ok((7, "seven".to_owned())));
        assert!(load::<(u32, String)>(&[saved.as_slice(), &[0]].concat()).is_err());
        assert!(load::<(u32, String)>(&saved[..3]).is_err());
    }
}
