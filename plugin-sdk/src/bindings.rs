//! What is made of `wit/`: by wit-bindgen for guests, by wasmtime for a host
//! (feature `host`). The types are the SDK's own on either side, so nothing is
//! converted and the contract's words are their documentation.

#![allow(missing_docs, reason = "generated from wit/, where everything is documented")]

/// The types of the side that this is built for.
pub mod contract {
    #[cfg(feature = "host")]
    pub use super::host::{
        exports::troupe::plugin::{environment, interpreter, rendering, workflow},
        troupe::plugin::types,
    };
    #[cfg(not(feature = "host"))]
    pub use super::{
        environment_plugin::exports::troupe::plugin::environment,
        interpreter_plugin::exports::troupe::plugin::interpreter,
        rendering_plugin::exports::troupe::plugin::rendering, shared::troupe::plugin::types,
        workflow_plugin::exports::troupe::plugin::workflow,
    };
}

/// The world of a host: everything that a component may import or export. One
/// need not export all of it; each interface is looked up by itself.
#[cfg(feature = "host")]
pub mod host {
    wasmtime::component::bindgen!({
        path: "wit",
        inline: "
            package troupe:host;

            world plugin {
                import troupe:plugin/types@0.2.0;
                import troupe:plugin/log@0.2.0;
                import troupe:plugin/streams@0.2.0;
                import troupe:plugin/sandbox@0.2.0;
                import troupe:plugin/retrieval@0.2.0;
                export troupe:plugin/environment@0.2.0;
                export troupe:plugin/rendering@0.2.0;
                export troupe:plugin/workflow@0.2.0;
                export troupe:plugin/interpreter@0.2.0;
            }
        ",
        world: "troupe:host/plugin",
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
    });
}

/// The nouns that environments and workflows share.
#[cfg(not(feature = "host"))]
pub mod shared {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package troupe:sdk;

            world shared {
                import troupe:plugin/types@0.2.0;
            }
        ",
        world: "troupe:sdk/shared",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
    });
}

/// The world of a component that brings an environment.
#[cfg(not(feature = "host"))]
pub mod environment_plugin {
    wit_bindgen::generate!({
        path: "wit",
        world: "environment-plugin",
        with: { "troupe:plugin/types@0.2.0": super::shared::troupe::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_environment_plugin",
    });
}

/// The world of a component that says how its episodes look.
#[cfg(not(feature = "host"))]
pub mod rendering_plugin {
    wit_bindgen::generate!({
        path: "wit",
        world: "rendering-plugin",
        with: { "troupe:plugin/types@0.2.0": super::shared::troupe::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_rendering_plugin",
    });
}

/// The world of a component that brings a workflow.
#[cfg(not(feature = "host"))]
pub mod workflow_plugin {
    wit_bindgen::generate!({
        path: "wit",
        world: "workflow-plugin",
        with: { "troupe:plugin/types@0.2.0": super::shared::troupe::plugin::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_workflow_plugin",
    });
}

/// The world of a component that brings an interpreter.
#[cfg(not(feature = "host"))]
pub mod interpreter_plugin {
    wit_bindgen::generate!({
        path: "wit",
        world: "interpreter-plugin",
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_interpreter_plugin",
    });
}

/// What a component imports that was granted something. It comes beside the
/// world of what it exports; a component that does not use it has no trace of it.
pub mod granted {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package troupe:sdk;

            world granted {
                import troupe:plugin/sandbox@0.2.0;
                import troupe:plugin/retrieval@0.2.0;
            }
        ",
        world: "troupe:sdk/granted",
        additional_derives: [PartialEq],
        generate_all,
    });
}
