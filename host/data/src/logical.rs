//! What the values of a Parquet column are: its physical type says how they lie in
//! the file, its logical type what number or text they are.

use chrono::{DateTime, Days, NaiveDate, NaiveTime};
use half::f16;
use num_bigint::{BigInt, Sign};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::Type;

use troupe_grading::Value;

/// Longer decimals are no numbers, in bytes: some 150 digits.
const MOST_DECIMAL_BYTES: usize = 64;
/// A number with no more digits is the same as a double.
const EXACT_DIGITS: usize = 15;
/// The day of 1 January 1970 as INT96 counts them.
const JULIAN_EPOCH: i64 = 2_440_588;
const NANOS_OF_DAY: i64 = 86_400_000_000_000;

/// What the values of a column are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// What their physical type says; bytes are text.
    Plain,
    /// Whole numbers without sign, of so many bits.
    Unsigned(u8),
    /// Whole numbers with so many digits behind the point.
    Decimal(i32),
    /// Days since 1970.
    Date,
    /// Since midnight.
    Time(TimeUnit),
    /// Since 1970; whether in UTC.
    Timestamp(TimeUnit, bool),
    /// Sixteen bytes.
    Uuid,
    /// Two bytes.
    Float16,
    /// Months, days and milliseconds.
    Interval,
    /// Nothing but null.
    Nothing,
    /// No number and no text.
    Unread(String),
}

impl Kind {
    /// What a column of this type holds.
    pub fn of(node: &Type) -> Kind {
        let Type::PrimitiveType { basic_info, scale, physical_type, .. } = node else {
            return Kind::Plain;
        };
        let kind = match basic_info.logical_type_ref() {
            Some(logical) => Kind::of_logical(logical),
            None => Kind::of_converted(basic_info.converted_type(), *scale),
        };
        if kind.lies_in(*physical_type) {
            return kind;
        }
        Kind::Unread(format!("Parquet's {physical_type} that is said to be another type"))
    }

    fn of_logical(logical: &LogicalType) -> Kind {
        match logical {
            LogicalType::String | LogicalType::Enum | LogicalType::Json => Kind::Plain,
            LogicalType::Decimal(decimal) => Kind::Decimal(decimal.scale),
            LogicalType::Date => Kind::Date,
            LogicalType::Time(time) => Kind::Time(time.unit),
            LogicalType::Timestamp(moment) => {
                Kind::Timestamp(moment.unit, moment.is_adjusted_to_u_t_c)
            }
            LogicalType::Integer(integer) if integer.is_signed => Kind::Plain,
            LogicalType::Integer(integer) => Kind::Unsigned(integer.bit_width.unsigned_abs()),
            LogicalType::Unknown => Kind::Nothing,
            LogicalType::Uuid => Kind::Uuid,
            LogicalType::Float16 => Kind::Float16,
            other => Kind::Unread(format!("Parquet's {}", name_of(&format!("{other:?}")))),
        }
    }

    fn of_converted(converted: ConvertedType, scale: i32) -> Kind {
        match converted {
            ConvertedType::NONE
            | ConvertedType::UTF8
            | ConvertedType::ENUM
            | ConvertedType::JSON
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64 => Kind::Plain,
            ConvertedType::UINT_8 => Kind::Unsigned(8),
            ConvertedType::UINT_16 => Kind::Unsigned(16),
            ConvertedType::UINT_32 => Kind::Unsigned(32),
            ConvertedType::UINT_64 => Kind::Unsigned(64),
            ConvertedType::DECIMAL => Kind::Decimal(scale),
            ConvertedType::DATE => Kind::Date,
            ConvertedType::TIME_MILLIS => Kind::Time(TimeUnit::MILLIS),
            ConvertedType::TIME_MICROS => Kind::Time(TimeUnit::MICROS),
            ConvertedType::TIMESTAMP_MILLIS => Kind::Timestamp(TimeUnit::MILLIS, true),
            ConvertedType::TIMESTAMP_MICROS => Kind::Timestamp(TimeUnit::MICROS, true),
            ConvertedType::INTERVAL => Kind::Interval,
            other => Kind::Unread(format!("Parquet's {other}")),
        }
    }

    /// Whether values of this kind lie in this physical type.
    fn lies_in(&self, physical: Physical) -> bool {
        let whole = matches!(physical, Physical::INT32 | Physical::INT64);
        let bytes = matches!(physical, Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY);
        match self {
            Kind::Plain | Kind::Nothing | Kind::Unread(_) => true,
            Kind::Decimal(_) => whole || bytes,
            Kind::Unsigned(_) | Kind::Date | Kind::Time(_) | Kind::Timestamp(..) => whole,
            Kind::Uuid | Kind::Float16 | Kind::Interval => bytes,
        }
    }

    /// The value of a whole number.
    pub fn int(&self, number: i64) -> Value {
        let value = match self {
            Kind::Unsigned(bits @ 1..64) => {
                return Value::Int((number as u64 & ((1 << bits) - 1)).to_string());
            }
            Kind::Unsigned(_) => return Value::Int((number as u64).to_string()),
            Kind::Decimal(scale) => return decimal(&BigInt::from(number), *scale),
            Kind::Date => date(number),
            Kind::Time(unit) => time(number, *unit),
            Kind::Timestamp(unit, utc) => timestamp(number, *unit, *utc),
            Kind::Nothing => Some(Value::Null),
            Kind::Unread(what) => Some(Value::Other(what.clone())),
            _ => return Value::Int(number.to_string()),
        };
        value.unwrap_or_else(|| Value::Other("a moment beyond the calendar".to_owned()))
    }

    /// The value of bytes.
    pub fn bytes(&self, bytes: &[u8]) -> Value {
        match self {
            Kind::Decimal(scale) if bytes.len() <= MOST_DECIMAL_BYTES => {
                decimal(&BigInt::from_signed_bytes_be(bytes), *scale)
            }
            Kind::Decimal(_) => Value::Other("a decimal that is too long".to_owned()),
            Kind::Uuid => uuid(bytes),
            Kind::Float16 => match bytes {
                [low, high] => Value::Float(f16::from_le_bytes([*low, *high]).to_f64()),
                _ => Value::Other("a FLOAT16 that is not of two bytes".to_owned()),
            },
            Kind::Interval => interval(bytes),
            Kind::Nothing => Value::Null,
            Kind::Unread(what) => Value::Other(what.clone()),
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => Value::Str(text.to_owned()),
                Err(_) => Value::Other("bytes that are not UTF-8".to_owned()),
            },
        }
    }

    /// The value of INT96, which old writers kept moments in: nanoseconds of a day, and the day.
    pub fn julian(parts: &[u32]) -> Value {
        let &[low, high, day] = parts else {
            return Value::Other("an INT96 that is none".to_owned());
        };
        let nanos = (i64::from(high) << 32) | i64::from(low);
        let days = i64::from(day) - JULIAN_EPOCH;
        let seconds = days * 86_400 + nanos.div_euclid(1_000_000_000);
        // The remainder of a division by a billion.
        let rest = nanos.rem_euclid(1_000_000_000) as u32;
        let moment = DateTime::from_timestamp(seconds, rest);
        let text = moment.map(|moment| moment.format("%Y-%m-%dT%H:%M:%S%.f").to_string());
        text.map_or_else(|| Value::Other("a moment beyond the calendar".to_owned()), Value::Str)
    }
}

/// The name at the beginning of what `{:?}` says.
fn name_of(debug: &str) -> String {
    debug.chars().take_while(|c| c.is_ascii_alphanumeric()).collect::<String>().to_uppercase()
}

/// A whole number of so many digits behind the point: a number if a double is exactly what it
/// says, and else its digits.
fn decimal(unscaled: &BigInt, scale: i32) -> Value {
    let Some(scale) = usize::try_from(scale).ok().filter(|scale| *scale <= 1_000) else {
        return Value::Other("a decimal without a scale".to_owned());
    };
    let digits = format!("{:0>width$}", unscaled.magnitude().to_string(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let fraction = fraction.trim_end_matches('0');
    let sign = if unscaled.sign() == Sign::Minus { "-" } else { "" };
    if fraction.is_empty() {
        return Value::Int(format!("{sign}{whole}"));
    }
    let text = format!("{sign}{whole}.{fraction}");
    let shown = whole.len() + fraction.len();
    match text.parse() {
        Ok(number) if shown <= EXACT_DIGITS => Value::Float(number),
        _ => Value::Str(text),
    }
}

fn date(days: i64) -> Option<Value> {
    let epoch = NaiveDate::from_ymd_opt(1970, 1, 1)?;
    let distance = Days::new(days.unsigned_abs());
    let date =
        if days < 0 { epoch.checked_sub_days(distance) } else { epoch.checked_add_days(distance) };
    Some(Value::Str(date?.format("%Y-%m-%d").to_string()))
}

fn nanos_in(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::MILLIS => 1_000_000,
        TimeUnit::MICROS => 1_000,
        TimeUnit::NANOS => 1,
    }
}

fn time(since_midnight: i64, unit: TimeUnit) -> Option<Value> {
    let nanos = since_midnight.checked_mul(nanos_in(unit))?;
    if !(0..NANOS_OF_DAY).contains(&nanos) {
        return None;
    }
    let seconds = u32::try_from(nanos / 1_000_000_000).ok()?;
    let rest = u32::try_from(nanos % 1_000_000_000).ok()?;
    let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, rest)?;
    Some(Value::Str(time.format("%H:%M:%S%.f").to_string()))
}

fn timestamp(count: i64, unit: TimeUnit, utc: bool) -> Option<Value> {
    let per_second = 1_000_000_000 / nanos_in(unit);
    let rest = count.rem_euclid(per_second) * nanos_in(unit);
    let moment = DateTime::from_timestamp(count.div_euclid(per_second), u32::try_from(rest).ok()?)?;
    let zone = if utc { "Z" } else { "" };
    Some(Value::Str(format!("{}{zone}", moment.format("%Y-%m-%dT%H:%M:%S%.f"))))
}

fn uuid(bytes: &[u8]) -> Value {
    if bytes.len() != 16 {
        return Value::Other("a UUID that is not of sixteen bytes".to_owned());
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Value::Str(parts.join("-"))
}

/// As ISO 8601 writes a span of time.
fn interval(bytes: &[u8]) -> Value {
    let part = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let (Some(months), Some(days), Some(millis), 12) = (part(0), part(4), part(8), bytes.len())
    else {
        return Value::Other("an INTERVAL that is not of twelve bytes".to_owned());
    };
    let fraction = match millis % 1_000 {
        0 => String::new(),
        rest => format!(".{rest:03}"),
    };
    Value::Str(format!("P{months}M{days}DT{}{fraction}S", millis / 1_000))
}
