//! `host policy card`: what is known of a policy, as a model card in Hugging Face's form.

mod subject;
mod training;

use std::path::Path;

use minijinja::{Environment, context};
use serde::Serialize;
use serde_json::Value;

use super::report;
pub use subject::Subject;
use subject::{Base, UNKNOWN};
use troupe_cli::args::PolicyCardArgs;
use troupe_core::storage::{StorageError, digest_file, list_folder, write_file};

/// What a card is called, beside its policy.
const README: &str = "README.md";

const TEMPLATE: &str = include_str!("card/card.md.jinja");

/// Print the card of a policy, or write it.
pub fn card(args: &PolicyCardArgs) -> anyhow::Result<()> {
    let subject = Subject::find(&args.place, args.policy.as_deref(), args.step)?;
    let text = text(&subject, &subject.folder)?;
    let Some(out) = &args.out else {
        report::line(text.trim_end());
        return Ok(());
    };
    if out.exists() && !args.force {
        let reason = "it is there already; choose another file, or replace it with `--force`";
        return Err(StorageError::Unfit { path: out.clone(), reason: reason.to_owned() }.into());
    }
    write_file(out, text.as_bytes())?;
    report::line(&format!("  written to {}", out.display()));
    Ok(())
}

/// Put the card of an exported policy beside it, unless there is a text already, whose ever it is.
pub fn put_beside(subject: &Subject, exported: &Path) -> anyhow::Result<()> {
    let path = exported.join(README);
    if path.exists() {
        report::note(&format!("note: `{}` is left as it is", path.display()));
        return Ok(());
    }
    Ok(write_file(&path, text(subject, exported)?.as_bytes())?)
}

/// A line of a table of two columns.
type Fact = (&'static str, String);

/// The card of a policy whose weights lie in `folder`.
fn text(subject: &Subject, folder: &Path) -> anyhow::Result<String> {
    let training = subject.origin.as_ref().map(training::of).transpose()?;
    let base = subject.base();
    let title = match &subject.origin {
        None => name_of(folder),
        Some(origin) => format!("{} of {}", origin.name, name_of(&origin.run)),
    };
    let context = context! {
        license => subject.license(base.as_ref()),
        library => if subject.is_adapter() { "peft" } else { "transformers" },
        tags => tags(subject),
        facts => facts(subject, base.as_ref(), folder)?,
        limits => limits(subject, base.as_ref(), training.as_ref()),
        what => what(subject),
        title, base, training,
    };
    let mut environment = Environment::new();
    environment.add_template("card", TEMPLATE)?;
    let text = environment.get_template("card")?.render(context)?;
    Ok(text.trim_end().to_owned() + "\n")
}

/// The folder's own name, wherever it was named from.
fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}

fn tags(subject: &Subject) -> Vec<String> {
    let mut tags = vec!["troupe".to_owned()];
    if let Some(origin) = &subject.origin {
        tags.extend(["reinforcement-learning", "multi-agent"].map(str::to_owned));
        let families = origin.config.families();
        tags.extend(families.into_iter().filter_map(|family| family.environment));
        tags.dedup();
    }
    tags
}

fn what(subject: &Subject) -> String {
    match &subject.origin {
        None => "A policy in Hugging Face's layout. How it came about is not known here: its \
                 folder lies in no run."
            .to_owned(),
        Some(origin) => format!(
            "A policy of a team of language-model agents, trained by reinforcement learning with \
             Troupe (estimator `{}`).",
            origin.estimator()
        ),
    }
}

/// What it is, and the digests that tell it from others.
fn facts(subject: &Subject, base: Option<&Base>, folder: &Path) -> Result<Vec<Fact>, StorageError> {
    let mut facts = Vec::new();
    if let Some(origin) = &subject.origin {
        facts.push(("plays", origin.roles().join(", ")));
        facts.push(("after step", format!("{} of {}", origin.progress.step, origin.steps())));
    }
    if let Some(architecture) = subject.architecture() {
        facts.push(("architecture", architecture));
    }
    // The manifest knows neither number nor digest of weights that a server has.
    let here = subject.origin.as_ref().filter(|origin| origin.tinker().is_none());
    if let Some(entry) = here.and_then(subject::Origin::entry) {
        let whole = if base.is_some() { ", its base's included" } else { "" };
        facts.push(("parameters", format!("{}{whole}", entry.parameters)));
        facts.push(("began as", format!("sha256 `{}`", entry.digest)));
    }
    if let Some(base) = base {
        facts.push(("base", base.name.clone()));
        for (file, digest) in digests(&base.folder)? {
            facts.push(("base's weights", format!("`{file}`, sha256 `{digest}`")));
        }
    }
    for (file, digest) in digests(folder)? {
        facts.push(("weights", format!("`{file}`, sha256 `{digest}`")));
    }
    Ok(facts)
}

/// The files of weights in a folder, with their digests.
fn digests(folder: &Path) -> Result<Vec<(String, String)>, StorageError> {
    let files = list_folder(folder)?.into_iter().filter(|name| name.ends_with(".safetensors"));
    files.map(|name| digest_file(&folder.join(&name)).map(|digest| (name, digest))).collect()
}

/// What the figures do not say.
fn limits(
    subject: &Subject,
    base: Option<&Base>,
    training: Option<&training::Account>,
) -> Vec<String> {
    let mut limits = Vec::new();
    if let (Some(origin), Some(training)) = (&subject.origin, training) {
        limits.extend(training.limits(origin));
        limits.push(
            "Nothing else was measured: neither other tasks or settings, nor what it says to \
             anything else, nor whether that is safe."
                .to_owned(),
        );
    } else {
        limits.push(
            "Nothing is known of how well it does what, or of what it must not be used \
                     for."
                .to_owned(),
        );
    }
    if subject.license(base) == UNKNOWN {
        limits.push(match (base, &subject.origin) {
            (Some(base), _) => format!(
                "The licence of its base is not known here: `{}` has no model card that says it.",
                base.name
            ),
            (None, Some(_)) => "Its licence is for those to say who trained it.".to_owned(),
            (None, None) => "Its licence is not known here.".to_owned(),
        });
    }
    limits
}

/// A value out of a JSON file, if there is such a file and it has it.
fn read(folder: &Path, file: &str, at: &str) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join(file)).ok()?;
    let whole: Value = serde_json::from_str(&text).ok()?;
    whole.pointer(at).cloned()
}

/// A text for a cell of a table in Markdown.
fn cell(text: &str) -> String {
    let text = text.replace('|', "\\|").replace('\n', " ");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

#[derive(Serialize)]
struct File {
    name: String,
    digest: String,
}
