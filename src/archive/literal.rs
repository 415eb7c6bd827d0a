//! The few Python literals that stand as values in backup.info: `None`, numbers, quoted strings, lists and tuples.

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    None,
    Bool(bool),
    Int(i128),
    Text(String),
    /// A list or a tuple.
    List(Vec<Literal>),
}

/// How deep lists may nest: a list of tuples is what barman writes.
const MAX_DEPTH: usize = 4;
const MAX_ITEMS: usize = 10_000;

/// Reads one literal that must fill the whole text. The error says what was wrong, in words that fit behind "is".
pub(super) fn parse(text: &str) -> Result<Literal, &'static str> {
    let mut parser = Parser { rest: text.trim(), items: 0 };
    let value = parser.value(0)?;
    if parser.rest.trim_start().is_empty() { Ok(value) } else { Err("a value with something behind it") }
}

struct Parser<'a> {
    rest: &'a str,
    items: usize,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<Literal, &'static str> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next() {
            Some(quote @ ('\'' | '"')) => self.text(quote).map(Literal::Text),
            Some('[') => self.list(']', depth),
            Some('(') => self.list(')', depth),
            Some(_) => self.word(),
            None => Err("empty"),
        }
    }

    fn word(&mut self) -> Result<Literal, &'static str> {
        let end = self.rest.find([',', ']', ')', ' ']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "None" => Ok(Literal::None),
            "True" => Ok(Literal::Bool(true)),
            "False" => Ok(Literal::Bool(false)),
            _ => word.parse().map(Literal::Int).map_err(|_| "neither a number nor a quoted text"),
        }
    }

    fn list(&mut self, close: char, depth: usize) -> Result<Literal, &'static str> {
        if depth >= MAX_DEPTH {
            return Err("nested too deep");
        }
        let mut items = Vec::new();
        self.skip_one();
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with(close) {
                self.skip_one();
                return Ok(Literal::List(items));
            }
            self.items += 1;
            if self.items > MAX_ITEMS {
                return Err("a list that is too long");
            }
            items.push(self.value(depth + 1)?);
            self.rest = self.rest.trim_start();
            if self.rest.starts_with(',') {
                self.skip_one();
            } else if !self.rest.starts_with(close) {
                return Err("a list without its end");
            }
        }
    }

    fn text(&mut self, quote: char) -> Result<String, &'static str> {
        let mut out = String::new();
        self.skip_one();
        let mut chars = self.rest.char_indices();
        while let Some((at, letter)) = chars.next() {
            if letter == quote {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return Ok(out);
            }
            if letter != '\\' {
                out.push(letter);
                continue;
            }
            let (_, escape) = chars.next().ok_or("a text without its closing quote")?;
            let mut number = |digits: usize| {
                let mut code = 0_u32;
                for _ in 0..digits {
                    let digit = chars.next().and_then(|(_, digit)| digit.to_digit(16)).ok_or("a text with a broken escape")?;
                    code = code.checked_mul(16).and_then(|code| code.checked_add(digit)).ok_or("a text with a broken escape")?;
                }
                // Python writes bytes that are no UTF-8 as lone surrogates.
                Ok::<char, &'static str>(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            };
            match escape {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                'x' => out.push(number(2)?),
                'u' => out.push(number(4)?),
                'U' => out.push(number(8)?),
                other => out.push(other),
            }
        }
        Err("a text without its closing quote")
    }

    fn skip_one(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }
}
