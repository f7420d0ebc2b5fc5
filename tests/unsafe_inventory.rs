//! The inventory of `unsafe` in `src/pool/README.md` against the code: every use is listed, each
//! block says why it is sound, and the invariants that it names are written down somewhere.
//!
//! After a change, `BLESS=1 cargo test --test unsafe_inventory` writes the table anew; the
//! difference is for review.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "common/lexer.rs"]
mod lexer;

use lexer::{Piece, Token, pieces};

/// What precedes the table.
const HEADING: &str = "## Every `unsafe` of the crate\n";
const COLUMNS: &str = "| file | item | kind | count | rests on |\n|---|---|---|---|---|\n";

/// One `unsafe` of the code.
#[derive(Debug)]
struct Use {
    line: usize,
    item: String,
    kind: &'static str,
    /// The comments that say why it is sound.
    reason: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All source files with their paths below `src`, in order.
fn sources() -> Vec<(String, String)> {
    let src = root().join("src");
    let mut files = Vec::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the sources are here") {
            let path: PathBuf = entry.expect("a folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&src).expect("it lies below").to_string_lossy().replace('\\', "/");
                files.push((name, fs::read_to_string(&path).expect("sources are text")));
            }
        }
    }
    files.sort();
    files
}

/// The uses of `unsafe` in a file. A block belongs to the function around it, wherever in it that
/// is.
fn uses(source: &str) -> Vec<Use> {
    let pieces = pieces(source);
    let mut functions: Vec<Option<&str>> = Vec::new();
    // A function whose body has not begun, and how many brackets were open then.
    let mut pending: Option<(&str, usize)> = None;
    let mut brackets = 0;
    let mut uses = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        match piece.token {
            Token::Word("fn") => pending = word(&pieces, number + 1).map(|name| (name, brackets)),
            Token::Word("unsafe") => {
                let around = functions.iter().rev().flatten().next().copied();
                uses.extend(describe(source, &pieces, number, around));
            }
            Token::Mark('(' | '[') => brackets += 1,
            Token::Mark(')' | ']') => brackets -= 1,
            Token::Mark('{') => functions.push(pending.take().map(|(name, _)| name)),
            Token::Mark('}') => drop(functions.pop()),
            // A method without a body; a length in the type of an array ends nothing.
            Token::Mark(';') => pending = pending.filter(|&(_, outside)| brackets > outside),
            _ => {}
        }
    }
    uses
}

fn describe(source: &str, pieces: &[Piece], number: usize, around: Option<&str>) -> Option<Use> {
    let (item, kind) = match pieces.get(number + 1)?.token {
        Token::Mark('{') => (around.unwrap_or("-").to_owned(), "block"),
        Token::Word("fn") => (word(pieces, number + 2)?.to_owned(), "fn"),
        Token::Word("trait") => (word(pieces, number + 2)?.to_owned(), "trait"),
        Token::Word("impl") => (header(source, &pieces[number + 2..]), "impl"),
        // Attributes and the types of pointers.
        _ => return None,
    };
    Some(Use { line: pieces[number].line, item, kind, reason: reason(&pieces[..number]) })
}

fn word<'a>(pieces: &[Piece<'a>], number: usize) -> Option<&'a str> {
    match pieces.get(number)?.token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

/// What is implemented for what: the text up to the body or the bounds, without generic parameters.
fn header(source: &str, pieces: &[Piece]) -> String {
    let mut depth = 0_usize;
    let is_generic = matches!(pieces.first().map(|piece| piece.token), Some(Token::Mark('<')));
    let mut text = String::new();
    let end = pieces.iter().position(|piece| matches!(piece.token, Token::Mark('{') | Token::Word("where")));
    for pair in pieces[..=end.unwrap_or(0)].windows(2) {
        let was_outside = depth == 0 && !(is_generic && text.is_empty() && pair[0].token == Token::Mark('<'));
        match pair[0].token {
            Token::Mark('<') if is_generic && (depth > 0 || text.is_empty()) => depth += 1,
            Token::Mark('>') if depth > 0 => depth -= 1,
            _ if was_outside => text.push_str(&source[pair[0].at..pair[1].at]),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The comments between the last statement and here, from `SAFETY:` on.
fn reason(before: &[Piece]) -> String {
    let statement = before.iter().rposition(|piece| matches!(piece.token, Token::Mark(';' | '{' | '}')));
    let own = &before[statement.map_or(0, |end| end + 1)..];
    let comments = own.iter().filter_map(|piece| match piece.token {
        Token::Comment(text) => Some(text.trim_start_matches('/').trim()),
        _ => None,
    });
    let text = comments.collect::<Vec<_>>().join(" ");
    text.split_once("SAFETY:").map_or(String::new(), |(_, reason)| reason.trim().to_owned())
}

/// The names of the invariants that a reason rests on. `above` are those of the reason before.
fn cited(reason: &str, above: &[String]) -> Vec<String> {
    // Names stand between quotation marks, before the type that has them.
    let pieces: Vec<&str> = reason.split('\'').collect();
    let named = pieces.windows(2).skip(1).step_by(2).filter(|pair| pair[1].starts_with(" on ") || pair[1].is_empty());
    let mut names: Vec<String> = named.map(|pair| pair[0].to_owned()).collect();
    if reason.starts_with("as above") || reason.starts_with("as for") {
        names.extend_from_slice(above);
    }
    if reason.contains("caller") {
        names.push("caller".to_owned());
    }
    names
}

/// Item and kind within a file, in the order of the table.
type Key = (String, String, &'static str);

/// How often, and on what it rests.
#[derive(Default)]
struct Row {
    count: usize,
    rests_on: Vec<String>,
}

fn rows(sources: &[(String, String)]) -> BTreeMap<Key, Row> {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for (file, source) in sources {
        let mut above = Vec::new();
        for found in uses(source) {
            let row = rows.entry((file.clone(), found.item.clone(), found.kind)).or_default();
            row.count += 1;
            if found.reason.is_empty() {
                continue;
            }
            above = cited(&found.reason, &above);
            let new = above.iter().filter(|name| !row.rests_on.contains(name));
            let new: Vec<String> = new.cloned().collect();
            row.rests_on.extend(new);
        }
    }
    rows
}

fn table(rows: &BTreeMap<Key, Row>) -> String {
    let mut table = COLUMNS.to_owned();
    for ((file, item, kind), Row { count, rests_on }) in rows {
        let rests_on = match rests_on.join(", ") {
            // Who calls or implements it has to keep what its `# Safety` says.
            _ if *kind == "fn" || *kind == "trait" => "its `# Safety`".to_owned(),
            names if names.is_empty() => "its own comment".to_owned(),
            names => names,
        };
        table.push_str(&format!("| `{file}` | `{item}` | {kind} | {count} | {rests_on} |\n"));
    }
    table
}

#[test]
fn the_inventory_is_the_code() {
    let readme = root().join("src/pool/README.md");
    let text = fs::read_to_string(&readme).expect("the inventory is here");
    let start = text.find(HEADING).expect("it has its heading");
    let start = start + text[start..].find("\n|").expect("and its table") + 1;
    let end = text[start..].find("\n\n").map_or(text.len(), |end| start + end + 1);
    let (listed, expected) = (&text[start..end], table(&rows(&sources())));
    if std::env::var_os("BLESS").is_some() {
        let new = [&text[..start], &expected, &text[end..]].concat();
        fs::write(&readme, new).expect("the inventory can be written");
        return;
    }
    let missing = expected.lines().filter(|row| !listed.contains(row)).collect::<Vec<_>>().join("\n");
    let stale = listed.lines().filter(|row| !expected.contains(row)).collect::<Vec<_>>().join("\n");
    assert!(
        listed == expected,
        "the inventory in {} is not what the code has.\nNot listed:\n{missing}\nNo longer there:\n{stale}\n\
         To update it: BLESS=1 cargo test --test unsafe_inventory, or copy this:\n\n{expected}",
        readme.display(),
    );
}

#[test]
fn every_block_and_impl_says_why_it_is_sound() {
    let mut silent = Vec::new();
    for (file, source) in sources() {
        for found in uses(&source).into_iter().filter(|found| matches!(found.kind, "block" | "impl")) {
            if found.reason.is_empty() {
                silent.push(format!("src/{file}:{}: {} `{}`", found.line, found.kind, found.item));
            }
        }
    }
    assert!(silent.is_empty(), "without a `// SAFETY:` comment before the statement:\n{}", silent.join("\n"));
}

#[test]
fn every_invariant_that_is_cited_is_written_down() {
    let sources = sources();
    for ((file, item, kind), row) in rows(&sources) {
        for name in row.rests_on.iter().filter(|name| *name != "caller") {
            let heading = format!("# Invariant ({name})");
            let is_there = sources.iter().any(|(_, source)| source.contains(&heading));
            assert!(is_there, "src/{file}, {kind} `{item}` cites '{name}', but no type has a `{heading}`");
        }
    }
}

#[test]
fn what_the_scan_sees() {
    let source = r##"
        // An unsafe { comment }.
        const TEXT: &str = "unsafe { text }";
        // SAFETY: 'job' on `Board`: so it is.
        unsafe impl<T: Into<u8>> Send for Board<T> {}
        fn outer<'a>(data: [u8; 4], quote: char) {
            let (_, _) = ('\'', r#"unsafe { "raw" }"#);
            /* unsafe { /* nested */ } */
            // SAFETY: 'frame' on `Job`, and
            // 'job' on the type.
            let found = list.map(|x| unsafe { *x });
            unsafe { silent() };
        }
        pub unsafe trait Promise { unsafe fn keep(&self); }
    "##;
    let found: Vec<_> =
        uses(source).into_iter().map(|found| (found.line, found.kind, found.item, found.reason)).collect();
    let expected = [
        (5, "impl", "Send for Board<T>", "'job' on `Board`: so it is."),
        (11, "block", "outer", "'frame' on `Job`, and 'job' on the type."),
        (12, "block", "outer", ""),
        (14, "trait", "Promise", ""),
        (14, "fn", "keep", ""),
    ];
    let expected = expected.map(|(line, kind, item, reason)| (line, kind, item.to_owned(), reason.to_owned()));
    assert_eq!(found, expected);
    assert_eq!(cited(&found[1].3, &[]), ["frame", "job"]);
    assert_eq!(cited("as above; no other.", &["frame".to_owned()]), ["frame"]);
}
