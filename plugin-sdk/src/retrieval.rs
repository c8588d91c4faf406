//! Search a corpus. The host serves this import to plugins that its user
//! granted it, as in `host train --grant my-environment=search`; others
//! that use it are not loaded. Which corpus it is, the user says, too.

pub use crate::bindings::granted::troupe::plugin::retrieval::Document;

/// The documents that fit the query best, at most `limit` of them and never
/// more than 64, the best first. The same query gives the same documents.
///
/// # Errors
///
/// The query is too long, or there is no corpus.
pub fn search(query: &str, limit: u32) -> Result<Vec<Document>, String> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::granted::troupe::plugin::retrieval::search(query, limit);
    #[cfg(not(target_family = "wasm"))]
    return outside(query, limit);
}

/// A native test has no host that would search.
#[cfg(not(target_family = "wasm"))]
fn outside(_: &str, _: u32) -> Result<Vec<Document>, String> {
    Err("there is no corpus outside a host".to_owned())
}
