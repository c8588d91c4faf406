//! Names that settings had before: files and run folders that say them are still read.

use serde_json::Value;

/// The table, the former name and the present one.
const FORMER: [(&str, &str, &str); 1] = [("rollout", "sampling", "scheme")];

/// Give settings their present names, and say which had former ones.
pub(super) fn rename(table: &mut toml::Table, note: &mut impl FnMut(&str)) {
    for (name, former, present) in FORMER {
        let Some(settings) = table.get_mut(name).and_then(toml::Value::as_table_mut) else {
            continue;
        };
        if let Some(value) = settings.remove(former) {
            settings.insert(present.to_owned(), value);
            note(&format!(
                "note: `{name}.{former}` is read as `{name}.{present}`, its present name"
            ));
        }
    }
}

/// The same in a configuration that was written down as JSON, as a run's manifest has it.
pub fn rename_in_json(config: &mut Value) {
    for (name, former, present) in FORMER {
        let Some(settings) = config.get_mut(name).and_then(Value::as_object_mut) else { continue };
        if let Some(value) = settings.shift_remove(former) {
            settings.insert(present.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn a_former_name_is_read_and_said() {
        let mut notes = Vec::new();
        let overrides = ["rollout.sampling=independent".to_owned()];
        let mut note = |text: &str| notes.push(text.to_owned());
        let config = Config::noted(&[] as &[&str], &overrides, &mut note).unwrap();
        assert_eq!(config, Config::load(None, &["rollout.scheme=independent".to_owned()]).unwrap());
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("`rollout.scheme`"), "{notes:?}");
    }

    #[test]
    fn what_is_said_later_counts_whichever_name_it_has() {
        for (first, last) in [("sampling", "scheme"), ("scheme", "sampling")] {
            let overrides =
                [format!("rollout.{first}=tree"), format!("rollout.{last}=independent")];
            let config = Config::load(None, &overrides).unwrap();
            assert_eq!(config.rollout.scheme, super::super::SamplingScheme::Independent);
        }
    }

    #[test]
    fn a_manifest_of_before_says_the_same_as_one_of_now() {
        let now = serde_json::to_value(Config::default()).unwrap();
        let mut before = now.clone();
        let scheme = before["rollout"].as_object_mut().unwrap().shift_remove("scheme").unwrap();
        before["rollout"]["sampling"] = scheme;
        assert_ne!(before, now);
        rename_in_json(&mut before);
        assert_eq!(before, now);
    }
}
