//! The contract's `streams`, as they are outside a run: there is nothing to
//! read, and what is written is lost. The sandbox serves those of a run.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::bindings::troupe::plugin::streams::Output;
use super::instance::HostState;

/// Adds `troupe:plugin/streams` to a linker.
pub(super) fn link(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    type Context<'a> = StoreContextMut<'a, HostState>;
    let mut streams = linker.instance("troupe:plugin/streams@0.2.0")?;
    streams.func_wrap("read", |_: Context<'_>, _: (u32,)| Ok((Vec::<u8>::new(),)))?;
    streams.func_wrap("write", |_: Context<'_>, _: (Output, Vec<u8>)| Ok(()))
}
