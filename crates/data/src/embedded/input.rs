//! The arguments of the functions: their names and words, and how values are drawn.

use super::kind::Constant;
use super::value::{Type, Value};
use crate::random::Random;

/// A kind of argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentKind {
    Numbers,
    /// From 1 to about 60.
    Positive,
    /// With several digits.
    Large,
    /// From 1 to 20: something is done that often.
    Few,
    /// From 0 to 12.
    Rounds,
    /// Any integer.
    Whole,
    Text,
    Words,
    Table,
    TwoNumbers,
    TwoLists,
    TwoTables,
}

/// The words for an argument in a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct Naming {
    pub(super) arguments: &'static [&'static str],
    /// The word for its elements: "number", "numbers".
    pub(super) one: &'static str,
    pub(super) many: &'static str,
    /// Its description with `{}` for the name.
    pub(super) phrases: &'static [&'static str],
    /// Whether it holds no negative numbers.
    pub(super) natural: bool,
}

const fn naming(
    arguments: &'static [&'static str],
    one: &'static str,
    many: &'static str,
    phrases: &'static [&'static str],
) -> Naming {
    Naming { arguments, one, many, phrases, natural: true }
}

const INTEGERS: &[&str] = &["a list of integers `{}`", "a list `{}` of integers"];
const NATURALS: &[&str] =
    &["a list of non-negative integers `{}`", "a list `{}` of non-negative integers"];

const fn integers(
    arguments: &'static [&'static str],
    one: &'static str,
    many: &'static str,
) -> Naming {
    Naming { arguments, one, many, phrases: INTEGERS, natural: false }
}

const fn naturals(
    arguments: &'static [&'static str],
    one: &'static str,
    many: &'static str,
) -> Naming {
    naming(arguments, one, many, NATURALS)
}

static NUMBERS: &[Naming] = &[
    integers(&["nums"], "number", "numbers"),
    integers(&["values"], "value", "values"),
    integers(&["data"], "number", "numbers"),
    integers(&["temps"], "temperature", "temperatures"),
    integers(&["moves"], "move", "moves"),
    naturals(&["scores"], "score", "scores"),
    naturals(&["prices"], "price", "prices"),
    naturals(&["counts"], "count", "counts"),
    naturals(&["items"], "item", "items"),
];
static POSITIVE: &[Naming] = &[
    naming(&["n"], "number", "numbers", &["a positive integer `{}`"]),
    naming(&["num"], "number", "numbers", &["a positive integer `{}`"]),
    naming(&["size"], "number", "numbers", &["a positive integer `{}`"]),
];
static ROUNDS: &[Naming] = &[
    naming(&["n"], "number", "numbers", &["a non-negative integer `{}`"]),
    naming(&["rounds"], "number", "numbers", &["a non-negative integer `{}`"]),
];
static WHOLE: &[Naming] = &[
    Naming { natural: false, ..naming(&["n"], "number", "numbers", &["an integer `{}`"]) },
    Naming { natural: false, ..naming(&["num"], "number", "numbers", &["an integer `{}`"]) },
    Naming { natural: false, ..naming(&["temp"], "number", "numbers", &["an integer `{}`"]) },
];
static TEXT: &[Naming] = &[
    naming(&["text"], "character", "characters", &["a string `{}`"]),
    naming(&["s"], "character", "characters", &["a string `{}`"]),
    naming(&["line"], "character", "characters", &["a string `{}`"]),
    naming(&["title"], "character", "characters", &["a string `{}`"]),
];
const STRINGS: &[&str] = &["a list of words `{}`", "a list `{}` of words"];
static WORDS: &[Naming] = &[
    naming(&["words"], "word", "words", STRINGS),
    naming(&["names"], "name", "names", &["a list of names `{}`"]),
    naming(&["tags"], "tag", "tags", &["a list `{}` of tags (strings)"]),
];
static TABLE: &[Naming] = &[
    naming(&["stock"], "value", "values", &["a dictionary `{}` from item names to integers"]),
    naming(&["points"], "value", "values", &["a dictionary `{}` that maps names to integers"]),
    naming(&["votes"], "value", "values", &["a dictionary `{}` from names to integers"]),
];
static TWO_NUMBERS: &[Naming] = &[
    naming(&["p", "q"], "number", "numbers", &["two positive integers `{}` and `{2}`"]),
    naming(&["first", "second"], "number", "numbers", &["positive integers `{}` and `{2}`"]),
];
static TWO_LISTS: &[Naming] = &[
    Naming {
        natural: false,
        ..naming(&["xs", "ys"], "number", "numbers", &["two lists of integers `{}` and `{2}`"])
    },
    Naming {
        natural: false,
        ..naming(&["old", "new"], "number", "numbers", &["two lists of integers, `{}` and `{2}`"])
    },
    Naming {
        natural: false,
        ..naming(
            &["first", "second"],
            "number",
            "numbers",
            &["two lists `{}` and `{2}` of integers"],
        )
    },
];
static TWO_TABLES: &[Naming] = &[
    naming(
        &["old", "new"],
        "value",
        "values",
        &["two dictionaries `{}` and `{2}` from names to integers"],
    ),
    naming(
        &["home", "away"],
        "value",
        "values",
        &["two dictionaries, `{}` and `{2}`, from names to integers"],
    ),
];

/// Words of the texts: short, with repeats of letters, and some that read the same backwards.
const VOCABULARY: &[&str] = &[
    "red", "blue", "green", "moon", "sun", "tree", "apple", "pear", "plum", "cat", "dog", "bird",
    "fish", "level", "noon", "eve", "dad", "book", "door", "key", "rain", "snow", "lake", "sea",
    "bell", "ball", "tea", "egg", "nut", "oak", "ant", "bee", "gold", "iron", "salt", "civic",
];

impl ArgumentKind {
    pub(super) fn to_type(self) -> Type {
        match self {
            Self::Numbers => Type::Ints,
            Self::Positive | Self::Large | Self::Few | Self::Rounds | Self::Whole => Type::Int,
            Self::Text => Type::Text,
            Self::Words => Type::Words,
            Self::Table => Type::Table,
            Self::TwoNumbers => Type::TwoInts,
            Self::TwoLists => Type::TwoLists,
            Self::TwoTables => Type::TwoTables,
        }
    }

    /// The ways to name it.
    pub(super) fn namings(self) -> &'static [Naming] {
        match self {
            Self::Numbers => NUMBERS,
            Self::Positive | Self::Large | Self::Few => POSITIVE,
            Self::Rounds => ROUNDS,
            Self::Whole => WHOLE,
            Self::Text => TEXT,
            Self::Words => WORDS,
            Self::Table => TABLE,
            Self::TwoNumbers => TWO_NUMBERS,
            Self::TwoLists => TWO_LISTS,
            Self::TwoTables => TWO_TABLES,
        }
    }

    /// A value; `edge` asks for an empty or smallest one.
    pub(super) fn draw(
        self,
        natural: bool,
        near: &[i64],
        random: &mut Random,
        edge: bool,
    ) -> Value {
        let length = if edge { random.below(2) } else { 3 + random.below(5) };
        match self {
            Self::Numbers => Value::Ints(numbers(length, natural, near, random)),
            Self::Positive => Value::Int(if edge { 2 } else { random.between(2, 60) }),
            Self::Large => Value::Int(if edge { random.between(1, 9) } else { large(random) }),
            Self::Few => Value::Int(if edge { 1 } else { random.between(2, 20) }),
            Self::Rounds => Value::Int(if edge { 0 } else { random.between(1, 12) }),
            Self::Whole => Value::Int(if edge { 0 } else { one_number(false, near, random) }),
            Self::Text => Value::Text(text(length, random)),
            Self::Words => Value::Words(words(length, random)),
            Self::Table => Value::Table(table(length, near, random)),
            Self::TwoNumbers => {
                let [a, b] = [0; 2].map(|_| Value::Int(random.between(1, 36)));
                Value::Two(Box::new(a), Box::new(b))
            }
            Self::TwoLists => {
                let other = if random.chance(50) { length } else { length.saturating_sub(1) };
                let [a, b] = [length, other]
                    .map(|length| Value::Ints(numbers(length, natural, near, random)));
                Value::Two(Box::new(a), Box::new(b))
            }
            Self::TwoTables => {
                let [a, b] = [0; 2].map(|_| Value::Table(table(length, near, random)));
                Value::Two(Box::new(a), Box::new(b))
            }
        }
    }
}

/// A value for a constant.
pub(super) fn constant(spec: Constant, random: &mut Random) -> i64 {
    match spec {
        Constant::Number(low, high) => random.between(low, high),
        // Letters that the vocabulary uses at the ends of words.
        Constant::Letter => i64::from(*random.pick(b"abdelnrst") - b'a'),
    }
}

/// A number near the constants of the program half of the time: that is where programs differ.
fn one_number(natural: bool, near: &[i64], random: &mut Random) -> i64 {
    if !near.is_empty() && random.chance(40) {
        return *random.pick(near) + random.between(if natural { 0 } else { -1 }, 1);
    }
    if natural { random.between(0, 24) } else { random.between(-12, 24) }
}

fn numbers(length: usize, natural: bool, near: &[i64], random: &mut Random) -> Vec<i64> {
    let mut list: Vec<i64> = Vec::with_capacity(length);
    for at in 0..length {
        // A repeat now and then, and sometimes right after itself.
        let again = at > 0 && random.chance(18);
        let back = if random.chance(50) { 1 } else { 1 + random.below(at.max(1)) };
        list.push(if again { list[at - back.min(at)] } else { one_number(natural, near, random) });
    }
    let order = random.below(12);
    if order == 0 {
        list.sort_unstable();
    } else if order == 1 {
        let half = list.len() / 2;
        for at in 0..half {
            let last = list.len() - 1 - at;
            list[last] = list[at];
        }
    }
    list
}

fn large(random: &mut Random) -> i64 {
    let digits = random.between(2, 5);
    (0..digits).fold(random.between(1, 9), |n, _| n * 10 + random.between(0, 9))
}

fn words(length: usize, random: &mut Random) -> Vec<String> {
    let mut list: Vec<String> = Vec::with_capacity(length);
    for at in 0..length {
        let again = at > 0 && random.chance(25);
        let word = if again {
            list[random.below(at)].clone()
        } else {
            (*random.pick(VOCABULARY)).to_owned()
        };
        list.push(word);
    }
    list
}

fn text(length: usize, random: &mut Random) -> String {
    let list = words(length.min(1 + random.below(3)), random);
    let capital = |word: &String| {
        let mut chars = word.chars();
        chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
    };
    let cased: Vec<String> = list
        .iter()
        .map(|word| if random.chance(40) { capital(word) } else { word.clone() })
        .collect();
    cased.join(" ")
}

fn table(length: usize, near: &[i64], random: &mut Random) -> Vec<(String, i64)> {
    let mut entries: Vec<(String, i64)> = Vec::new();
    for _ in 0..length.min(5) {
        let key = *random.pick(&VOCABULARY[..12]);
        if !entries.iter().any(|(known, _)| known == key) {
            entries.push((key.to_owned(), one_number(true, near, random)));
        }
    }
    entries
}
