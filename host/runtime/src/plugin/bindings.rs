//! What `bindgen!` makes of the contract: one world with everything a plugin
//! can export. A component need not export all of it; each interface is looked
//! up by itself.

#![allow(missing_docs, reason = "generated from wit/, where everything is documented")]

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package troupe:host;

        world plugin {
            import troupe:plugin/types@0.2.0;
            import troupe:plugin/log@0.2.0;
            import troupe:plugin/streams@0.2.0;
            import troupe:plugin/sandbox@0.2.0;
            import troupe:plugin/retrieval@0.2.0;
            export troupe:plugin/environment@0.2.0;
            export troupe:plugin/workflow@0.2.0;
            export troupe:plugin/interpreter@0.2.0;
        }
    ",
    world: "troupe:host/plugin",
});
