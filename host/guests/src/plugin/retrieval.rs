//! The contract's `retrieval`: a plugin that was granted it searches a corpus.

use std::time::Instant;

use wasmtime::Trap;
use wasmtime::component::{Linker, WasmStr};

use super::bindings::troupe::plugin::retrieval as contract;
use super::instance::{Context, HostState};
use crate::retrieval::{Document, QueryTooLong, SearchResult};

type SearchAnswer = Result<Vec<contract::Document>, String>;

/// Adds `troupe:plugin/retrieval` to a linker. Without a grant nothing that
/// imports it is loaded. Not by the generated code, which would copy a query
/// out of the guest, however long it is.
pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let mut retrieval = linker.instance("troupe:plugin/retrieval@0.2.0")?;
    retrieval.func_wrap("search", |mut context: Context<'_>, (query, limit): (WasmStr, u32)| {
        Ok((search(&mut context, &query, limit)?,))
    })
}

/// Searches. It is paid for in fuel, so that it ends alike on every machine;
/// the clock that guards the plugin stands still meanwhile.
fn search(
    context: &mut Context<'_>,
    query: &WasmStr,
    limit: u32,
) -> wasmtime::Result<SearchAnswer> {
    let Some(corpus) = context.data().granted.corpus.clone() else {
        wasmtime::bail!("retrieval was not granted to this plugin");
    };
    let began = Instant::now();
    let longest = context.data().longest_answer;
    let result = corpus.search(&query.to_str(&*context)?, limit as usize, longest);
    let remaining = context.data_mut().guard.pause(began.elapsed());
    context.set_epoch_deadline(remaining);
    match result {
        Err(error @ QueryTooLong { .. }) => Ok(Err(error.to_string())),
        Ok(SearchResult { documents, work }) => {
            let left = context.get_fuel()?.checked_sub(work).ok_or(Trap::OutOfFuel)?;
            context.set_fuel(left)?;
            Ok(Ok(documents.into_iter().map(document).collect()))
        }
    }
}

fn document(Document { id, title, text, score }: Document) -> contract::Document {
    contract::Document { id, title, text, score }
}
