//! The one macro that turns a type into a component.

/// Export an environment, how its episodes look, a workflow, an interpreter, or
/// several of them from this component. On other targets than WebAssembly it only checks the types,
/// so that the same crate can be tested natively.
///
/// ```ignore
/// plugin_sdk::export!(environment: Sudoku);
/// plugin_sdk::export!(environment: Sudoku, rendering: Sudoku);
/// plugin_sdk::export!(environment: Debate, workflow: Panel);
/// ```
#[macro_export]
macro_rules! export {
    ($($kind:ident: $type:ty),+ $(,)?) => {
        $($crate::__export!($kind, $type);)+
    };
}

/// One export of [`export!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    (environment, $type:ty) => {
        const _: fn() = || {
            fn is_environment<T: $crate::Environment>() {}
            is_environment::<$type>();
        };
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Component = $crate::component::EnvironmentComponent<$type>;
            $crate::bindings::environment_plugin::export_environment_plugin!(
                Component with_types_in $crate::bindings::environment_plugin
            );
        };
    };
    (rendering, $type:ty) => {
        const _: fn() = || {
            fn is_rendered<T: $crate::Rendered>() {}
            is_rendered::<$type>();
        };
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Component = $crate::component::RenderingComponent<$type>;
            $crate::bindings::rendering_plugin::export_rendering_plugin!(
                Component with_types_in $crate::bindings::rendering_plugin
            );
        };
    };
    (workflow, $type:ty) => {
        const _: fn() = || {
            fn is_workflow<T: $crate::Workflow>() {}
            is_workflow::<$type>();
        };
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Component = $crate::component::WorkflowComponent<$type>;
            $crate::bindings::workflow_plugin::export_workflow_plugin!(
                Component with_types_in $crate::bindings::workflow_plugin
            );
        };
    };
    (interpreter, $type:ty) => {
        const _: fn() = || {
            fn is_interpreter<T: $crate::Interpreter>() {}
            is_interpreter::<$type>();
        };
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Component = $crate::component::InterpreterComponent<$type>;
            $crate::bindings::interpreter_plugin::export_interpreter_plugin!(
                Component with_types_in $crate::bindings::interpreter_plugin
            );
        };
    };
}
