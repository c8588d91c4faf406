//! The little of protobuf that the protocol needs, by hand: what is tested here writes and reads it
//! by a library, so that a mistake in a field's number is not made twice.

use std::collections::BTreeMap;

/// A gradient's request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradient {
    /// The model's name.
    pub model: String,
    /// The request's number.
    pub number: i64,
    /// The answers.
    pub data: Vec<Datum>,
    /// The loss by its name.
    pub loss: String,
    /// Its settings.
    pub settings: BTreeMap<String, f64>,
    /// Whether no gradient is to be left.
    pub forward_only: bool,
}

/// One answer as it is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Datum {
    /// Tokens that are read.
    pub tokens: Vec<i64>,
    /// Tokens that are predicted, one for each.
    pub targets: Vec<i64>,
    /// Numbers for each of them, by what they are.
    pub numbers: BTreeMap<String, Vec<f64>>,
}

/// Log-probabilities and losses of an answer's targets.
pub(crate) type Scores = (Vec<f64>, Vec<f64>);

enum Field<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed(u64),
}

fn fields(mut body: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !body.is_empty() {
        let key = varint(&mut body);
        let field = match key & 7 {
            0 => Field::Varint(varint(&mut body)),
            1 => {
                let (number, rest) = body.split_at(8);
                body = rest;
                Field::Fixed(u64::from_le_bytes(number.try_into().expect("eight bytes")))
            }
            2 => {
                let length = varint(&mut body) as usize;
                let (bytes, rest) = body.split_at(length);
                body = rest;
                Field::Bytes(bytes)
            }
            kind => panic!("protobuf's wire type {kind} is not part of this protocol"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn varint(body: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = body.split_first().expect("a number goes on");
        *body = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return number;
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("names are text")
}

/// Read a gradient's request.
pub(crate) fn read_gradient(body: &[u8]) -> Gradient {
    let mut gradient = Gradient::default();
    for field in fields(body) {
        match field {
            (1, Field::Bytes(bytes)) => gradient.model = text(bytes),
            (2, Field::Varint(number)) => gradient.number = number as i64,
            (3, Field::Bytes(bytes)) => gradient.data.push(read_datum(bytes)),
            (4, Field::Bytes(bytes)) => gradient.loss = text(bytes),
            (5, Field::Bytes(bytes)) => {
                let entry = fields(bytes);
                let name = entry.iter().find_map(|field| match field {
                    (1, Field::Bytes(bytes)) => Some(text(bytes)),
                    _ => None,
                });
                let value = entry.iter().find_map(|field| match field {
                    (2, Field::Fixed(bits)) => Some(f64::from_bits(*bits)),
                    _ => None,
                });
                gradient.settings.extend(name.zip(value.or(Some(0.0))));
            }
            (6, Field::Varint(flag)) => gradient.forward_only = flag != 0,
            (number, _) => panic!("a gradient has no field {number} like this"),
        }
    }
    gradient
}

fn read_datum(body: &[u8]) -> Datum {
    let mut datum = Datum::default();
    for field in fields(body) {
        match field {
            (1, Field::Bytes(chunk)) => {
                for (_, text) in fields(chunk) {
                    let Field::Bytes(text) = text else { panic!("a chunk is a message") };
                    for (_, tokens) in fields(text) {
                        let Field::Bytes(tokens) = tokens else { panic!("tokens are bytes") };
                        let (tokens, _) = tokens.as_chunks::<4>();
                        let tokens = tokens.iter().map(|it| i64::from(i32::from_le_bytes(*it)));
                        datum.tokens.extend(tokens);
                    }
                }
            }
            (2, Field::Bytes(entry)) => {
                let (mut name, mut tensor) = (String::new(), (Vec::new(), 0));
                for field in fields(entry) {
                    match field {
                        (1, Field::Bytes(bytes)) => name = text(bytes),
                        (2, Field::Bytes(bytes)) => tensor = read_tensor(bytes),
                        _ => panic!("a map's entry is a key and a value"),
                    }
                }
                let (bytes, dtype) = tensor;
                let (eights, _) = bytes.as_chunks::<8>();
                let (fours, _) = bytes.as_chunks::<4>();
                match (name.as_str(), dtype) {
                    ("target_tokens", 2) => {
                        datum.targets = eights.iter().map(|it| i64::from_le_bytes(*it)).collect();
                    }
                    (_, 1) => {
                        let numbers = fours.iter().map(|it| f64::from(f32::from_le_bytes(*it)));
                        datum.numbers.insert(name, numbers.collect());
                    }
                    _ => panic!("`{name}` comes as type {dtype}"),
                }
            }
            (number, _) => panic!("a datum has no field {number} like this"),
        }
    }
    datum
}

fn read_tensor(body: &[u8]) -> (Vec<u8>, u64) {
    let (mut bytes, mut dtype) = (Vec::new(), 0);
    for field in fields(body) {
        match field {
            (1, Field::Bytes(dense)) => bytes = dense.to_vec(),
            (3, Field::Varint(kind)) => dtype = kind,
            (4, _) => {}
            (number, _) => panic!("a tensor has no field {number} like this"),
        }
    }
    (bytes, dtype)
}

/// Writes messages.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 & 0x7f | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}

fn floats(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| (*number as f32).to_le_bytes()).collect()
}

/// What came of a gradient: for each answer its log-probabilities and its losses, in one record.
pub(crate) fn write_scored(answers: &[Scores]) -> Vec<u8> {
    let batched = |of: &dyn Fn(&Scores) -> Vec<f64>| {
        let (mut data, mut offsets) = (Vec::new(), 0_i64.to_le_bytes().to_vec());
        for answer in answers {
            data.extend(floats(&of(answer)));
            offsets.extend((data.len() as i64).to_le_bytes());
        }
        Writer::default().bytes(1, &data).bytes(2, &offsets).number(3, 1).0
    };
    let field = |name: &str, tensor: Vec<u8>| {
        Writer::default().bytes(1, name.as_bytes()).bytes(2, &tensor).0
    };
    let logprobs = field("logprobs", batched(&|answer| answer.0.clone()));
    let losses = field("elementwise_loss", batched(&|answer| answer.1.clone()));
    let record = Writer::default().bytes(2, &logprobs).bytes(2, &losses);
    let record = record.number(3, answers.len() as u64).0;
    Writer::default().bytes(1, b"scalar").bytes(2, &record).0
}

/// What came of drawing: whether each answer was stopped, its tokens and their log-probabilities.
pub(crate) fn write_samples(
    sequences: &[(bool, Vec<i64>, Vec<f64>)],
    prompt: Option<&[f64]>,
) -> Vec<u8> {
    let mut written = Writer::default();
    for (stopped, tokens, logprobs) in sequences {
        let tokens: Vec<u8> = tokens.iter().flat_map(|it| (*it as i32).to_le_bytes()).collect();
        let sequence = Writer::default().number(1, u64::from(!stopped)).bytes(2, &tokens);
        written = written.bytes(1, &sequence.bytes(3, &floats(logprobs)).0);
    }
    if let Some(prompt) = prompt {
        written = written.bytes(2, &floats(prompt));
    }
    written.0
}
