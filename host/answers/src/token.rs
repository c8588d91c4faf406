//! What an answer is written with.

use crate::number::Number;
use crate::term::Function;

/// One piece of notation. LaTeX and plain text become the same pieces.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A numeral.
    Number(Number),
    /// A letter that stands for a number, or a Greek letter by its name.
    Name(String),
    /// A word of plain text.
    Word(String),
    /// A function by its name.
    Function(Function),
    /// A LaTeX command that takes arguments, without its backslash.
    Command(String),
    /// Everything else, one character for all ways to write it: see [`sign_of`].
    Sign(char),
}

/// Opens a set; `{` only groups.
pub const OPEN_SET: char = '⦃';
/// Closes a set.
pub const CLOSE_SET: char = '⦄';
/// Ends a row of a matrix.
pub const NEW_ROW: char = '⏎';
/// Leads from one step of a derivation to the next.
pub const IMPLIES: char = '⇒';

impl Token {
    /// Whether it is this sign.
    pub fn is(&self, sign: char) -> bool {
        *self == Token::Sign(sign)
    }

    /// Whether it is this word.
    pub fn says(&self, word: &str) -> bool {
        matches!(self, Token::Word(text) if text.eq_ignore_ascii_case(word))
    }
}

/// The sign that a LaTeX command stands for.
pub fn sign_of(command: &str) -> Option<char> {
    Some(match command {
        "times" | "cdot" | "ast" | "bullet" => '*',
        "div" => '/',
        "pm" => '±',
        "mp" => '∓',
        "infty" | "infin" => '∞',
        "le" | "leq" | "leqslant" | "leqq" => '≤',
        "ge" | "geq" | "geqslant" | "geqq" => '≥',
        "lt" => '<',
        "gt" => '>',
        "ne" | "neq" => '≠',
        "approx" | "simeq" | "sim" | "thickapprox" => '≈',
        "equiv" => '≡',
        "in" => '∈',
        "notin" => '∉',
        "subset" | "subseteq" => '⊂',
        "cup" | "bigcup" => '∪',
        "cap" | "bigcap" => '∩',
        "setminus" | "backslash" | "smallsetminus" => '∖',
        "emptyset" | "varnothing" => '∅',
        "{" | "lbrace" => OPEN_SET,
        "}" | "rbrace" => CLOSE_SET,
        "langle" => '⟨',
        "rangle" => '⟩',
        "lfloor" => '⌊',
        "rfloor" => '⌋',
        "lceil" => '⌈',
        "rceil" => '⌉',
        "lbrack" => '[',
        "rbrack" => ']',
        "lparen" => '(',
        "rparen" => ')',
        "mid" | "vert" | "lvert" | "rvert" => '|',
        "colon" => ':',
        "|" | "Vert" | "lVert" | "rVert" => '‖',
        "implies" | "Rightarrow" | "Longrightarrow" | "therefore" => IMPLIES,
        "iff" | "Leftrightarrow" | "Longleftrightarrow" => '⇔',
        "to" | "rightarrow" | "longrightarrow" | "mapsto" => '→',
        "ldots" | "cdots" | "dots" | "dotsc" | "dotsb" => '…',
        "circ" | "degree" => '°',
        "prime" => '\'',
        "%" => '%',
        "$" => '$',
        "euro" => '€',
        "pounds" => '£',
        "yen" => '¥',
        "\\" | "cr" => NEW_ROW,
        "&" => '&',
        "#" => '#',
        "_" => '_',
        "lor" | "vee" => '∨',
        "land" | "wedge" => '∧',
        "R" => 'ℝ',
        "Z" => 'ℤ',
        "N" => 'ℕ',
        "Q" => 'ℚ',
        "C" => 'ℂ',
        _ => return None,
    })
}

/// The sign that a character of plain text stands for.
pub fn plain_sign(character: char) -> Option<char> {
    Some(match character {
        '−' | '–' | '‐' | '‑' | '﹣' | '-' => '-',
        '×' | '·' | '⋅' | '∙' | '∗' | '•' | '*' => '*',
        '÷' | '∕' | '⁄' | '/' => '/',
        '⩽' | '≤' | '≦' => '≤',
        '⩾' | '≥' | '≧' => '≥',
        '≃' | '∼' | '≈' => '≈',
        '⟹' | '⟶' | '⇒' => IMPLIES,
        '∶' | ':' => ':',
        '∣' | '|' => '|',
        '′' | '’' | '\'' => '\'',
        '，' | ',' => ',',
        '；' | ';' => ';',
        '（' | '(' => '(',
        '）' | ')' => ')',
        '【' | '[' => '[',
        '】' | ']' => ']',
        'º' | '˚' | '°' => '°',
        '％' | '%' => '%',
        '+' | '=' | '<' | '>' | '^' | '_' | '!' | '{' | '}' | '&' | '∞' | '≠' | '±' | '∓' | '∈'
        | '∉' | '⊂' | '∪' | '∩' | '∖' | '∅' | '⟨' | '⟩' | '⌊' | '⌋' | '⌈' | '⌉' | '‖' | '⇔'
        | '→' | '…' | '€' | '£' | '¥' | '#' | 'ℝ' | 'ℤ' | 'ℕ' | 'ℚ' | 'ℂ' | '∧' | '∨' | '≡'
        | '?' | '"' | '@' | '~' | '.' => character,
        _ => return None,
    })
}
