//! Search a corpus. The host serves this import to plugins that its user
//! granted it, and which corpus it is, the user says.

pub use crate::bindings::granted::troupe::plugin::retrieval::Passage;

/// The passages that fit the query best, at most `limit` of them, the best
/// first. The same query gives the same passages.
///
/// # Errors
///
/// There is no corpus, or it cannot be searched.
pub fn search(query: &str, limit: u32) -> Result<Vec<Passage>, String> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::granted::troupe::plugin::retrieval::search(query, limit);
    #[cfg(not(target_family = "wasm"))]
    return Err(format!("there is no corpus outside a host to search {limit} x `{query}` in"));
}
