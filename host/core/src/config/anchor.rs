//! Paths that mean the same in every folder.

use std::path::PathBuf;

use super::Config;
use crate::oci::SCHEME;

impl Config {
    /// The same configuration with its paths made absolute, so that a file of it
    /// can be used from any folder. A bare name of a plugin stays a name, unless
    /// a file of that name is there.
    pub fn anchored(mut self) -> Self {
        anchor(&mut self.run.dir);
        self.plugins.path.iter_mut().for_each(anchor);
        self.plugins.files.iter_mut().for_each(anchor_file);
        self.sandbox.interpreters.iter_mut().for_each(anchor_file);
        self.retrieval.corpus.iter_mut().for_each(anchor);
        self.rollout.tables.iter_mut().for_each(anchor);
        let mixed = self.mix.iter_mut().map(|family| &mut family.tasks);
        for tasks in std::iter::once(&mut self.tasks).chain(mixed) {
            let dealt =
                [&mut tasks.files, &mut tasks.train, &mut tasks.validation, &mut tasks.test];
            dealt.into_iter().flatten().for_each(anchor);
        }
        for policy in self.policies.values_mut() {
            policy.path.as_mut().map(anchor);
            if let Some(tinker) = &mut policy.tinker {
                anchor(&mut tinker.tokenizer);
                tinker.path.as_mut().map(anchor);
            }
            policy.preference.as_mut().and_then(|critic| critic.start.as_mut()).map(anchor);
            policy.ensemble.as_mut().and_then(|all| all.table.as_mut()).map(anchor);
            policy.lora.as_mut().and_then(|lora| lora.path.as_mut()).map(anchor);
        }
        self
    }
}

fn anchor(path: &mut PathBuf) {
    // Without a current folder there is nothing it could be relative to.
    if let Ok(absolute) = std::path::absolute(&*path) {
        *path = absolute;
    }
}

fn anchor_file(file: &mut PathBuf) {
    let is_reference = file.to_str().is_some_and(|name| name.starts_with(SCHEME));
    if !is_reference && (file.is_file() || file.components().count() > 1) {
        anchor(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_absolute_and_a_bare_name_stays_one() {
        let text = "
            run.dir = 'runs'
            plugins = { files = ['sudoku', 'mine/solo.wasm', 'oci://r/x:1'], path = ['more'] }
            sandbox.interpreters = ['python', '../python.wasm']
            mix = [{ family = 'own', tasks = { test = ['test.jsonl'] } }]
            retrieval.corpus = ['facts.jsonl']
            [policies.base]
            path = 'models/small'
            [policies.player]
            base = 'base'
            lora = { path = 'adapters/player' }
            [policies.other]
            path = 'models/other'
            [policies.both]
            ensemble = { members = ['player', 'other'], table = 'situations.json' }
        ";
        let config = Config::from_table(text.parse().unwrap()).unwrap().anchored();
        let here = std::env::current_dir().unwrap();
        assert_eq!(config.run.dir, here.join("runs"));
        assert_eq!(config.plugins.path, [here.join("more")]);
        assert_eq!(
            config.plugins.files,
            [PathBuf::from("sudoku"), here.join("mine/solo.wasm"), PathBuf::from("oci://r/x:1"),]
        );
        assert_eq!(config.sandbox.interpreters[0], PathBuf::from("python"));
        assert!(config.sandbox.interpreters[1].is_absolute());
        assert_eq!(config.retrieval.corpus, [here.join("facts.jsonl")]);
        assert_eq!(config.policies["base"].path, Some(here.join("models/small")));
        assert_eq!(config.mix[0].tasks.test, [here.join("test.jsonl")]);
        let lora = config.policies["player"].lora.as_ref().unwrap();
        assert_eq!(lora.path, Some(here.join("adapters/player")));
        let ensemble = config.policies["both"].ensemble.as_ref().unwrap();
        assert_eq!(ensemble.table, Some(here.join("situations.json")));
    }
}
