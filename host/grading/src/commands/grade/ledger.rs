//! The file of verdicts, which survives being cut off at any byte.
//!
//! Beside `verdicts.jsonl` stand two files. `verdicts.jsonl.settings.json` says
//! what the verdicts depend on, and is locked by the one who writes them.
//! `verdicts.jsonl.partial` gets each verdict as it is there, in one write.
//! When all are there, the verdict file is put in place as a whole, in the order
//! of the programs, and the partial file is removed. So a verdict file that can
//! be seen is complete.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::sidecar::Sidecar;
use crate::VerdictLine;
use troupe_core::storage::{StorageError, beside, create_folder};
use troupe_terminal::UsageError;

/// Where a verdict stands in the partial file.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    bytes: usize,
}

/// The verdicts of one grading, on disk; only their places are in memory.
pub struct Ledger {
    out: PathBuf,
    partial: PathBuf,
    /// Where the verdicts are: `partial`, or `out` if none is missing there.
    file: File,
    end: u64,
    /// By program, in the order of their file.
    spans: Vec<Option<Span>>,
    complete: bool,
    damaged: usize,
    /// Locked as long as the ledger lives.
    _sidecar: Sidecar,
}

impl Ledger {
    /// Takes up the file `out` where it was left, or begins it. `pairs` are the
    /// problem and the sample of each program. Earlier void verdicts are missing
    /// again. With `fresh`, earlier verdicts are thrown away.
    ///
    /// # Errors
    /// The earlier verdicts were made with other settings, `out` is no such file,
    /// another process is writing it, or the system refuses.
    pub fn open(
        out: &Path,
        settings: &Value,
        pairs: &[(&str, usize)],
        fresh: bool,
    ) -> anyhow::Result<Self> {
        let partial = extended(out, ".partial");
        let sidecar = extended(out, ".settings.json");
        if let Some(folder) = out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)?;
        }
        if !sidecar.exists() {
            refuse_foreign(out, &sidecar)?;
            refuse_foreign(&partial, &sidecar)?;
        }
        let mut sidecar = Sidecar::lock(sidecar, out)?;
        if fresh {
            remove(out)?;
            remove(&partial)?;
        }
        let begun = out.exists() || size(&partial) > 0;
        sidecar.agree(settings, out, begun)?;
        Ok(Ledger::take_up(out, partial, pairs, sidecar)?)
    }

    fn take_up(
        out: &Path,
        partial: PathBuf,
        pairs: &[(&str, usize)],
        sidecar: Sidecar,
    ) -> Result<Self, StorageError> {
        let complete = out.exists();
        if complete {
            // Left by one who was stopped between the last two steps.
            remove(&partial)?;
        }
        let path = if complete { out } else { &partial };
        let file = open_to_append(path)?;
        let mut ledger = Ledger {
            out: out.to_owned(),
            file,
            end: 0,
            spans: vec![None; pairs.len()],
            complete,
            damaged: 0,
            _sidecar: sidecar,
            partial,
        };
        ledger.load(pairs)?;
        if complete && ledger.spans.iter().any(Option::is_none) {
            ledger.complete = false;
            fs::rename(out, &ledger.partial).map_err(StorageError::io("rename", out))?;
        }
        Ok(ledger)
    }

    /// Finds the verdicts that are there and cuts off one that was not written
    /// to its end.
    fn load(&mut self, pairs: &[(&str, usize)]) -> Result<(), StorageError> {
        let places: HashMap<(&str, usize), usize> =
            pairs.iter().enumerate().map(|(place, pair)| (*pair, place)).collect();
        let path = self.path().to_owned();
        let failed = |verb| StorageError::io(verb, &path);
        let mut reader = BufReader::new(&self.file);
        let mut text = Vec::new();
        loop {
            text.clear();
            let bytes = reader.read_until(b'\n', &mut text).map_err(failed("read"))?;
            if text.last() != Some(&b'\n') {
                break;
            }
            let line = serde_json::from_slice::<VerdictLine>(&text).ok();
            let place = line
                .as_ref()
                .and_then(|line| places.get(&(line.problem.as_str(), line.sample)).copied());
            match (place, line) {
                (Some(place), Some(line)) => {
                    let span = Span { start: self.end, bytes };
                    self.spans[place] = (line.verdict != "void").then_some(span);
                }
                _ => self.damaged += 1,
            }
            self.end += bytes as u64;
        }
        if !text.is_empty() {
            self.file.set_len(self.end).map_err(failed("shorten"))?;
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        if self.complete { &self.out } else { &self.partial }
    }

    /// Programs without a verdict, by their place.
    pub fn missing(&self) -> Vec<usize> {
        let empty = |(place, span): (usize, &Option<Span>)| span.is_none().then_some(place);
        self.spans.iter().enumerate().filter_map(empty).collect()
    }

    /// Lines that could not be read or are about no program of these.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    /// Writes the verdict on the program at `place`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn record(&mut self, place: usize, line: &VerdictLine) -> Result<(), StorageError> {
        let failed = |error| StorageError::io("write", &self.partial)(error);
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(failed)?;
        self.spans[place] = Some(Span { start: self.end, bytes: text.len() });
        self.end += text.len() as u64;
        Ok(())
    }

    /// Puts the verdict file in place and shows its lines in order.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn finish(self, mut show: impl FnMut(VerdictLine)) -> Result<(), StorageError> {
        if self.complete {
            return self.each(|_, line| {
                show(line);
                Ok(())
            });
        }
        let temporary = beside(&self.out);
        let failed = |error| StorageError::io("write", &temporary)(error);
        let mut writer = BufWriter::new(File::create(&temporary).map_err(failed)?);
        self.each(|text, line| {
            show(line);
            writer.write_all(text).map_err(failed)
        })?;
        let file = writer.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        fs::rename(&temporary, &self.out).map_err(StorageError::io("write", &self.out))?;
        remove(&self.partial)
    }

    fn each(
        &self,
        mut visit: impl FnMut(&[u8], VerdictLine) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut text = Vec::new();
        for span in self.spans.iter().flatten() {
            text.resize(span.bytes, 0);
            self.file
                .read_exact_at(&mut text, span.start)
                .map_err(StorageError::io("read", self.path()))?;
            let line = serde_json::from_slice(&text).map_err(|error| StorageError::Damaged {
                path: self.path().to_owned(),
                reason: format!("it changed while it was in use ({error})"),
            })?;
            visit(&text, line)?;
        }
        Ok(())
    }
}

fn refuse_foreign(path: &Path, sidecar: &Path) -> Result<(), UsageError> {
    if !path.exists() {
        return Ok(());
    }
    Err(UsageError(format!(
        "`{}` exists, but without `{}` it is no verdict file of this command; remove it, or choose \
         another --out",
        path.display(),
        sidecar.display()
    )))
}

fn open_to_append(path: &Path) -> Result<File, StorageError> {
    let open = OpenOptions::new().read(true).append(true).create(true).open(path);
    open.map_err(StorageError::io("open", path))
}

/// The file's name with something more at its end.
fn extended(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn remove(path: &Path) -> Result<(), StorageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StorageError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PAIRS: [(&str, usize); 4] = [("a", 0), ("a", 1), ("b", 0), ("b", 1)];

    fn open(out: &Path) -> Ledger {
        Ledger::open(out, &json!({"fuel": 1}), &PAIRS, false).unwrap()
    }

    fn verdict(place: usize, verdict: &str) -> VerdictLine {
        let (problem, sample) = PAIRS[place];
        VerdictLine {
            problem: problem.to_owned(),
            sample,
            verdict: verdict.to_owned(),
            passed: 0,
            total: 1,
            first_failure: None,
            cause: None,
            detail: Some("é\n".to_owned()),
            fuel: 1,
            wall_ms: 1,
            memory_bytes: 1,
            language: "python".to_owned(),
            interpreter: String::new(),
        }
    }

    fn finish(mut ledger: Ledger) -> Vec<String> {
        for place in ledger.missing() {
            ledger.record(place, &verdict(place, "passed")).unwrap();
        }
        let mut shown = Vec::new();
        ledger.finish(|line| shown.push(format!("{} {}", line.problem, line.sample))).unwrap();
        shown
    }

    #[test]
    fn cut_off_at_any_byte_it_goes_on_and_ends_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (out, partial) = (folder.path().join("v"), folder.path().join("v.partial"));
        let mut ledger = open(&out);
        for place in [2, 0, 3] {
            ledger.record(place, &verdict(place, "passed")).unwrap();
        }
        drop(ledger);
        let written = fs::read(&partial).unwrap();
        assert_eq!(finish(open(&out)), ["a 0", "a 1", "b 0", "b 1"]);
        let whole = fs::read(&out).unwrap();
        for length in 0..=written.len() {
            fs::remove_file(&out).unwrap();
            fs::write(&partial, &written[..length]).unwrap();
            let ledger = open(&out);
            let lines = written[..length].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!((ledger.missing().len(), ledger.damaged()), (4 - lines, 0));
            finish(ledger);
            assert_eq!(fs::read(&out).unwrap(), whole);
            assert!(!partial.exists());
        }
    }

    #[test]
    fn void_verdicts_are_missing_again_and_the_last_one_counts() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("v");
        let mut ledger = open(&out);
        for place in 0..4 {
            ledger.record(place, &verdict(place, "void")).unwrap();
        }
        ledger.finish(|_| ()).unwrap();
        let ledger = open(&out);
        assert_eq!(ledger.missing(), [0, 1, 2, 3]);
        assert!(!out.exists(), "what is not complete is not seen");
        finish(ledger);
        assert!(open(&out).missing().is_empty());
        let text = fs::read_to_string(&out).unwrap();
        assert_eq!((text.lines().count(), text.contains("void")), (4, false));
    }

    #[test]
    fn a_partial_file_left_beside_a_complete_one_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("v");
        finish(open(&out));
        fs::write(folder.path().join("v.partial"), "{").unwrap();
        assert!(open(&out).missing().is_empty());
        assert!(out.exists() && !folder.path().join("v.partial").exists());
    }
}
