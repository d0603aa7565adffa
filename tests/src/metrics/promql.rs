//! Metrics of a PromQL expression, and the labels by which it selects: a small tokenizer, and the
//! few rules that distinguish names of metrics from other words.

use std::collections::BTreeSet;

/// A metric in an expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// Name as written.
    pub name: String,
    /// Labels that the expression selects by.
    pub labels: BTreeSet<String>,
}

/// Keywords that are followed by a list of labels.
const LISTS: &[&str] = &["by", "without", "on", "ignoring", "group_left", "group_right"];
/// Aggregations. A list of labels may follow the name of one, before its argument.
const AGGREGATIONS: &[&str] = &[
    "sum",
    "min",
    "max",
    "avg",
    "group",
    "stddev",
    "stdvar",
    "count",
    "count_values",
    "bottomk",
    "topk",
    "quantile",
];
const WORDS: &[&str] = &["and", "or", "unless", "bool", "offset", "inf", "nan"];

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text,
    Number,
    Sign(char),
}

/// Returns the metrics that `expression` uses.
///
/// # Errors
/// Fails if the expression cannot be parsed.
pub fn uses(expression: &str) -> Result<BTreeSet<Use>, String> {
    let tokens = tokens(expression).map_err(|why| format!("{why}: {expression}"))?;
    let mut found = BTreeSet::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let Token::Word(word) = token else {
            match token {
                Token::Sign('{') => {
                    return Err(format!("a selector without a name: {expression}"));
                }
                Token::Sign('[') => at = behind(&tokens, at, ']')?,
                _ => {}
            }
            continue;
        };
        let next = tokens.get(at);
        if LISTS.contains(&word.as_str()) {
            if next == Some(&Token::Sign('(')) {
                at = behind(&tokens, at + 1, ')')?;
            }
        } else if next == Some(&Token::Sign('(')) || is_known(word) {
            // A function, an aggregation, or an operator.
        } else {
            let mut labels = BTreeSet::new();
            if next == Some(&Token::Sign('{')) {
                let end = behind(&tokens, at + 1, '}')?;
                labels.extend(tokens[at..end].iter().filter_map(|token| match token {
                    Token::Word(label) => Some(label.clone()),
                    _ => None,
                }));
                at = end;
            }
            found.insert(Use { name: word.clone(), labels });
        }
    }
    if found.is_empty() { Err(format!("no metric in {expression}")) } else { Ok(found) }
}

fn is_known(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    AGGREGATIONS.contains(&word.as_str()) || WORDS.contains(&word.as_str())
}

/// Returns the position after the next `sign`.
fn behind(tokens: &[Token], from: usize, sign: char) -> Result<usize, String> {
    let rest = tokens.get(from..).unwrap_or_default();
    let found = rest.iter().position(|token| *token == Token::Sign(sign));
    found.map(|place| from + place + 1).ok_or_else(|| format!("missing {sign}"))
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(c) = rest.chars().next() {
        let long = if c.is_whitespace() {
            c.len_utf8()
        } else if matches!(c, '"' | '\'') {
            found.push(Token::Text);
            end_of_text(rest, c)?
        } else if c.is_ascii_digit() {
            // A number or a duration.
            found.push(Token::Number);
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len())
        } else if c.is_ascii_alphabetic() || matches!(c, '_' | ':' | '$') {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '$');
            let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
            found.push(Token::Word(rest[..end].to_owned()));
            end
        } else if "(){}[],+-*/%^=!~<>@.".contains(c) {
            found.push(Token::Sign(c));
            1
        } else {
            return Err(format!("unexpected {c:?}"));
        };
        rest = &rest[long..];
    }
    Ok(found)
}

fn end_of_text(text: &str, quote: char) -> Result<usize, String> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Ok(at + 1),
            _ => {}
        }
    }
    Err("an unterminated string".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(expression: &str) -> Vec<String> {
        uses(expression).unwrap().into_iter().map(|used| used.name).collect()
    }

    #[test]
    fn names_are_told_from_all_other_words() {
        for (expression, wanted) in [
            ("up", &["up"][..]),
            (
                "sum by (agent, le) (rate(a_total{agent=~\"$agent\"}[$__rate_interval]))",
                &["a_total"],
            ),
            ("sum(rate(a_total[5m])) by (agent) / ignoring(x) group_left(y) b", &["a_total", "b"]),
            ("histogram_quantile(0.95, sum by (le) (rate(h_bucket[1m])))", &["h_bucket"]),
            ("topk(5, max_over_time(a{b=\"c{d}\\\"e\"}[1h:1m] offset 5m)) > bool 1e3", &["a"]),
            ("a and on (x) b unless c or vector(0)", &["a", "b", "c"]),
            ("clamp_min(a, 1) ^ -2 * inf", &["a"]),
        ] {
            assert_eq!(names(expression), wanted, "{expression}");
        }
    }

    #[test]
    fn labels_are_those_of_the_selector() {
        let used = uses("sum by (x) (a{b=\"c\", d=~\"$e\"})").unwrap();
        let used: Vec<&Use> = used.iter().collect();
        assert_eq!(used[0].labels.iter().collect::<Vec<_>>(), ["b", "d"]);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for wrong in
            ["", "1 + 2", "{__name__=\"a\"}", "a{b=\"c\"", "a[5m", "\"a", "a ; b", "sum by (a"]
        {
            assert!(uses(wrong).is_err(), "{wrong:?}");
        }
    }
}
