//! TensorBoard's event files: the figures of `metrics.jsonl` once more, in the form that
//! TensorBoard, Trackio and W&B read. An event file is a function of the metrics, so that a
//! resumed run has neither doubled nor lost steps in it.
//!
//! A file is a sequence of records (length, its checksum, an `Event`, its checksum); an `Event`
//! is a protocol buffer of `tensorflow/core/util/event.proto`.

use serde_json::Value;

/// The part that the names of all event files share.
pub(super) const MARK: &str = "tfevents";
/// The first event's word on the format.
const VERSION: &str = "brain.Event:2";

/// Fields of `Event`.
const WALL_TIME: u32 = 1;
const STEP: u32 = 2;
const FILE_VERSION: u32 = 3;
const SUMMARY: u32 = 5;
/// Fields of `Summary` and of its values.
const VALUE: u32 = 1;
const TAG: u32 = 1;
const SIMPLE_VALUE: u32 = 2;

/// Wire types of protocol buffers.
const VARINT: u32 = 0;
const EIGHT_BYTES: u32 = 1;
const LENGTH: u32 = 2;
const FOUR_BYTES: u32 = 5;

/// The record that an event file begins with; `time` in seconds since 1970.
pub(super) fn header(time: f64) -> Vec<u8> {
    let mut event = event_at(time);
    put_bytes(&mut event, FILE_VERSION, VERSION.as_bytes());
    framed(&event)
}

/// The record of one line of `metrics.jsonl`: each number in it as a scalar, named by its path,
/// such as `validation/greedy/success`. Nothing if the line has no step.
pub(super) fn metrics_record(line: &Value) -> Option<Vec<u8>> {
    let step = line.get("step")?.as_u64()?;
    let time = line.pointer("/timing/unix").and_then(Value::as_f64).unwrap_or_default();
    let mut summary = Vec::new();
    let mut path = String::new();
    gather(line, &mut path, &mut |tag, number| {
        let mut value = Vec::new();
        put_bytes(&mut value, TAG, tag.as_bytes());
        put_key(&mut value, SIMPLE_VALUE, FOUR_BYTES);
        value.extend((number as f32).to_le_bytes());
        put_bytes(&mut summary, VALUE, &value);
    });
    let mut event = event_at(time);
    put_key(&mut event, STEP, VARINT);
    put_varint(&mut event, step);
    put_bytes(&mut event, SUMMARY, &summary);
    Some(framed(&event))
}

/// Every number below a value, with its path; what only says which line it is, is left out.
fn gather(value: &Value, path: &mut String, visit: &mut impl FnMut(&str, f64)) {
    match value {
        Value::Number(number) if !matches!(path.as_str(), "step" | "timing/unix") => {
            number.as_f64().into_iter().for_each(|number| visit(path, number));
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let length = path.len();
                if length > 0 {
                    path.push('/');
                }
                path.push_str(name);
                gather(field, path, visit);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn event_at(time: f64) -> Vec<u8> {
    let mut event = Vec::new();
    put_key(&mut event, WALL_TIME, EIGHT_BYTES);
    event.extend(time.to_le_bytes());
    event
}

fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_key(out, field, LENGTH);
    put_varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn put_key(out: &mut Vec<u8>, field: u32, wire: u32) {
    put_varint(out, u64::from(field << 3 | wire));
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn framed(event: &[u8]) -> Vec<u8> {
    let length = (event.len() as u64).to_le_bytes();
    let mut record = length.to_vec();
    record.extend(masked_checksum(&length).to_le_bytes());
    record.extend(event);
    record.extend(masked_checksum(event).to_le_bytes());
    record
}

/// CRC-32C, turned and shifted as TensorFlow's records want it.
fn masked_checksum(bytes: &[u8]) -> u32 {
    const CASTAGNOLI: u32 = 0x82f6_3b78;
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ CASTAGNOLI } else { sum >> 1 };
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), step);
    let sum = !bytes.iter().fold(!0, byte);
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_checksum_is_that_of_tensorflow() {
        // RFC 3720, B.4: 32 bytes of zeros have the CRC-32C 8a9136aa.
        let unmasked = masked_checksum(&[0; 32]).wrapping_sub(0xa282_ead8).rotate_left(15);
        assert_eq!(unmasked, 0x8a91_36aa);
    }

    #[test]
    fn every_number_has_its_path_and_a_line_without_step_is_none() {
        let line = json!({
            "step": 7, "timing": {"unix": 1.5, "seconds": {"update": 2.0}},
            "roles": {"planner": {"reward": {"mean": 0.25}}}, "note": "text", "none": null,
        });
        let mut numbers = Vec::new();
        gather(&line, &mut String::new(), &mut |path, number| {
            numbers.push((path.to_owned(), number))
        });
        let expected = [("timing/seconds/update", 2.0), ("roles/planner/reward/mean", 0.25)];
        assert_eq!(numbers, expected.map(|(path, number)| (path.to_owned(), number)));
        assert_eq!(metrics_record(&json!({"a": 1})), None);
    }

    #[test]
    fn a_record_has_these_bytes() {
        let record =
            metrics_record(&json!({"step": 300, "timing": {"unix": 2.0}, "a": {"b": 0.5}}));
        let event = [
            &[0x09][..],
            &2f64.to_le_bytes(), // wall_time
            &[0x10, 0xac, 0x02], // step
            &[0x2a, 12, 0x0a, 10, 0x0a, 3],
            b"a/b",
            &[0x15],
            &0.5f32.to_le_bytes(),
        ]
        .concat();
        let mut expected = vec![event.len() as u8, 0, 0, 0, 0, 0, 0, 0];
        expected.extend(masked_checksum(&expected).to_le_bytes());
        expected.extend(&event);
        expected.extend(masked_checksum(&event).to_le_bytes());
        assert_eq!(record.unwrap(), expected);
        assert_eq!(
            &header(0.0)[21..],
            [
                &[0x1a, 13][..],
                b"brain.Event:2",
                &masked_checksum(&header(0.0)[12..36]).to_le_bytes()
            ]
            .concat()
        );
    }
}
