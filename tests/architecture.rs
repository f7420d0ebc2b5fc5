//! The floor plan: modules of the crate import only those below them, and no files of the crate, of
//! a bench or of an example import each other in a circle.
//!
//! Two kinds of imports are allowed although they may close a circle. What a file imports from a
//! `mod.rs` above it does not count: that is the face of its folder, which hands on what lies in
//! the folder, and all files in it share what the face defines (see [`arrows`]). And the files of
//! `pool::heartbeat` may know each other: see [`ONE_TYPE`]. The crate's own tests are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "common/lexer.rs"]
#[expect(dead_code, reason = "where a token stands does not matter here")]
mod lexer;

use lexer::{Token, pieces};

/// The modules of the crate, from the ground up: each imports only those before it.
const FLOORS: [&str; 23] = [
    // The system, words, and what is written down.
    "ablation",
    "sync",
    "once",
    "topology",
    "settings",
    "record",
    // Who owns rows, and what they cost.
    "claims",
    "placement",
    "auto",
    // Threads.
    "pool",
    "task_pools",
    "context",
    // Systems, and how their sweeps run.
    "executor",
    "schedule",
    "sweep",
    // What users call.
    "query",
    "scatter",
    "due",
    "fused",
    "tree",
    "transforms",
    // What users see.
    "diagnostics",
    "overlay",
];

/// Files that may know each other: their types are one recursive type. A job is started with a
/// scope, a scope belongs to a session, a session has queues, and queues have jobs.
const ONE_TYPE: &str = "pool::heartbeat::";

/// Where a path leads: a module by its names from the crate's root.
type Module = Vec<String>;

/// A source file as a module.
struct File {
    path: PathBuf,
    /// Paths that begin with `crate`, `super` or `self`, from the crate's root.
    imports: BTreeSet<Module>,
    /// Where the names lead that it hands on: `pub use` of a path below it.
    hands_on: BTreeMap<String, Module>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The modules of the crate whose root file is `main`, but for those that are tests.
fn house(main: &Path) -> BTreeMap<Module, File> {
    let folder = main.parent().expect("a file lies in a folder");
    let mut files = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), Module::new())];
    while let Some((folder, module)) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the sources are here") {
            let path = entry.expect("a folder can be listed").path();
            let name = path.file_stem().expect("an entry has a name").to_string_lossy().into_owned();
            let mut inside = module.clone();
            if path.is_dir() {
                inside.push(name);
                folders.push((path, inside));
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
                if name != "mod" && path != main {
                    inside.push(name);
                }
                files.insert(inside.clone(), read(path, &inside));
            }
        }
    }
    files
}

fn read(path: PathBuf, module: &Module) -> File {
    let source = fs::read_to_string(&path).expect("sources are text");
    // What stands below the tests' own module is a test.
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<_> = pieces(code).into_iter().map(|piece| piece.token).collect();
    let code: Vec<_> = code.into_iter().filter(|token| !matches!(token, Token::Comment(_))).collect();
    let mut file = File { path, imports: BTreeSet::new(), hands_on: BTreeMap::new() };
    let mut at = 0;
    let mut public = false;
    while at < code.len() {
        match code[at] {
            Token::Word("pub") => public = true,
            Token::Mark(';' | '{' | '}') => public = false,
            Token::Word("use") => {
                let mut paths = Vec::new();
                let next = tree(&code, at + 1, &Module::new(), &mut paths);
                for path in paths {
                    note(&mut file, module, &path, public);
                }
                at = next;
                continue;
            }
            // But for who may see something: `pub(in crate::pool)`.
            Token::Word("crate" | "super") if is_path(&code, at) => {
                let mut paths = Vec::new();
                at = tree(&code, at, &Module::new(), &mut paths);
                for path in paths {
                    note(&mut file, module, &path, false);
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    file
}

fn is_path(code: &[Token<'_>], at: usize) -> bool {
    code.get(at + 1) == Some(&Token::Mark(':')) && code.get(at.wrapping_sub(1)) != Some(&Token::Word("in"))
}

/// Adds the paths of a tree of imports that begins at `at` to `paths`; returns where it ends.
fn tree(code: &[Token<'_>], mut at: usize, before: &Module, paths: &mut Vec<Module>) -> usize {
    let mut path = before.clone();
    loop {
        match code.get(at) {
            Some(Token::Word("as")) => at += 2,
            Some(Token::Word(word)) => {
                path.push((*word).to_owned());
                at += 1;
            }
            Some(Token::Mark('*')) => at += 1,
            Some(Token::Mark('{')) => {
                at += 1;
                while code.get(at).is_some_and(|token| *token != Token::Mark('}')) {
                    at = tree(code, at, &path, paths);
                    at += usize::from(code.get(at) == Some(&Token::Mark(',')));
                }
                return at + 1;
            }
            _ => break,
        }
        if code.get(at) != Some(&Token::Mark(':')) || code.get(at + 1) != Some(&Token::Mark(':')) {
            break;
        }
        at += 2;
    }
    paths.push(path);
    at
}

/// Notes what `path`, written in `module`, refers to.
fn note(file: &mut File, module: &Module, path: &Module, public: bool) {
    let mut from = module.clone();
    let mut rest = path.as_slice();
    match rest.first().map(String::as_str) {
        Some("crate") => (from, rest) = (Module::new(), &rest[1..]),
        Some("self") => rest = &rest[1..],
        Some("super") => {
            while rest.first().is_some_and(|word| word == "super") {
                from.pop();
                rest = &rest[1..];
            }
        }
        // A module below this one, or another crate: which, is seen when it is looked up.
        _ => {}
    }
    from.extend(rest.iter().filter(|word| *word != "self").cloned());
    if public && let Some(name) = from.last().cloned() {
        file.hands_on.insert(name, from);
    } else {
        file.imports.insert(from);
    }
}

/// The file that defines what `path` leads to, through those that only hand it on.
fn definer(files: &BTreeMap<Module, File>, path: &Module) -> Option<Module> {
    let (module, name) = (0..=path.len()).rev().find_map(|length| {
        let module = path[..length].to_vec();
        files.contains_key(&module).then(|| (module, path.get(length)))
    })?;
    let handed_on = name.and_then(|name| files[&module].hands_on.get(name));
    match handed_on.filter(|target| *target != path) {
        Some(target) => definer(files, target).filter(|found| !found.is_empty()).or(Some(module)),
        None => Some(module),
    }
}

/// Who imports whom. What the face of a folder (its `mod.rs`) defines is there for all files in the
/// folder: these imports do not count.
fn arrows(files: &BTreeMap<Module, File>) -> BTreeMap<&Module, BTreeSet<Module>> {
    let of = |(module, file): (&Module, &File)| {
        let found = file.imports.iter().filter_map(|path| definer(files, path));
        found.filter(|target| !module.starts_with(target)).collect::<BTreeSet<_>>()
    };
    files.iter().map(|entry| (entry.0, of(entry))).collect()
}

/// A way from `module` back to it.
fn circle(arrows: &BTreeMap<&Module, BTreeSet<Module>>, module: &Module) -> Option<Vec<Module>> {
    let mut ways = vec![vec![module.clone()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for next in arrows.get(&way[way.len() - 1])? {
            let mut longer = way.clone();
            longer.push(next.clone());
            if next == module {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push(longer);
            }
        }
    }
    None
}

fn shown(way: &[Module]) -> String {
    way.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(" -> ")
}

/// The root files of the crate, its benches and its examples.
fn houses() -> Vec<PathBuf> {
    let mains = ["benches", "examples"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(root().join(folder)).expect("it is here");
        entries.map(|entry| entry.expect("a folder can be listed").path().join("main.rs"))
    });
    [root().join("src/lib.rs")].into_iter().chain(mains.filter(|main| main.exists())).collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for main in houses() {
        let files = house(&main);
        let arrows = arrows(&files);
        assert!(
            arrows.values().map(BTreeSet::len).sum::<usize>() > files.len() / 2,
            "imports of {main:?} are not read"
        );
        let circles = files.keys().filter_map(|module| circle(&arrows, module)).map(|way| shown(&way));
        let circles: Vec<_> = circles.filter(|way| !way.split(" -> ").all(|file| file.starts_with(ONE_TYPE))).collect();
        assert!(circles.is_empty(), "circles in {}:\n{}", main.display(), circles.join("\n"));
    }
}

#[test]
fn modules_import_only_those_below_them() {
    let files = house(&root().join("src/lib.rs"));
    let floor = |module: &str| FLOORS.iter().position(|floor| *floor == module);
    let mut upwards = Vec::new();
    for (module, targets) in arrows(&files) {
        let Some(from) = module.first().and_then(|module| floor(module)) else { continue };
        for target in targets.iter().filter(|target| target.first() != module.first()) {
            let name = target.first().map_or("the root", String::as_str);
            if !name.is_empty() && floor(name).is_none_or(|to| to > from) {
                upwards.push(format!("{} imports {name}", files[module].path.display()));
            }
        }
    }
    assert!(upwards.is_empty(), "these imports go up:\n{}", upwards.join("\n"));
    let known: BTreeSet<_> = files.keys().filter_map(|module| module.first()).collect();
    let beside = ["compile_fail", "plugin"];
    let missing: Vec<_> =
        known.into_iter().filter(|name| floor(name).is_none() && !beside.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "on no floor: {missing:?}");
}

#[test]
fn a_circle_is_found() {
    let file = |imports: &[&str]| File {
        path: PathBuf::new(),
        imports: imports.iter().map(|path| path.split("::").map(str::to_owned).collect()).collect(),
        hands_on: BTreeMap::new(),
    };
    let module = |name: &str| vec![name.to_owned()];
    let files = [(module("a"), file(&["b::B"])), (module("b"), file(&["c"])), (module("c"), file(&["a"]))];
    let files = BTreeMap::from(files);
    let way = circle(&arrows(&files), &module("a")).expect("it goes a, b, c, a");
    assert_eq!(shown(&way), "a -> b -> c -> a");
}
