//! The texts of a page, each of them once: prompts repeat themselves from turn to turn.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use troupe_page::embedded_bytes;

/// Where a text stands among the texts.
pub type Place = usize;

/// Every text once.
#[derive(Debug, Serialize)]
pub struct Texts {
    /// The texts, the first bytes of those that are long.
    list: Vec<String>,
    /// How many bytes are missing, of those that were cut.
    cut: BTreeMap<Place, usize>,
    #[serde(skip)]
    places: HashMap<(String, usize), Place>,
    #[serde(skip)]
    limit: usize,
    #[serde(skip)]
    bytes: usize,
}

impl Texts {
    /// None yet; of each at most `limit` bytes are kept.
    pub fn new(limit: usize) -> Self {
        Texts { list: Vec::new(), cut: BTreeMap::new(), places: HashMap::new(), limit, bytes: 0 }
    }

    /// The place of a text, which is cut if it is too long.
    pub fn place(&mut self, text: &str) -> Place {
        let start = &text[..text.floor_char_boundary(self.limit)];
        self.put(start, text.len() - start.len())
    }

    /// The place of a text that has to be whole.
    pub fn place_whole(&mut self, text: &str) -> Place {
        self.put(text, 0)
    }

    fn put(&mut self, text: &str, missing: usize) -> Place {
        let key = (text.to_owned(), missing);
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let place = self.list.len();
        self.list.push(text.to_owned());
        self.bytes += embedded_bytes(text) + 1;
        if missing > 0 {
            self.cut.insert(place, missing);
            self.bytes += 16;
        }
        self.places.insert(key, place);
        place
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Bytes that they take in a page.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forget all but the first `count`.
    pub fn keep(&mut self, count: usize) {
        for (place, text) in self.list.drain(count..).enumerate() {
            self.bytes -= embedded_bytes(&text) + 1;
            let missing = self.cut.remove(&(count + place));
            self.bytes -= if missing.is_some() { 16 } else { 0 };
            self.places.remove(&(text, missing.unwrap_or(0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_cut_between_letters() {
        let mut texts = Texts::new(4);
        let places = ["abc", "abcé!", "abc", "abcé", "abcèzz"].map(|text| texts.place(text));
        assert_eq!(places, [0, 1, 0, 2, 3], "{texts:?}");
        assert_eq!(texts.list, ["abc", "abc", "abc", "abc"]);
        assert_eq!(texts.cut, BTreeMap::from([(1, 3), (2, 2), (3, 4)]));
        assert_eq!(texts.place_whole("abcé!"), 4);
    }

    #[test]
    fn what_is_forgotten_takes_no_room_and_can_come_again() {
        let mut texts = Texts::new(4);
        texts.place("one");
        let bytes = texts.bytes();
        texts.place("three");
        texts.place("<<<");
        assert!(texts.bytes() > bytes + "\\u003c".len() * 3);
        texts.keep(1);
        assert_eq!((texts.bytes(), texts.count(), texts.cut.len()), (bytes, 1, 0));
        assert_eq!(texts.place("three"), 1);
    }
}
