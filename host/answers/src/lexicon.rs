//! Words that mean something: units, numbers, and short words that are no products of letters.

/// What a word is a unit of, in the spelling that all its spellings become.
pub fn unit(word: &str) -> Option<&'static str> {
    symbol(word).or_else(|| unit_name(&word.to_lowercase()))
}

/// The unit of a symbol, in which upper and lower case differ.
pub fn symbol(word: &str) -> Option<&'static str> {
    Some(match word {
        "cm" | "CM" => "cm",
        "mm" | "MM" => "mm",
        "km" | "KM" => "km",
        "m" => "m",
        "dm" => "dm",
        "nm" => "nm",
        "in" => "in",
        "ft" => "ft",
        "yd" => "yd",
        "mi" => "mi",
        "mph" => "mi/h",
        "kph" | "kmh" | "kmph" => "km/h",
        "mg" => "mg",
        "g" => "g",
        "kg" | "Kg" | "KG" => "kg",
        "lb" | "lbs" => "lb",
        "oz" => "oz",
        "ml" | "mL" => "ml",
        "l" | "L" => "l",
        "gal" => "gal",
        "ms" => "ms",
        "s" | "sec" | "secs" => "s",
        "min" | "mins" => "min",
        "h" | "hr" | "hrs" => "h",
        "yr" | "yrs" => "year",
        "deg" => "degree",
        "rad" => "rad",
        "Hz" => "Hz",
        "kHz" => "kHz",
        "eV" => "eV",
        "keV" => "keV",
        "MeV" => "MeV",
        "GeV" => "GeV",
        "J" => "J",
        "kJ" => "kJ",
        "N" => "N",
        "W" => "W",
        "kW" => "kW",
        "V" => "V",
        "Pa" => "Pa",
        "kPa" => "kPa",
        "atm" => "atm",
        "mol" => "mol",
        "sq" => "square",
        _ => return None,
    })
}

fn unit_name(lower: &str) -> Option<&'static str> {
    Some(match lower {
        "centimeter" | "centimeters" | "centimetre" | "centimetres" => "cm",
        "millimeter" | "millimeters" | "millimetre" | "millimetres" => "mm",
        "kilometer" | "kilometers" | "kilometre" | "kilometres" => "km",
        "meter" | "meters" | "metre" | "metres" => "m",
        "decimeter" | "decimeters" => "dm",
        "nanometer" | "nanometers" => "nm",
        "inch" | "inches" => "in",
        "foot" | "feet" => "ft",
        "yard" | "yards" => "yd",
        "mile" | "miles" => "mi",
        "milligram" | "milligrams" => "mg",
        "gram" | "grams" => "g",
        "kilogram" | "kilograms" => "kg",
        "pound" | "pounds" => "lb",
        "ounce" | "ounces" => "oz",
        "ton" | "tons" | "tonne" | "tonnes" => "ton",
        "milliliter" | "milliliters" => "ml",
        "liter" | "liters" | "litre" | "litres" => "l",
        "gallon" | "gallons" => "gal",
        "millisecond" | "milliseconds" => "ms",
        "second" | "seconds" => "s",
        "minute" | "minutes" => "min",
        "hour" | "hours" => "h",
        "day" | "days" => "day",
        "week" | "weeks" => "week",
        "month" | "months" => "month",
        "year" | "years" => "year",
        "dollar" | "dollars" | "usd" | "bucks" => "dollar",
        "cent" | "cents" => "cent",
        "euro" | "euros" | "eur" => "euro",
        "yen" => "yen",
        "degree" | "degrees" => "degree",
        "celsius" => "C",
        "fahrenheit" => "F",
        "radian" | "radians" => "rad",
        "hertz" => "Hz",
        "joule" | "joules" => "J",
        "newton" | "newtons" => "N",
        "watt" | "watts" => "W",
        "volt" | "volts" => "V",
        "pascal" | "pascals" => "Pa",
        "mole" | "moles" => "mol",
        "am" | "a.m" | "a.m." => "am",
        "pm" | "p.m" | "p.m." => "pm",
        "unit" | "units" => "unit",
        "square" => "square",
        "cubic" => "cubic",
        "per" => "/",
        _ => return None,
    })
}

/// The unit that a sign for money stands for.
pub fn currency(sign: char) -> Option<&'static str> {
    Some(match sign {
        '$' => "dollar",
        '€' => "euro",
        '£' => "pound sterling",
        '¥' => "yen",
        _ => return None,
    })
}

/// The number that a word stands for.
pub fn number(word: &str) -> Option<u32> {
    const WORDS: [&str; 21] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    let lower = word.to_lowercase();
    // There are only twenty-one.
    WORDS.iter().position(|word| *word == lower).map(|index| index as u32)
}

/// What a word multiplies the number before it by, as a power of ten.
pub fn magnitude(word: &str) -> Option<u32> {
    Some(match word.to_lowercase().as_str() {
        "hundred" => 2,
        "thousand" => 3,
        "million" => 6,
        "billion" => 9,
        "trillion" => 12,
        _ => return None,
    })
}

/// Whether the word after a number changes what the number says, so that it is no unit.
pub fn qualifies(word: &str) -> bool {
    const WORDS: [&str; 54] = [
        "or",
        "to",
        "not",
        "than",
        "more",
        "less",
        "fewer",
        "least",
        "most",
        "about",
        "approx",
        "approximately",
        "around",
        "roughly",
        "nearly",
        "almost",
        "between",
        "range",
        "squared",
        "cubed",
        "factorial",
        "and",
        "half",
        "over",
        "divided",
        "times",
        "plus",
        "minus",
        "mod",
        "modulo",
        "base",
        "wrong",
        "incorrect",
        "maybe",
        "unless",
        "if",
        "when",
        "where",
        "for",
        "with",
        "but",
        "is",
        "are",
        "only",
        "dozen",
        "dozens",
        "choose",
        "root",
        "through",
        "until",
        "except",
        "power",
        "percentage",
        "above",
    ];
    WORDS.contains(&word.to_lowercase().as_str())
}

/// Whether these letters are a word rather than a product of letters.
pub fn is_short_word(letters: &str) -> bool {
    const WORDS: [&str; 44] = [
        "no", "yes", "odd", "even", "all", "and", "or", "not", "the", "for", "any", "to", "is",
        "are", "if", "one", "two", "six", "ten", "red", "men", "man", "boy", "cup", "pen", "sum",
        "set", "new", "day", "an", "of", "on", "we", "it", "so", "be", "by", "as", "at", "none",
        "iff", "mon", "tie", "neither",
    ];
    let lower = letters.to_lowercase();
    WORDS.contains(&lower.as_str()) || (letters.len() > 1 && unit_name(&lower).is_some())
}

/// What phrases say that is a set: nothing, or all real numbers.
pub fn phrase(words: &str) -> Option<char> {
    Some(match words {
        "no solution"
        | "no solutions"
        | "no real solution"
        | "no real solutions"
        | "empty set"
        | "the empty set"
        | "there is no solution"
        | "there are no solutions"
        | "has no solution"
        | "does not have a solution" => '∅',
        "all real numbers"
        | "all reals"
        | "all real"
        | "real numbers"
        | "the real numbers"
        | "any real number"
        | "every real number"
        | "reals"
        | "all real x"
        | "all real values"
        | "set of all real numbers"
        | "the set of all real numbers" => 'ℝ',
        _ => return None,
    })
}
