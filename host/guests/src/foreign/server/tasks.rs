//! The tasks that a server says it has, and how a reset names one.

use serde_json::{Map, Value, json};

use crate::foreign::http::Http;
use crate::foreign::trouble::{Trouble, short};
use crate::plugin::{Split, Task};
use troupe_core::seed::Seed;

/// Bits of a seed that say which task of a split it is, where a server knows no
/// splits; those above them are the split's.
const SEED_BITS: u32 = 29;
/// Bytes of a server's name for its environment, which stands in paths.
const NAME_BYTES: usize = 200;
/// Where it says which environments it has.
const ENVIRONMENTS: &str = "/list_environments";

/// How a server's tasks are addressed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tasks {
    /// The names of its splits, if it lists any.
    listed: Vec<String>,
    /// What it calls our validation split.
    validation: String,
    /// How many tasks each of our splits has there, where they are counted.
    counts: [Option<u64>; 3],
}

impl Tasks {
    /// Asks for a server's splits and counts of tasks. Many servers give none; one that
    /// fails to say is not taken for one of them. `validation` is what it calls that split.
    pub(super) async fn ask(http: &Http<'_>, validation: &str) -> Result<Self, Trouble> {
        let mut tasks =
            Tasks { listed: Vec::new(), validation: validation.to_owned(), counts: [None; 3] };
        let Some(environments) = http.get(ENVIRONMENTS).await? else { return Ok(tasks) };
        let environments = names_in(&environments, ENVIRONMENTS)?;
        let Some(name) = environments.first() else { return Ok(tasks) };
        if name.len() > NAME_BYTES {
            let message = format!("`{ENVIRONMENTS}` has a name of more than {NAME_BYTES} bytes");
            return Err(Trouble::Invalid(message));
        }
        let path = format!("/{}", encoded(name));
        let route = format!("{path}/splits");
        let Some(splits) = http.get(&route).await? else { return Ok(tasks) };
        tasks.listed = names_in(&splits, &route)?;
        for (place, split) in Split::ALL.into_iter().enumerate() {
            if tasks.lists(split) {
                tasks.counts[place] = count(http, &path, tasks.name_of(split)).await?;
            }
        }
        Ok(tasks)
    }

    /// A split that can be tried.
    pub(super) fn any_split(&self) -> Split {
        Split::ALL.into_iter().find(|split| self.lists(*split)).unwrap_or(Split::Train)
    }

    /// The fields of a reset that name a task. A server that lists none of our splits gets seeds
    /// that no two splits share; one that lists others of them is not asked for what it lacks,
    /// since it would give a task of another split.
    pub(super) fn choose(&self, task: &Task) -> Result<Map<String, Value>, Trouble> {
        let Task { split, seed, .. } = task;
        let place = Split::ALL.into_iter().position(|one| one == *split).unwrap_or(0);
        let is_told = self.validation != Split::Validation.name();
        if !is_told && !Split::ALL.into_iter().any(|split| self.lists(split)) {
            let mixed = Seed::new(u64::from(*seed)).named(split.name()).value();
            let low_bits = mixed & ((1 << SEED_BITS) - 1);
            let number = ((place as u64) << SEED_BITS) | low_bits;
            return Ok(Map::from_iter([("seed".to_owned(), json!(number))]));
        }
        if !self.lists(*split) {
            let wanted = self.name_of(*split).to_owned();
            return Err(Trouble::NoSplit { wanted, listed: self.shown() });
        }
        let (name, number) = match self.counts[place] {
            Some(count) => ("index", u64::from(*seed) % count.max(1)),
            None => ("seed", u64::from(*seed)),
        };
        let named = ("split".to_owned(), json!(self.name_of(*split)));
        Ok(Map::from_iter([named, (name.to_owned(), json!(number))]))
    }

    fn lists(&self, split: Split) -> bool {
        self.listed.iter().any(|name| name == self.name_of(split))
    }

    /// What it calls a split.
    fn name_of(&self, split: Split) -> &str {
        if split == Split::Validation { &self.validation } else { split.name() }
    }

    /// What it lists, for people.
    fn shown(&self) -> String {
        let quoted: Vec<String> =
            self.listed.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
        if quoted.is_empty() {
            return "none".to_owned();
        }
        short(&quoted.join(", "))
    }
}

/// How many tasks a split has; nothing if they are not counted.
async fn count(http: &Http<'_>, path: &str, split: &str) -> Result<Option<u64>, Trouble> {
    let route = format!("{path}/num_tasks");
    let Some(answer) = http.post(&route, &json!({ "split": split })).await? else {
        return Ok(None);
    };
    let wrong = || Trouble::Invalid(format!("`{route}` gives no whole `num_tasks`"));
    match answer.get("num_tasks").ok_or_else(wrong)? {
        Value::Null => Ok(None),
        count => count.as_u64().map(Some).ok_or_else(wrong),
    }
}

/// The names in a list of texts, or of objects that have a `name`.
fn names_in(list: &Value, route: &str) -> Result<Vec<String>, Trouble> {
    let wrong = || Trouble::Invalid(format!("`{route}` is no list of names"));
    let name = |entry: &Value| {
        let name = entry.as_str().or_else(|| entry.get("name")?.as_str());
        name.map(str::to_owned).ok_or_else(wrong)
    };
    list.as_array().ok_or_else(wrong)?.iter().map(name).collect()
}

/// A name as one part of a path.
fn encoded(name: &str) -> String {
    let letter = |byte: u8| match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use tokio::runtime::Builder;

    use super::*;
    use crate::foreign::address::Address;

    /// What is answered to a request, which is its path and its body: a status, and a text.
    type Answers = &'static [(&'static str, u16, &'static str)];

    /// In place of a status: the connection is closed.
    const LEAVES: u16 = 0;
    /// In place of a status: nothing happens for a while.
    const SLEEPS: u16 = 1;

    const LISTED: (&str, u16, &str) = ("/list_environments", 200, "[\"a b\"]");

    fn answer(mut stream: TcpStream, answers: Answers) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut asked, mut length) = (String::new(), 0);
        reader.read_line(&mut asked).unwrap();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let path = asked.split(' ').nth(1).unwrap();
        let asked = format!("{path} {}", String::from_utf8(body).unwrap());
        let known = answers.iter().find(|(known, _, _)| *known == asked.trim());
        let (status, text) = known.map_or((404, ""), |(_, status, text)| (*status, *text));
        match status {
            LEAVES => {}
            SLEEPS => thread::sleep(Duration::from_secs(3)),
            status => {
                let length = text.len();
                let head = format!("HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n\r\n");
                // Who asked may have given up.
                let _ = stream.write_all((head + text).as_bytes());
            }
        }
    }

    fn asked_for(answers: Answers, timeout: Duration) -> Result<Tasks, Trouble> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            listener.incoming().for_each(|stream| answer(stream.unwrap(), answers));
        });
        let address = Address::parse(&address).unwrap();
        let http = Http { address: &address, token: None, timeout, most_bytes: 1 << 16 };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Tasks::ask(&http, "validation"))
    }

    fn ask(answers: Answers) -> Result<Tasks, Trouble> {
        asked_for(answers, Duration::from_secs(60))
    }

    fn task(split: Split, seed: u32) -> Task {
        Task { split, seed, settings: vec![], seats: vec![], entry: None }
    }

    fn listing(names: &[&str], counts: [Option<u64>; 3]) -> Tasks {
        let listed = names.iter().map(|name| (*name).to_owned()).collect();
        Tasks { listed, validation: "validation".to_owned(), counts }
    }

    #[test]
    fn a_split_is_asked_for_where_it_is_listed_and_refused_by_name_where_only_others_are() {
        let tasks = listing(&["train", "test", "extra"], [Some(5), None, None]);
        let of = |split| tasks.choose(&task(split, 7)).map(Value::Object);
        assert_eq!(of(Split::Train), Ok(json!({"split": "train", "index": 2})));
        assert_eq!(of(Split::Test), Ok(json!({"split": "test", "seed": 7})));
        let refused = of(Split::Validation).unwrap_err();
        assert_eq!(refused.word(), "no_split");
        let said = refused.to_string();
        assert!(said.contains("`validation`") && said.contains("`train`, `test`"), "{said}");
        assert_eq!(tasks.any_split(), Split::Train);
        assert_eq!(listing(&["test"], [None; 3]).any_split(), Split::Test);
        // What it calls otherwise is asked for by that name.
        let tasks = Tasks { validation: "extra".to_owned(), ..tasks };
        let of = |split| tasks.choose(&task(split, 7)).map(Value::Object);
        assert_eq!(of(Split::Validation), Ok(json!({"split": "extra", "seed": 7})));
        assert_eq!(of(Split::Train), Ok(json!({"split": "train", "index": 2})));
        let tasks = Tasks { listed: Vec::new(), ..tasks };
        let refused = tasks.choose(&task(Split::Validation, 7)).unwrap_err().to_string();
        assert!(refused.contains("no split `extra`, but none"), "{refused}");
    }

    #[test]
    fn a_server_that_lists_none_of_our_splits_gets_seeds_that_no_two_share() {
        for tasks in [listing(&[], [None; 3]), listing(&["holdout"], [None; 3])] {
            let seed = |split| {
                let fields = tasks.choose(&task(split, 7)).unwrap();
                assert_eq!(fields.len(), 1, "{fields:?}");
                fields["seed"].as_u64().unwrap()
            };
            let highs = Split::ALL.map(|split| seed(split) >> SEED_BITS);
            assert_eq!(highs, [0, 1, 2]);
            assert_eq!(tasks.any_split(), Split::Train);
        }
    }

    #[test]
    fn each_split_is_counted_that_the_server_lists() {
        let tasks = ask(&[
            LISTED,
            ("/a%20b/splits", 200, r#"[{"name": "train", "type": "train"}, "test", "extra"]"#),
            (r#"/a%20b/num_tasks {"split":"train"}"#, 200, r#"{"num_tasks": 5}"#),
            (r#"/a%20b/num_tasks {"split":"test"}"#, 501, "{}"),
        ]);
        assert_eq!(tasks, Ok(listing(&["train", "test", "extra"], [Some(5), None, None])));
    }

    #[test]
    fn a_route_that_is_not_there_means_that_there_are_no_splits() {
        let none = Ok(listing(&[], [None; 3]));
        assert_eq!(ask(&[]), none);
        assert_eq!(ask(&[("/list_environments", 405, "")]), none);
        assert_eq!(ask(&[("/list_environments", 501, "no")]), none);
        assert_eq!(ask(&[("/list_environments", 200, "[]")]), none);
        assert_eq!(ask(&[LISTED, ("/a%20b/splits", 501, "{}")]), none);
    }

    #[test]
    fn a_server_that_fails_to_say_its_splits_is_not_taken_for_one_that_has_none() {
        let failures: [(Answers, &str, &str); 8] = [
            (&[("/list_environments", 503, "later")], "server_failed", "(503): `/list_envi"),
            (&[("/list_environments", 429, "slow down")], "server_failed", "slow down"),
            (&[("/list_environments", 200, "<html>")], "invalid_answer", "is not JSON"),
            (&[("/list_environments", 200, "{}")], "invalid_answer", "no list of names"),
            (&[("/list_environments", LEAVES, "")], "connection", "connection"),
            (&[LISTED, ("/a%20b/splits", 500, "")], "server_failed", "/splits"),
            (&[LISTED, ("/a%20b/splits", 200, "[3]")], "invalid_answer", "/splits"),
            (
                &[
                    LISTED,
                    ("/a%20b/splits", 200, "[\"test\"]"),
                    (r#"/a%20b/num_tasks {"split":"test"}"#, 200, "{\"num_tasks\": -1}"),
                ],
                "invalid_answer",
                "num_tasks",
            ),
        ];
        for (answers, word, words) in failures {
            let trouble = ask(answers).unwrap_err();
            assert_eq!(trouble.word(), word, "{trouble}");
            assert!(trouble.to_string().contains(words), "{trouble}");
        }
        let silent = asked_for(&[("/list_environments", SLEEPS, "")], Duration::from_millis(200));
        assert_eq!(silent.unwrap_err().word(), "no_answer");
    }
}
