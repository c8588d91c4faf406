//! A team as a designer writes it down.

use std::collections::BTreeSet;

use plugin_sdk::reading::program;
use serde::{Deserialize, Serialize};

/// Characters of an executor's name and of its task.
const NAME: usize = 40;
const TASK: usize = 2000;
/// Executors asked one after the other, each perhaps more than once.
const ORDER: usize = 16;

/// The members, and their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The executors.
    pub team: Vec<Member>,
    /// Their names in the order in which they are asked. What the last one
    /// answers is done.
    pub order: Vec<String>,
}

/// An executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// What it is called in the order.
    pub name: String,
    /// What it is told to do.
    pub task: String,
}

impl Design {
    /// The team that works where a design cannot be read: one who answers.
    pub fn of_one() -> Self {
        let name = "executor".to_owned();
        Design { order: vec![name.clone()], team: vec![Member { name, task: String::new() }] }
    }

    /// Read a design: a JSON object, perhaps in a code block. An error says in a
    /// sentence what is wrong.
    pub fn read(text: &str, executors: usize) -> Result<Self, String> {
        let text = program(text).trim();
        let whole = text.find('{').zip(text.rfind('}')).filter(|(start, end)| start < end);
        let json = whole.map_or(text, |(start, end)| &text[start..=end]);
        let design: Design =
            serde_json::from_str(json).map_err(|error| format!("It cannot be read: {error}."))?;
        design.check(executors)?;
        Ok(design)
    }

    /// What a designer is told of how large a design may be.
    pub fn limits(executors: u32) -> String {
        format!(
            "Members of a team: {executors} at most. Names in an order: {ORDER} at most. \
             Characters of a name: {NAME} at most; of a task: {TASK} at most."
        )
    }

    fn check(&self, executors: usize) -> Result<(), String> {
        let members = self.team.len();
        if !(1..=executors).contains(&members) {
            return Err(format!("The team has {members} members, not 1 to {executors}."));
        }
        let names: BTreeSet<&str> = self.team.iter().map(|member| member.name.as_str()).collect();
        if names.len() < members {
            return Err("Two members have one name.".to_owned());
        }
        for Member { name, task } in &self.team {
            if name.is_empty() || name.chars().count() > NAME || task.chars().count() > TASK {
                return Err(format!("A name has 1 to {NAME} characters, a task at most {TASK}."));
            }
        }
        if !(1..=ORDER).contains(&self.order.len()) {
            return Err(format!("The order has {} names, not 1 to {ORDER}.", self.order.len()));
        }
        match self.order.iter().find(|name| !names.contains(name.as_str())) {
            Some(name) => Err(format!("Nobody in the team is called `{name}`.")),
            None => Ok(()),
        }
    }

    /// Whether what is answered at this place of the order is done.
    pub fn is_last(&self, place: usize) -> bool {
        place + 1 >= self.order.len()
    }

    /// The seat and the task of the member asked at this place of the order.
    pub fn at(&self, place: usize) -> Option<(u32, &str)> {
        let name = self.order.get(place)?;
        let seat = self.team.iter().position(|member| member.name == *name)?;
        Some((seat as u32, &self.team[seat].task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"team": [{"name": "a", "task": "Solve."}, {"name": "b", "task": "Check."}],
        "order": ["a", "b", "a"]}"#;

    #[test]
    fn a_design_is_read_from_prose_and_code_blocks() {
        for text in [
            GOOD.to_owned(),
            format!("My team:\n```json\n{GOOD}\n```\nThere."),
            format!("So: {GOOD}"),
        ] {
            let design = Design::read(&text, 2).unwrap();
            assert_eq!([0, 1, 2].map(|place| design.at(place).unwrap().0), [0, 1, 0]);
            assert_eq!(design.at(1), Some((1, "Check.")));
            assert_eq!(design.at(3), None);
        }
    }

    #[test]
    fn what_is_wrong_with_a_design_is_said() {
        let fault = |text: &str| Design::read(text, 2).unwrap_err();
        assert!(fault("I would ask Ann.").starts_with("It cannot be read"));
        assert!(fault(&GOOD.replace("\"b\", \"a\"]", "\"c\"]")).contains("called `c`"));
        assert!(fault(&GOOD.replace("\"name\": \"b\"", "\"name\": \"a\"")).contains("one name"));
        assert!(fault(r#"{"team": [], "order": []}"#).contains("0 members"));
        assert!(fault(&GOOD.replace("[\"a\", \"b\", \"a\"]", "[]")).contains("0 names"));
        let long = GOOD.replace("Solve.", &"x".repeat(TASK + 1));
        assert!(fault(&long).contains("at most 2000"));
        assert!(Design::read(GOOD, 1).unwrap_err().contains("not 1 to 1"));
    }
}
