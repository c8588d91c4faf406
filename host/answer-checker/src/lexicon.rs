//! Words that mean something: units, numbers, and short words that are no products of letters.

/// What a word is a unit of, in the spelling that all its spellings become.
pub fn unit(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    Some(match lower.as_str() {
        "cm" | "centimeter" | "centimeters" | "centimetre" | "centimetres" => "cm",
        "mm" | "millimeter" | "millimeters" | "millimetre" | "millimetres" => "mm",
        "km" | "kilometer" | "kilometers" | "kilometre" | "kilometres" => "km",
        "m" | "meter" | "meters" | "metre" | "metres" if word != "M" => "m",
        "dm" | "decimeter" | "decimeters" => "dm",
        "nm" | "nanometer" | "nanometers" => "nm",
        "in" | "inch" | "inches" => "in",
        "ft" | "foot" | "feet" => "ft",
        "yd" | "yard" | "yards" => "yd",
        "mi" | "mile" | "miles" => "mi",
        "mph" => "mi/h",
        "kph" | "kmh" => "km/h",
        "mg" | "milligram" | "milligrams" if word != "Mg" => "mg",
        "g" | "gram" | "grams" if word != "G" => "g",
        "kg" | "kilogram" | "kilograms" => "kg",
        "lb" | "lbs" | "pound" | "pounds" => "lb",
        "oz" | "ounce" | "ounces" => "oz",
        "ton" | "tons" | "tonne" | "tonnes" => "ton",
        "ml" | "milliliter" | "milliliters" => "ml",
        "l" | "liter" | "liters" | "litre" | "litres" => "l",
        "gal" | "gallon" | "gallons" => "gal",
        "ms" | "millisecond" | "milliseconds" if word != "MS" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" if word != "S" => "s",
        "min" | "mins" | "minute" | "minutes" => "min",
        "h" | "hr" | "hrs" | "hour" | "hours" if word != "H" => "h",
        "day" | "days" => "day",
        "week" | "weeks" => "week",
        "month" | "months" => "month",
        "yr" | "yrs" | "year" | "years" => "year",
        "dollar" | "dollars" | "usd" | "bucks" => "dollar",
        "cent" | "cents" => "cent",
        "euro" | "euros" | "eur" => "euro",
        "yen" => "yen",
        "degree" | "degrees" | "deg" => "degree",
        "rad" | "radian" | "radians" => "rad",
        "hz" | "hertz" => "hz",
        "khz" => "khz",
        "ev" => "ev",
        "kev" => "kev",
        "mev" if word == "MeV" => "MeV",
        "gev" => "gev",
        "j" | "joule" | "joules" if word != "j" => "J",
        "kj" => "kJ",
        "n" | "newton" | "newtons" if word != "n" => "N",
        "w" | "watt" | "watts" if word != "w" => "W",
        "kw" => "kW",
        "v" | "volt" | "volts" if word != "v" => "V",
        "pa" | "pascal" | "pascals" => "Pa",
        "kpa" => "kPa",
        "atm" => "atm",
        "mol" | "mole" | "moles" => "mol",
        "am" | "a.m" | "a.m." => "am",
        "pm" | "p.m" | "p.m." => "pm",
        "unit" | "units" => "unit",
        "sq" | "square" => "square",
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
    WORDS.contains(&lower.as_str()) || (letters.len() > 1 && unit(letters).is_some())
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
