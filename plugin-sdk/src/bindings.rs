//! What wit-bindgen makes of `wit/`. Its types are the SDK's own, so nothing
//! is converted and the contract's words are their documentation.

#![allow(missing_docs, reason = "generated from wit/, where everything is documented")]

/// The nouns that environments and workflows share.
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

/// The world of a component that brings a workflow.
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
