//! What a component is called and brings, known before it is tried: with that, options are refused
//! that would do nothing.

use std::path::Path;

use super::super::args::PageOptions;
use super::super::look_at;
use super::CONTENTS;
use crate::said::Said;
use troupe_core::config::PluginsConfig;
use troupe_core::oci::OciReference;
use troupe_terminal::UsageError;

/// A component that is to have a page.
#[derive(Debug)]
pub(super) struct Cover {
    /// Its name, as it says.
    name: String,
    is_workflow: bool,
    /// Whether it was named as a reference to a registry.
    is_reference: bool,
}

impl Cover {
    pub(super) fn of(plugin: &Path, plugins: &PluginsConfig) -> anyhow::Result<Self> {
        let library = look_at(plugin, plugins)?;
        let said = Said::of(&library)
            .ok_or_else(|| UsageError(format!("`{}` brings nothing to show", plugin.display())))?;
        Ok(Cover {
            name: said.name,
            is_workflow: !library.workflows().is_empty(),
            is_reference: OciReference::of(plugin)?.is_some(),
        })
    }
}

/// Refuses components whose pages would take each other's place, or that of the page of all.
pub(super) fn refuse_alike(covers: &[Cover]) -> Result<(), UsageError> {
    for (index, Cover { name, .. }) in covers.iter().enumerate() {
        if covers[..index].iter().any(|other| other.name == *name) {
            return Err(UsageError(format!("two components call themselves `{name}`; name one")));
        }
        if format!("{name}.html") == CONTENTS {
            return Err(UsageError(format!(
                "`{name}` can have no page in a catalogue, where {CONTENTS} is the page of all; \
                 leave it out, or write its page with `host plugin page`"
            )));
        }
    }
    Ok(())
}

/// Refuses options that none of these components has a use for.
pub(super) fn refuse_idle(options: &PageOptions, covers: &[Cover]) -> Result<(), UsageError> {
    let names: Vec<String> = covers.iter().map(|cover| format!("`{}`", cover.name)).collect();
    let names = names.join(", ");
    let refuse = |reason: String| Err(UsageError(reason));
    if let Some(registry) = &options.registry
        && covers.iter().all(|cover| cover.is_reference)
    {
        return refuse(format!(
            "`--registry {registry}` names files as a push would, and none is among {names}; leave \
             it out"
        ));
    }
    if let Some(beside) = &options.beside
        && !covers.iter().any(|cover| cover.is_workflow)
    {
        return refuse(format!(
            "`--beside {}` is for workflows, and none is among {names}; leave it out",
            beside.display()
        ));
    }
    let unknown = |name: &&str| covers.iter().all(|cover| cover.name != **name);
    match options.licensed().find(unknown) {
        None => Ok(()),
        Some(name) => {
            refuse(format!("`--license {name}=…` is for a component that is not among {names}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cover(name: &str, is_workflow: bool, is_reference: bool) -> Cover {
        Cover { name: name.to_owned(), is_workflow, is_reference }
    }

    #[test]
    fn components_whose_pages_would_take_each_others_place_are_refused() {
        let refused = |names: &[&str]| {
            let covers: Vec<Cover> = names.iter().map(|name| cover(name, false, false)).collect();
            refuse_alike(&covers).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["sudoku", "math"]), None);
        assert!(refused(&["math", "sudoku", "math"]).unwrap().contains("call themselves `math`"));
        assert!(refused(&["sudoku", "index"]).unwrap().contains("`index` can have no page"));
    }

    #[test]
    fn an_option_that_no_component_has_a_use_for_is_refused_by_its_name() {
        let options = PageOptions { license: Vec::new(), registry: None, beside: None, tasks: 5 };
        let refused = |change: &dyn Fn(&mut PageOptions), covers: &[Cover]| {
            let mut options = options.clone();
            change(&mut options);
            refuse_idle(&options, covers).err().map(|error| error.to_string())
        };
        let file = cover("sudoku", false, false);
        let pushed = cover("math", false, true);
        let workflow = cover("solo", true, false);
        let of = |one: &Cover, other: &Cover| {
            [one, other].map(|it| cover(&it.name, it.is_workflow, it.is_reference))
        };
        let registry =
            |it: &mut PageOptions| it.registry = Some("oci://r.example/games".to_owned());
        assert_eq!(refused(&registry, &of(&file, &pushed)), None);
        let said = refused(&registry, &of(&pushed, &pushed)).unwrap();
        assert!(said.contains("`--registry oci://r.example/games`"), "{said}");
        let beside = |it: &mut PageOptions| it.beside = Some("plan-path".into());
        assert_eq!(refused(&beside, &of(&file, &workflow)), None);
        let said = refused(&beside, &of(&file, &pushed)).unwrap();
        assert!(said.contains("`--beside plan-path`"), "{said}");
        let license = |text: &'static str| {
            move |it: &mut PageOptions| it.license = vec![text.parse().unwrap()]
        };
        assert_eq!(refused(&license("MIT"), &of(&file, &workflow)), None);
        assert_eq!(refused(&license("solo=MIT"), &of(&file, &workflow)), None);
        let said = refused(&license("sodoku=MIT"), &of(&file, &workflow)).unwrap();
        assert!(
            said.contains("`--license sodoku=…`") && said.contains("`sudoku`, `solo`"),
            "{said}"
        );
    }
}
