use super::*;
use troupe_core::config::Grantee;

fn over(lines: &[&str]) -> Result<Corpus, CorpusError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("facts.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let config = RetrievalConfig { corpus: vec![file], grant: vec![Grantee::named("quiz")] };
    Ok(Corpus::open(&config)?.unwrap())
}

fn facts() -> Corpus {
    over(&[
        r#"{"text": "The river Oder is long.", "title": "Oder"}"#,
        r#"{"text": "A mole digs; a mole is blind.", "id": "m", "more": [1]}"#,
        "",
        r#"{"text": "The river Elbe is longer.", "id": 7}"#,
        r#"{"text": "The river Elbe is longer.", "id": 8}"#,
    ])
    .unwrap()
}

fn ids(corpus: &Corpus, query: &str, limit: usize) -> Vec<String> {
    let result = corpus.search(query, limit, usize::MAX).unwrap();
    result.documents.into_iter().map(|document| document.id).collect()
}

#[test]
fn what_fits_best_comes_first_and_equals_in_the_order_of_the_corpus() {
    let corpus = facts();
    assert_eq!(ids(&corpus, "Which MOLE?", 9), ["m"]);
    assert_eq!(ids(&corpus, "river elbe", 9), ["7", "8", "facts-1"]);
    assert_eq!(ids(&corpus, "oder", 9), ["facts-1"]);
    assert_eq!(ids(&corpus, "river", 2).len(), 2);
    assert!(ids(&corpus, "", 9).is_empty() && ids(&corpus, "?! unknown", 9).is_empty());
    // Every index has hash tables of its own, so this would differ in some.
    let same = r#"{"text": "the same"}"#;
    for _ in 0..8 {
        let places: Vec<String> = (1..=32).map(|line| format!("facts-{line}")).collect();
        assert_eq!(ids(&over(&[same; 32]).unwrap(), "same", 64), places);
    }
}

#[test]
fn scores_are_those_of_bm25() {
    let corpus = over(&[r#"{"text": "a b"}"#, r#"{"text": "b b c c"}"#]).unwrap();
    let result = corpus.search("b", 9, usize::MAX).unwrap();
    let idf = (1.0_f64 + 0.5 / 2.5).ln();
    // Three words is the mean length.
    let weight =
        |times: f64, length: f64| times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / 3.0));
    for (document, expected) in result.documents.iter().zip([weight(2.0, 4.0), weight(1.0, 2.0)]) {
        assert!((document.score - idf * expected).abs() < 1e-6, "{document:?}");
    }
}

#[test]
fn a_search_is_bounded_whatever_is_asked() {
    let line = format!(r#"{{"text": "same {}"}}"#, "ä".repeat(1000));
    let corpus = over(&vec![line.as_str(); 200]).unwrap();
    let result = corpus.search("same", 1_000_000_000, 64_000).unwrap();
    assert_eq!(result.documents.len(), MAX_DOCUMENTS);
    assert!(result.documents.iter().all(|document| document.text.len() <= 1000));
    let long = "same ".repeat(10_000);
    let error = corpus.search(&long, 1, 1).unwrap_err().to_string();
    assert_eq!(error, "the query has 50000 bytes; at most 4096 can be searched for");
    // Words that are there, beyond the first ones, do not count, and neither do repeated ones.
    let many: String = (0..QUERY_WORDS).map(|word| format!("w{word} ")).collect();
    assert!(ids(&corpus, &format!("{many} same"), 1).is_empty());
    let bytes = |result: &SearchResult| {
        result.documents.iter().map(|document| document.text.len() as u64).sum::<u64>()
    };
    let looks = PER_SEARCH + 200 * (PER_LOOK + 2);
    assert_eq!(result.work, looks + bytes(&result));
    let repeated = corpus.search("same same same", 9, 90).unwrap();
    assert_eq!((repeated.work, bytes(&repeated)), (looks + 81, 81), "no half letters");
}

#[test]
fn what_is_no_document_is_named_with_file_and_line() {
    let good = r#"{"text": "a"}"#;
    for (bad, expected) in [
        ("[1]", "invalid"),
        ("{\"title\": \"no text\"}", "missing field `text`"),
        ("{\"text\": 3}", "it must be like"),
        (&format!("{{\"text\": \"{}\"}}", "a".repeat(LINE_BYTES)), "longer than 1024 KiB"),
        (&format!("{{\"text\": \"\", \"id\": \"{}\"}}", "a".repeat(257)), "its id has 257 bytes"),
        (&format!("{{\"text\": \"\", \"title\": \"{}\"}}", "a".repeat(1025)), "its title has 1025"),
    ] {
        let error = over(&[good, bad]).unwrap_err().to_string();
        assert!(error.starts_with("line 2 of the corpus `"), "{error}");
        assert!(
            error.contains("facts.jsonl` is no document") && error.contains(expected),
            "{error}"
        );
    }
    let error = over(&[""]).unwrap_err().to_string();
    assert!(error.starts_with("there is no document in the corpus `"), "{error}");
}

#[test]
fn a_corpus_without_readers_and_a_reader_without_a_corpus_are_refused() {
    let open = |corpus: &[&str], grant: &[&str]| {
        Corpus::open(&RetrievalConfig {
            corpus: corpus.iter().map(PathBuf::from).collect(),
            grant: grant.iter().map(|&name| Grantee::named(name)).collect(),
        })
    };
    assert!(open(&[], &[]).unwrap().is_none());
    let error = open(&[], &["quiz"]).unwrap_err().to_string();
    assert!(error.starts_with("`quiz` was granted retrieval, and there is no corpus"), "{error}");
    let error = open(&["facts.jsonl"], &[]).unwrap_err().to_string();
    assert!(error.starts_with("no plugin may search the corpus `facts.jsonl`"), "{error}");
    let error = open(&["no-such.jsonl"], &["quiz"]).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the corpus `no-such.jsonl`"), "{error}");
}

#[test]
fn another_text_is_another_digest() {
    let digest = |text| over(&[text]).unwrap().digests().values().next().cloned().unwrap();
    assert_eq!(digest(r#"{"text": "a"}"#), digest(r#"{"text": "a"}"#));
    assert_ne!(digest(r#"{"text": "a"}"#), digest(r#"{"text": "b"}"#));
}
