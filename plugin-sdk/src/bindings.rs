//! What wit-bindgen makes of `wit/`, one module a world. Only `conversions`
//! and `component` look in here; authors meet the SDK's own types.

/// The world of a component that brings an environment.
pub mod environment_plugin {
    wit_bindgen::generate!({
        path: "wit",
        world: "environment-plugin",
        pub_export_macro: true,
        export_macro_name: "export_environment_plugin",
    });
}

/// The world of a component that brings a workflow.
pub mod workflow_plugin {
    wit_bindgen::generate!({
        path: "wit",
        world: "workflow-plugin",
        pub_export_macro: true,
        export_macro_name: "export_workflow_plugin",
    });
}

/// The world of a component that brings an interpreter.
pub mod interpreter_plugin {
    wit_bindgen::generate!({
        path: "wit",
        world: "interpreter-plugin",
        pub_export_macro: true,
        export_macro_name: "export_interpreter_plugin",
    });
}

/// What a component imports that runs model-written programs. It comes beside
/// the world of what it exports; a component that does not use it has no trace
/// of it.
pub mod sandbox_user {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package troupe:sdk;

            world sandbox-user {
                import troupe:plugin/sandbox@0.1.0;
            }
        ",
        world: "troupe:sdk/sandbox-user",
        generate_all,
    });
}
