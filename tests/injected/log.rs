//! What the crate says in its log.

use std::sync::{Mutex, MutexGuard, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Listener(Mutex<Vec<String>>);

/// What the logger does on a warning with some words.
type Act = (&'static str, fn());

/// What it is still to do, once.
static ON_WARNING: Mutex<Option<Act>> = Mutex::new(None);

static LISTENER: Listener = Listener(Mutex::new(Vec::new()));

impl Listener {
    fn warnings(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("bevy_affinity")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            let warning = record.args().to_string();
            let mut on_warning = ON_WARNING.lock().unwrap_or_else(PoisonError::into_inner);
            let acts = on_warning.take_if(|(words, _)| warning.contains(*words));
            drop(on_warning);
            self.warnings().push(warning);
            if let Some((_, act)) = acts {
                act();
            }
        }
    }

    fn flush(&self) {}
}

/// Keeps the crate's warnings from here on. Once in a process.
pub fn listen() {
    log::set_logger(&LISTENER).expect("the first logger of this process");
    log::set_max_level(LevelFilter::Warn);
}

/// The same, and calls `act` in the first warning that has these words in it.
pub fn listen_and_act_on(words: &'static str, act: fn()) {
    *ON_WARNING.lock().unwrap_or_else(PoisonError::into_inner) = Some((words, act));
    listen();
}

/// Fails unless there was one warning since [`listen`], and it has these words in it.
pub fn assert_one_warning(words: &str) {
    let warnings = LISTENER.warnings();
    assert!(matches!(&**warnings, [one] if one.contains(words)), "not once '{words}': {warnings:?}");
}

/// Fails unless just one of the warnings since [`listen`] has these words in it.
pub fn assert_one_warning_of(words: &str) {
    let warnings = LISTENER.warnings();
    let found = warnings.iter().filter(|warning| warning.contains(words)).count();
    assert_eq!(found, 1, "'{words}': {warnings:?}");
}

/// Whether a warning since [`listen`] has these words in it.
pub fn warns_of(words: &str) -> bool {
    LISTENER.warnings().iter().any(|warning| warning.contains(words))
}
