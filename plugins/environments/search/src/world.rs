//! A small invented world: people, towns, rivers and workshops, what is known
//! of them, and a document about each. It is the same in every task.

use plugin_sdk::Random;
use plugin_sdk::environment::Split;
use serde::{Deserialize, Serialize};

const PEOPLE: usize = 150;
const TOWNS: usize = 60;
const RIVERS: usize = 25;
const WORKSHOPS: usize = 45;

const GIVEN: [&str; 20] = [
    "Ada", "Bram", "Cora", "Dirk", "Edda", "Falk", "Gerda", "Hugo", "Ines", "Joris", "Kaja",
    "Lars", "Mira", "Nils", "Olga", "Piet", "Rosa", "Sven", "Thea", "Vito",
];
const STARTS: [&str; 20] = [
    "Bel", "Cor", "Dal", "Fen", "Gar", "Hol", "Jor", "Kel", "Lum", "Mar", "Nor", "Ost", "Pel",
    "Ran", "Sol", "Tar", "Ul", "Ven", "Wes", "Zar",
];
const MIDDLES: [&str; 10] = ["a", "e", "i", "o", "u", "an", "el", "im", "or", "ur"];
const OF_PEOPLE: [&str; 5] = ["mond", "ster", "vik", "lund", "dane"];
const OF_TOWNS: [&str; 5] = ["burg", "ford", "haven", "stead", "wick"];
const OF_RIVERS: [&str; 3] = ["se", "ra", "ne"];
const OF_WORKSHOPS: [&str; 3] = ["ex", "ia", "um"];
const PROFESSIONS: [&str; 15] = [
    "baker",
    "botanist",
    "carpenter",
    "cartographer",
    "clockmaker",
    "engraver",
    "gardener",
    "glazier",
    "midwife",
    "miller",
    "organist",
    "painter",
    "surgeon",
    "tanner",
    "weaver",
];
const PRODUCTS: [&str; 15] = [
    "anchors",
    "barometers",
    "bells",
    "brushes",
    "candles",
    "clocks",
    "gloves",
    "kites",
    "lamps",
    "lenses",
    "locks",
    "pianos",
    "ropes",
    "saddles",
    "violins",
];
const SEAS: [&str; 6] =
    ["Amber Sea", "Cold Sea", "Gray Sea", "Inner Sea", "Northern Sea", "Sea of Reeds"];
const MOUNTAINS: [&str; 6] =
    ["Blue Mountains", "Crow Hills", "Glass Range", "Iron Hills", "Long Ridge", "White Mountains"];

/// Something there is a document about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A person.
    Person(usize),
    /// A town.
    Town(usize),
    /// A river.
    River(usize),
    /// A workshop.
    Workshop(usize),
}

/// What a relation leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Something with a document of its own.
    Thing(Thing),
    /// A word or two.
    Words(&'static str),
}

/// What can be asked of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Of a person.
    Birthplace,
    /// Of a person.
    Teacher,
    /// Of a person.
    Employer,
    /// Of a person.
    Profession,
    /// Of a town.
    RiverThrough,
    /// Of a town.
    Mayor,
    /// Of a river.
    Mouth,
    /// Of a river.
    Source,
    /// Of a workshop.
    Founder,
    /// Of a workshop.
    Seat,
    /// Of a workshop.
    Product,
}

/// A document, as a corpus file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// What it is about.
    pub title: String,
    /// What it says.
    pub text: String,
}

pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) profession: &'static str,
    pub(crate) birthplace: usize,
    pub(crate) teacher: usize,
    pub(crate) employer: usize,
}

pub(crate) struct Town {
    pub(crate) name: String,
    pub(crate) river: usize,
    pub(crate) mayor: usize,
}

pub(crate) struct River {
    pub(crate) name: String,
    pub(crate) sea: &'static str,
    pub(crate) mountains: &'static str,
}

pub(crate) struct Workshop {
    pub(crate) name: String,
    pub(crate) product: &'static str,
    pub(crate) founder: usize,
    pub(crate) seat: usize,
}

/// Everything there is.
pub struct World {
    pub(crate) people: Vec<Person>,
    pub(crate) towns: Vec<Town>,
    pub(crate) rivers: Vec<River>,
    pub(crate) workshops: Vec<Workshop>,
}

impl World {
    /// The world, always the same one.
    pub fn new() -> Self {
        let mut random = Random::new(Split::Train, 0, "world");
        let mut stems = stems(&mut random);
        let mut name = |ends: &[&str], index: usize| {
            let stem = stems.pop().unwrap_or_default();
            format!("{stem}{}", ends[index % ends.len()])
        };
        let mut any = |count| random.below(count);
        let people = (0..PEOPLE).map(|index| Person {
            name: format!("{} {}", GIVEN[any(GIVEN.len())], name(&OF_PEOPLE, index)),
            profession: PROFESSIONS[any(PROFESSIONS.len())],
            birthplace: any(TOWNS),
            // Another person.
            teacher: (index + 1 + any(PEOPLE - 1)) % PEOPLE,
            employer: any(WORKSHOPS),
        });
        let people: Vec<Person> = people.collect();
        let towns = (0..TOWNS).map(|index| Town {
            name: name(&OF_TOWNS, index),
            river: any(RIVERS),
            mayor: any(PEOPLE),
        });
        let towns: Vec<Town> = towns.collect();
        let rivers = (0..RIVERS).map(|index| River {
            name: name(&OF_RIVERS, index),
            sea: SEAS[any(SEAS.len())],
            mountains: MOUNTAINS[any(MOUNTAINS.len())],
        });
        let rivers: Vec<River> = rivers.collect();
        let workshops = (0..WORKSHOPS).map(|index| Workshop {
            name: name(&OF_WORKSHOPS, index),
            product: PRODUCTS[any(PRODUCTS.len())],
            founder: any(PEOPLE),
            seat: any(TOWNS),
        });
        let workshops = workshops.collect();
        World { people, towns, rivers, workshops }
    }

    /// Everything that has a document.
    pub fn things(&self) -> Vec<Thing> {
        let people = (0..self.people.len()).map(Thing::Person);
        let towns = (0..self.towns.len()).map(Thing::Town);
        let rivers = (0..self.rivers.len()).map(Thing::River);
        let workshops = (0..self.workshops.len()).map(Thing::Workshop);
        people.chain(towns).chain(rivers).chain(workshops).collect()
    }

    /// Its name, which is the title of its document.
    pub fn name(&self, thing: Thing) -> &str {
        match thing {
            Thing::Person(index) => &self.people[index].name,
            Thing::Town(index) => &self.towns[index].name,
            Thing::River(index) => &self.rivers[index].name,
            Thing::Workshop(index) => &self.workshops[index].name,
        }
    }

    /// The relation of a thing that has it.
    pub fn follow(&self, thing: Thing, relation: Relation) -> Option<Value> {
        use Relation::*;
        let person = |index| Value::Thing(Thing::Person(index));
        let town = |index| Value::Thing(Thing::Town(index));
        Some(match (thing, relation) {
            (Thing::Person(index), Birthplace) => town(self.people[index].birthplace),
            (Thing::Person(index), Teacher) => person(self.people[index].teacher),
            (Thing::Person(index), Employer) => {
                Value::Thing(Thing::Workshop(self.people[index].employer))
            }
            (Thing::Person(index), Profession) => Value::Words(self.people[index].profession),
            (Thing::Town(index), RiverThrough) => {
                Value::Thing(Thing::River(self.towns[index].river))
            }
            (Thing::Town(index), Mayor) => person(self.towns[index].mayor),
            (Thing::River(index), Mouth) => Value::Words(self.rivers[index].sea),
            (Thing::River(index), Source) => Value::Words(self.rivers[index].mountains),
            (Thing::Workshop(index), Founder) => person(self.workshops[index].founder),
            (Thing::Workshop(index), Seat) => town(self.workshops[index].seat),
            (Thing::Workshop(index), Product) => Value::Words(self.workshops[index].product),
            _ => return None,
        })
    }

    /// The value in words.
    pub fn words(&self, value: Value) -> &str {
        match value {
            Value::Thing(thing) => self.name(thing),
            Value::Words(words) => words,
        }
    }

    /// All documents.
    pub fn documents(&self) -> Vec<Document> {
        let document =
            |thing| Document { title: self.name(thing).to_owned(), text: self.text(thing) };
        self.things().into_iter().map(document).collect()
    }

    fn text(&self, thing: Thing) -> String {
        let name = self.name(thing);
        match thing {
            Thing::Person(index) => {
                let Person { profession, birthplace, teacher, employer, .. } = &self.people[index];
                let (town, teacher) = (&self.towns[*birthplace].name, &self.people[*teacher].name);
                let workshop = &self.workshops[*employer].name;
                format!(
                    "{name} was born in the town of {town} and was taught by {teacher}. The \
                     profession of {name} is {profession}, employed by the workshop {workshop}."
                )
            }
            Thing::Town(index) => {
                let Town { river, mayor, .. } = &self.towns[index];
                let (river, mayor) = (&self.rivers[*river].name, &self.people[*mayor].name);
                format!(
                    "{name} is a town. The river {river} runs through {name}, and its mayor is \
                     {mayor}."
                )
            }
            Thing::River(index) => {
                let River { sea, mountains, .. } = &self.rivers[index];
                format!(
                    "The {name} is a river. Its source lies in the {mountains}, and the {name} \
                     flows into the {sea}."
                )
            }
            Thing::Workshop(index) => {
                let Workshop { product, founder, seat, .. } = &self.workshops[index];
                let (founder, town) = (&self.people[*founder].name, &self.towns[*seat].name);
                format!(
                    "{name} is a workshop that makes {product}. {name} was founded by {founder} \
                     and has its seat in {town}."
                )
            }
        }
    }
}

impl Default for World {
    fn default() -> Self {
        World::new()
    }
}

impl Relation {
    /// All of them.
    pub const ALL: [Relation; 11] = [
        Relation::Birthplace,
        Relation::Teacher,
        Relation::Employer,
        Relation::Profession,
        Relation::RiverThrough,
        Relation::Mayor,
        Relation::Mouth,
        Relation::Source,
        Relation::Founder,
        Relation::Seat,
        Relation::Product,
    ];

    /// What it leads to, of what is called `inner`.
    pub fn phrase(self, inner: &str) -> String {
        match self {
            Relation::Birthplace => format!("the birthplace of {inner}"),
            Relation::Teacher => format!("the teacher of {inner}"),
            Relation::Employer => format!("the workshop that employs {inner}"),
            Relation::Profession => format!("the profession of {inner}"),
            Relation::RiverThrough => format!("the river that runs through {inner}"),
            Relation::Mayor => format!("the mayor of {inner}"),
            Relation::Mouth => format!("the sea that receives {inner}"),
            Relation::Source => format!("the mountain range with the source of {inner}"),
            Relation::Founder => format!("the founder of {inner}"),
            Relation::Seat => format!("the town with the seat of {inner}"),
            Relation::Product => format!("the product of {inner}"),
        }
    }

    /// A word to search with.
    pub fn keyword(self) -> &'static str {
        match self {
            Relation::Birthplace => "born",
            Relation::Teacher => "taught",
            Relation::Employer => "employed",
            Relation::Profession => "profession",
            Relation::RiverThrough => "river",
            Relation::Mayor => "mayor",
            Relation::Mouth => "flows",
            Relation::Source => "source",
            Relation::Founder => "founded",
            Relation::Seat => "seat",
            Relation::Product => "makes",
        }
    }
}

/// Beginnings of names, no two alike, in any order.
fn stems(random: &mut Random) -> Vec<String> {
    let pairs = STARTS.iter().flat_map(|start| MIDDLES.iter().map(move |end| (start, end)));
    let letters = ["b", "d", "g"];
    let mut stems: Vec<String> = pairs
        .flat_map(|(start, middle)| letters.map(|letter| format!("{start}{middle}{letter}")))
        .collect();
    random.shuffle(&mut stems);
    stems
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_document_says_what_follows_from_its_thing() {
        let world = World::new();
        let documents = world.documents();
        let titles: BTreeSet<&str> = documents.iter().map(|one| one.title.as_str()).collect();
        assert_eq!((documents.len(), titles.len()), (280, 280));
        for (thing, document) in world.things().into_iter().zip(&documents) {
            let values: Vec<Value> =
                Relation::ALL.iter().filter_map(|&one| world.follow(thing, one)).collect();
            assert!(values.len() >= 2);
            for value in values {
                assert!(document.text.contains(world.words(value)), "{}", document.text);
            }
        }
    }
}
