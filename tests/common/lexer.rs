//! Rust source as words, marks and comments: enough to find a keyword without finding it in text.

/// A token and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    pub token: Token<'a>,
    /// Counted from 1.
    pub line: usize,
    /// Bytes from the start.
    pub at: usize,
}

/// Strings, characters, lifetimes and numbers do not matter to anyone here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    Word(&'a str),
    Mark(char),
    Comment(&'a str),
    Other,
}

/// All tokens of a source file, in order.
pub fn pieces(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = if first.is_whitespace() { first.len_utf8() } else { length(rest, first) };
        let text = &rest[..length];
        if !first.is_whitespace() {
            pieces.push(Piece { token: token(text, first), line, at });
        }
        line += text.matches('\n').count();
        at += length;
    }
    pieces
}

fn token(text: &str, first: char) -> Token<'_> {
    if text.starts_with("//") || text.starts_with("/*") {
        Token::Comment(text)
    } else if is_word(first) && !text.ends_with(['"', '#', '\'']) {
        Token::Word(text)
    } else if text.len() == first.len_utf8() {
        Token::Mark(first)
    } else {
        Token::Other
    }
}

/// How many bytes belong to the token at the start of `rest`.
fn length(rest: &str, first: char) -> usize {
    if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        block_comment(rest)
    } else if first == '"' {
        1 + text(&rest[1..], '"')
    } else if first == '\'' {
        character_or_lifetime(rest)
    } else if is_word(first) {
        word_or_prefixed(rest)
    } else {
        first.len_utf8()
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Up to and with the closing quotation mark; a backslash takes the next character with it.
fn text(rest: &str, quote: char) -> usize {
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            return at + 1;
        }
    }
    rest.len()
}

fn character_or_lifetime(rest: &str) -> usize {
    let mut after = rest[1..].chars();
    match (after.next(), after.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => 1 + text(&rest[1..], '\''),
        _ => 1 + rest[1..].find(|character| !is_word(character)).unwrap_or(rest.len() - 1),
    }
}

/// A word, or text that begins with letters: `b".."`, `r#".."#`.
fn word_or_prefixed(rest: &str) -> usize {
    let word = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
    let after = &rest[word..];
    match &rest[..word] {
        "r" | "br" | "cr" if after.starts_with(['"', '#']) => {
            let hashes = after.find(|character| character != '#').unwrap_or(0);
            if !after[hashes..].starts_with('"') {
                return word;
            }
            let end = format!("\"{}", "#".repeat(hashes));
            let body = &after[hashes + 1..];
            word + hashes + 1 + body.find(&end).map_or(body.len(), |at| at + end.len())
        }
        "b" | "c" if after.starts_with('"') => word + 1 + text(&after[1..], '"'),
        "b" if after.starts_with('\'') => word + character_or_lifetime(after),
        _ => word,
    }
}
