//! Questions in single words, for tiny policies. They are about a little world that is dealt anew
//! for each task, so that nothing of it can be known by heart: what is asked has to be found.

use plugin_sdk::environment::{Problem, Split, Task};
use plugin_sdk::{Random, Settings};

use crate::ANSWER;
use crate::library::{self, Found};
use crate::question::{ATTEMPTS, Path, Question};
use crate::world::{Document, Person, Relation, River, Thing, Town, Workshop, World};

/// What there is of each in a little world, and what they may be called.
const FEW_PEOPLE: usize = 8;
const FEW_TOWNS: usize = 5;
const FEW_RIVERS: usize = 3;
const FEW_WORKSHOPS: usize = 4;
const PEOPLE: [&str; 12] = [
    "Ada", "Bram", "Cora", "Dirk", "Edda", "Falk", "Gerda", "Hugo", "Ines", "Joris", "Kaja", "Lars",
];
const TOWNS: [&str; 8] =
    ["Belburg", "Corford", "Dalhaven", "Fenstead", "Garwick", "Holburg", "Jorford", "Kelhaven"];
const RIVERS: [&str; 5] = ["Lumse", "Marra", "Norne", "Ostse", "Pelra"];
const WORKSHOPS: [&str; 6] = ["Ranex", "Solia", "Tarum", "Ulex", "Venia", "Wesum"];
const PROFESSIONS: [&str; 6] = ["baker", "glazier", "miller", "painter", "tanner", "weaver"];
const PRODUCTS: [&str; 6] = ["bells", "clocks", "kites", "lamps", "locks", "ropes"];
const SEAS: [&str; 4] = ["amber", "cold", "gray", "northern"];
const MOUNTAINS: [&str; 4] = ["blue", "glass", "iron", "white"];

/// Before what is asked, what was found and how many queries are left; and where nothing was found.
const ASKED: &str = "ask";
const FOUND: &str = "found";
const LEFT: &str = "left";
const NOTHING: &str = "nothing";
/// Queries that can be left.
const QUERIES: i32 = 20;

/// A question and the documents of its world.
pub fn draw(task: &Task) -> Result<(Question, Vec<Document>), Problem> {
    let (fewest, most): (usize, usize) =
        (task.settings.integer("min_hops")?, task.settings.integer("max_hops")?);
    let mut random = Random::new(task.split, task.seed, "spoken");
    (0..ATTEMPTS)
        .filter_map(|_| {
            let world = little(&mut random);
            let hops = fewest + random.below(most + 1 - fewest);
            let start = *random.choose(&world.things())?;
            let path = Path::draw(&world, start, hops, &mut random)?;
            let documents = documents(&world);
            let question = question(&world, &path);
            Some((question, documents))
        })
        .find(|(question, _)| Split::owning(question.text.as_bytes()) == task.split)
        .ok_or_else(|| Problem::settings(format!("no question in {ATTEMPTS} attempts")))
}

/// What is asked of what is asked of where one begins, the last first; an expert searches for a
/// name and a word of what is asked of it.
fn question(world: &World, path: &Path) -> Question {
    let relations = path.relations.iter().rev().map(|relation| relation.keyword());
    let words: Vec<&str> = relations.chain([world.name(path.start)]).collect();
    let hop = |(thing, relation): (&Thing, &Relation)| {
        let name = world.name(*thing).to_owned();
        let query = format!("{name} {}", relation.keyword());
        (name, query)
    };
    Question {
        text: words.join(" "),
        answers: vec![world.words(path.value).to_owned()],
        hops: path.things.iter().zip(&path.relations).map(hop).collect(),
        is_asked: false,
    }
}

/// A document about each thing: two words for each fact.
fn documents(world: &World) -> Vec<Document> {
    let document = |thing| {
        let fact = |relation: &Relation| {
            let value = world.follow(thing, *relation)?;
            // The value is a word of its own, which a query or an answer repeats.
            Some(format!("{} {}", relation.keyword(), world.words(value)))
        };
        let facts: Vec<String> = Relation::ALL.iter().filter_map(fact).collect();
        Document { title: world.name(thing).to_owned(), text: facts.join(" ") }
    };
    world.things().into_iter().map(document).collect()
}

/// The documents that fit the query best, and of each what is asked for there.
pub fn search(documents: &[Document], query: &str, limit: u32) -> Vec<Found> {
    let query = query.to_lowercase();
    let is_asked = |fact: &&[&str]| query.split_whitespace().any(|word| word == fact[0]);
    let told = |one: Found| {
        let words: Vec<&str> = one.text.split(' ').collect();
        let asked: Vec<&[&str]> = words.chunks(2).filter(is_asked).collect();
        match asked.is_empty() {
            true => Found::new(&one.title, NOTHING),
            false => Found::new(&one.title, &asked.concat().join(" ")),
        }
    };
    library::best_of(documents, &query, limit).into_iter().map(told).collect()
}

/// Whether it says what is asked for by the last word of such a query, as `Ada born`.
pub fn tells(found: &Found, query: &str) -> bool {
    query.split(' ').next_back().is_some_and(|asked| found.text.split(' ').any(|it| it == asked))
}

/// What is asked, what the last query found, and how many are left.
pub fn show(question: &Question, found: Option<&[Found]>, left: usize) -> String {
    let found = found.map_or(String::new(), |found| match found {
        [] => format!(" {FOUND} {NOTHING}"),
        found => found.iter().map(|one| format!(" {FOUND} {} {}", one.title, one.text)).collect(),
    });
    format!("{ASKED} {}{found} {LEFT} {left}", question.text)
}

/// Whether all words of a text are known, whatever their case.
pub fn knows(text: &str) -> bool {
    let known: Vec<String> = vocabulary().into_iter().map(|word| word.to_lowercase()).collect();
    text.split_whitespace().all(|word| known.contains(&word.to_lowercase()))
}

/// Records are in English, and their documents elsewhere.
pub fn no_records() -> Problem {
    Problem::task("a record is no question in single words; set observation = \"text\"")
}

/// Every word of an observation, a query or an answer.
pub fn vocabulary() -> Vec<String> {
    let keywords = Relation::ALL.iter().map(|relation| relation.keyword().to_owned());
    let names = [&PEOPLE[..], &TOWNS, &RIVERS, &WORKSHOPS];
    let facts = [&PROFESSIONS[..], &PRODUCTS, &SEAS, &MOUNTAINS];
    let others = [ASKED, FOUND, LEFT, NOTHING, ANSWER];
    let said = names.into_iter().chain(facts).flatten().chain(&others);
    let numbers = (0..=QUERIES).map(|number| number.to_string());
    let mut words: Vec<String> =
        keywords.chain(said.map(|word| (*word).to_owned())).chain(numbers).collect();
    words.sort();
    words.dedup();
    words
}

/// A world whose names are single words.
fn little(random: &mut Random) -> World {
    let mut some = |names: &[&str], count| {
        let mut names = names.to_vec();
        random.shuffle(&mut names);
        names.into_iter().take(count).map(str::to_owned).collect::<Vec<String>>()
    };
    let (people, towns) = (some(&PEOPLE, FEW_PEOPLE), some(&TOWNS, FEW_TOWNS));
    let (rivers, workshops) = (some(&RIVERS, FEW_RIVERS), some(&WORKSHOPS, FEW_WORKSHOPS));
    let mut any = |count| random.below(count);
    let person = |(index, name): (usize, String)| Person {
        name,
        profession: PROFESSIONS[any(PROFESSIONS.len())],
        birthplace: any(FEW_TOWNS),
        // Another person.
        teacher: (index + 1 + any(FEW_PEOPLE - 1)) % FEW_PEOPLE,
        employer: any(FEW_WORKSHOPS),
    };
    let people = people.into_iter().enumerate().map(person).collect();
    let town = |name| Town { name, river: any(FEW_RIVERS), mayor: any(FEW_PEOPLE) };
    let towns = towns.into_iter().map(town).collect();
    let river = |name| River {
        name,
        sea: SEAS[any(SEAS.len())],
        mountains: MOUNTAINS[any(MOUNTAINS.len())],
    };
    let rivers = rivers.into_iter().map(river).collect();
    let workshop = |name| Workshop {
        name,
        product: PRODUCTS[any(PRODUCTS.len())],
        founder: any(FEW_PEOPLE),
        seat: any(FEW_TOWNS),
    };
    let workshops = workshops.into_iter().map(workshop).collect();
    World { people, towns, rivers, workshops }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plugin_sdk::environment::{Environment, Seat, Status};

    use super::*;
    use crate::Search;

    #[test]
    fn every_word_that_is_said_is_known_and_no_question_has_its_answer() {
        let known: BTreeSet<String> = vocabulary().into_iter().collect();
        for seed in 0..200 {
            let task = Task::of::<Search>(Split::Train, seed).with("max_hops", 4);
            let (question, documents) = draw(&task).expect("a question");
            let found: Vec<Found> =
                documents.iter().map(|one| Found::new(&one.title, &one.text)).collect();
            let said = show(&question, Some(&found), 20) + " " + &show(&question, Some(&[]), 0);
            for word in said.split_whitespace().chain([question.answers[0].as_str()]) {
                assert!(known.contains(word), "{word}");
            }
            assert!(!question.text.split(' ').any(|word| word == question.answers[0]));
        }
    }

    /// What is learned is to find and to repeat, not which word goes with which.
    #[test]
    fn every_word_that_an_expert_says_was_read() {
        let seat = Seat::new("player");
        for seed in 0..100 {
            let task = Task::of::<Search>(Split::Train, seed);
            let mut game = Search::start(&task).expect("a task");
            loop {
                let read = game.observe(&seat);
                let said = game.demonstrate(&seat).expect("an expert");
                let repeats = said.text.split(' ').filter(|word| *word != ANSWER);
                for word in repeats {
                    assert!(read.split(' ').any(|one| one == word), "{word} of {read}");
                }
                if game.act(&seat, &said).expect("an outcome").status != Status::Ongoing {
                    break;
                }
            }
        }
    }

    #[test]
    fn of_a_document_what_was_asked_for_is_told_and_nothing_else() {
        let (_, documents) = draw(&Task::of::<Search>(Split::Train, 0)).expect("a question");
        let town = documents.iter().find(|one| one.text.contains("mayor")).expect("a town");
        let told = |query: &str| search(&documents, query, 1)[0].text.clone();
        let mayor = town.text.split("mayor ").nth(1).and_then(|rest| rest.split(' ').next());
        let mayor = format!("mayor {}", mayor.expect("a mayor"));
        assert_eq!(told(&format!("{} mayor", town.title)), mayor);
        assert_eq!(told(&format!("MAYOR {}", town.title.to_uppercase())), mayor);
        assert_eq!(told(&town.title), NOTHING);
        let found = |query: &str| search(&documents, query, 1).remove(0);
        let expert = format!("{} mayor", town.title);
        for (query, tells_it) in [("mayor", true), ("river", false), ("", false)] {
            let query = format!("{} {query}", town.title);
            assert_eq!(tells(&found(&query), &expert), tells_it, "{query}");
        }
        assert_eq!(told(&format!("{} flows", town.title)), NOTHING);
    }

    #[test]
    fn questions_belong_to_their_split_with_the_world_they_are_about() {
        for split in Split::ALL {
            let drawn: Vec<_> =
                (0..50).map(|seed| draw(&Task::of::<Search>(split, seed)).expect("one")).collect();
            let owner = |question: &Question| Split::owning(question.text.as_bytes());
            assert!(drawn.iter().all(|(question, _)| owner(question) == split));
            let worlds: BTreeSet<String> =
                drawn.iter().map(|(_, documents)| format!("{documents:?}")).collect();
            assert_eq!(worlds.len(), 50, "each has a world of its own");
        }
    }
}
