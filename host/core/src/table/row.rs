//! A row of a table: an answer, its place, its reward and its advantage.

use std::collections::BTreeMap;

use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::record::{Field, Row as Record, RowAccessor};

use super::column::{Column, Values};
use crate::trajectory::{Completion, Episode, Reward, Sample, StopReason};

/// An answer of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The step in which it was drawn.
    pub step: usize,
    /// The version of the policy that drew it: the number of steps it had learned in.
    pub version: usize,
    /// The split its task is from.
    pub split: String,
    /// The seed of its task.
    pub seed: u32,
    /// The answer; its parent and its caller are rows of this table.
    pub sample: Sample,
    /// Its advantage; none if its group was left out.
    pub advantage: Option<f32>,
    /// Its weight in the update.
    pub weight: f32,
    /// How its episode ended: `solved`, `failed`, `finished` or `truncated`.
    pub ending: String,
}

/// The rows of a step's answers with their advantages and weights, in their order; `kept`
/// says which of them. Answers that episodes went on from must be among these.
/// `version` says how many steps a policy has learned in.
pub fn rows_of(
    (step, version): (usize, impl Fn(&str) -> usize),
    samples: &[Sample],
    (advantages, weights): (&[Option<f32>], &[f32]),
    episodes: &[Episode],
    kept: impl Fn(&Sample) -> bool,
) -> Vec<Row> {
    let episodes: BTreeMap<(usize, usize), &Episode> =
        episodes.iter().map(|episode| ((episode.task, episode.episode), episode)).collect();
    let mut places = Vec::with_capacity(samples.len());
    let mut rows = Vec::new();
    let credits = advantages.iter().zip(weights);
    for (sample, (advantage, weight)) in samples.iter().zip(credits) {
        places.push(kept(sample).then_some(rows.len()));
        if !kept(sample) {
            continue;
        }
        let place = |index: Option<usize>| places[index?];
        let (parent, caller) = (place(sample.parent), place(sample.caller));
        let episode = episodes.get(&(sample.task, sample.episode));
        rows.push(Row {
            step,
            version: version(&sample.policy),
            split: episode.map_or_else(String::new, |episode| episode.split.clone()),
            seed: episode.map_or(0, |episode| episode.seed),
            sample: Sample { parent, caller, ..sample.clone() },
            advantage: *advantage,
            weight: *weight,
            ending: episode.map_or("", |episode| episode.ending.word()).to_owned(),
        });
    }
    rows
}

fn stop_word(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndOfText => "end_of_text",
        StopReason::Sequence => "sequence",
        StopReason::Length => "length",
    }
}

/// The rows, column by column, in the order of the schema.
pub fn columns(rows: &[Row]) -> Vec<Column> {
    let ints = |of: fn(&Row) -> usize| {
        Column::of(Values::Int(rows.iter().map(|row| of(row) as i32).collect()))
    };
    let texts = |of: fn(&Row) -> &str| {
        Column::of(Values::Text(rows.iter().map(|row| of(row).into()).collect()))
    };
    let flags = |of: fn(&Row) -> bool| Column::of(Values::Bool(rows.iter().map(of).collect()));
    let doubles = |of: fn(&Row) -> f64| Column::of(Values::Double(rows.iter().map(of).collect()));
    let longs = |of: fn(&Row) -> i64| Column::of(Values::Long(rows.iter().map(of).collect()));
    let tokens = |of: fn(&Row) -> &[u32]| {
        let signed = |row| of(row).iter().map(|&token| token as i32).collect::<Vec<_>>();
        Column::list(rows.iter().map(signed), Values::Int)
    };
    let places = |of: fn(&Sample) -> Option<usize>| {
        let place = |row: &Row| of(&row.sample).map(|place| place as i32);
        Column::optional(rows.iter().map(place).collect(), Values::Int)
    };
    let optional = |of: fn(&Sample) -> Option<&str>| {
        let texts = rows.iter().map(|row| of(&row.sample).map(ByteArray::from));
        Column::optional(texts.collect(), Values::Text)
    };
    let names =
        |row: &Row| row.sample.reward.parts.keys().map(|name| name.as_str().into()).collect();
    let shares = |row: &Row| row.sample.reward.parts.values().copied().collect();
    let forced = |row: &Row| {
        row.sample.completion.forced.iter().map(|&place| place as i32).collect::<Vec<_>>()
    };
    let advantages = rows.iter().map(|row| row.advantage).collect();
    vec![
        ints(|row| row.step),
        ints(|row| row.sample.task),
        texts(|row| &row.sample.family),
        texts(|row| &row.split),
        longs(|row| i64::from(row.seed)),
        ints(|row| row.sample.episode),
        ints(|row| row.sample.round),
        places(|sample| sample.parent),
        places(|sample| sample.caller),
        ints(|row| row.sample.turn),
        texts(|row| &row.sample.role),
        ints(|row| row.sample.instance as usize),
        texts(|row| &row.sample.thread),
        optional(|sample| sample.situation.as_deref()),
        optional(|sample| sample.hint.as_deref()),
        texts(|row| &row.sample.policy),
        ints(|row| row.version),
        ints(|row| row.sample.branch),
        flags(|row| row.sample.kept),
        longs(|row| row.sample.state.cast_signed()),
        flags(|row| row.sample.accepted),
        doubles(|row| row.sample.reward.team),
        doubles(|row| row.sample.reward.local),
        Column::list(rows.iter().map(names), Values::Text),
        Column::list(rows.iter().map(shares), Values::Double),
        Column::optional(advantages, Values::Float),
        Column::of(Values::Float(rows.iter().map(|row| row.weight).collect())),
        texts(|row| &row.ending),
        texts(|row| &row.sample.completion.text),
        texts(|row| stop_word(row.sample.completion.stop)),
        tokens(|row| &row.sample.prompt),
        tokens(|row| &row.sample.completion.tokens),
        Column::list(rows.iter().map(|row| row.sample.completion.logprobs.clone()), Values::Float),
        Column::list(rows.iter().map(forced), Values::Int),
    ]
}

impl Row {
    /// A row as it was written.
    pub(super) fn read(record: &Record) -> Result<Self, ParquetError> {
        let fields: BTreeMap<&str, (usize, &Field)> = record
            .get_column_iter()
            .enumerate()
            .map(|(index, (name, field))| (name.as_str(), (index, field)))
            .collect();
        let at = |name: &str| {
            let missing = || ParquetError::General(format!("it has no column `{name}`"));
            fields.get(name).map(|(index, _)| *index).ok_or_else(missing)
        };
        let int = |name: &str| Ok::<_, ParquetError>(record.get_int(at(name)?)? as usize);
        let text = |name: &str| Ok::<_, ParquetError>(record.get_string(at(name)?)?.clone());
        let is_there = |name: &str| Ok::<_, ParquetError>(!record.is_null(at(name)?)?);
        let tokens = |name: &str| {
            elements(record, at(name)?, |field| match field {
                Field::Int(token) => Some(*token as u32),
                _ => None,
            })
        };
        let optional = |name: &str| is_there(name)?.then(|| int(name)).transpose();
        let situation = is_there("situation")?.then(|| text("situation")).transpose()?;
        // Tables of earlier versions do not have it.
        let has_hint = fields.contains_key("hint") && is_there("hint")?;
        let hint = has_hint.then(|| text("hint")).transpose()?;
        let advantage =
            is_there("advantage")?.then(|| record.get_float(at("advantage")?)).transpose()?;
        let completion = Completion {
            tokens: tokens("tokens")?,
            logprobs: elements(record, at("logprobs")?, |field| match field {
                Field::Float(number) => Some(*number),
                _ => None,
            })?,
            text: text("text")?,
            stop: stop_of(&text("stop")?)?,
            // Tables of earlier versions do not have it.
            forced: match fields.contains_key("forced") {
                true => tokens("forced")?.into_iter().map(|place| place as usize).collect(),
                false => Vec::new(),
            },
            usage: None,
        };
        let reward = Reward {
            team: record.get_double(at("team")?)?,
            local: record.get_double(at("local")?)?,
            parts: parts(record, at("parts")?)?,
        };
        let sample = Sample {
            task: int("task")?,
            family: text("family")?,
            episode: int("episode")?,
            turn: int("turn")?,
            role: text("role")?,
            instance: int("instance")? as u32,
            thread: text("thread")?,
            situation,
            hint,
            round: int("round")?,
            parent: optional("parent")?,
            caller: optional("caller")?,
            policy: text("policy")?,
            branch: int("branch")?,
            kept: record.get_bool(at("kept")?)?,
            state: record.get_ulong(at("state")?)?,
            prompt: tokens("prompt")?.into(),
            completion,
            reward,
            accepted: record.get_bool(at("accepted")?)?,
        };
        Ok(Row {
            step: int("step")?,
            split: text("split")?,
            seed: record.get_long(at("seed")?)? as u32,
            version: int("version")?,
            sample,
            advantage,
            weight: record.get_float(at("weight")?)?,
            ending: text("ending")?,
        })
    }
}

fn elements<T>(
    record: &Record,
    index: usize,
    take: fn(&Field) -> Option<T>,
) -> Result<Vec<T>, ParquetError> {
    let strange = || ParquetError::General("a list holds something else".to_owned());
    record.get_list(index)?.elements().iter().map(|field| take(field).ok_or_else(strange)).collect()
}

fn parts(record: &Record, index: usize) -> Result<BTreeMap<String, f64>, ParquetError> {
    let strange = || ParquetError::General("`parts` holds something else".to_owned());
    let entry = |(name, value): &(Field, Field)| match (name, value) {
        (Field::Str(name), Field::Double(value)) => Ok((name.clone(), *value)),
        _ => Err(strange()),
    };
    record.get_map(index)?.entries().iter().map(entry).collect()
}

fn stop_of(word: &str) -> Result<StopReason, ParquetError> {
    let all = [StopReason::EndOfText, StopReason::Sequence, StopReason::Length];
    let known = all.into_iter().find(|stop| stop_word(*stop) == word);
    known.ok_or_else(|| ParquetError::General(format!("`{word}` is no reason to stop")))
}
