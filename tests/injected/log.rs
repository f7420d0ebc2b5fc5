//! What the crate says in its log.

use std::sync::{Mutex, MutexGuard, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Listener(Mutex<Vec<String>>);

/// A logger that panics on warnings with these words, once.
static PANICS_ON: Mutex<Option<&str>> = Mutex::new(None);

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
            let panics =
                PANICS_ON.lock().unwrap_or_else(PoisonError::into_inner).take_if(|words| warning.contains(*words));
            self.warnings().push(warning);
            assert!(panics.is_none(), "the logger panics");
        }
    }

    fn flush(&self) {}
}

/// Keeps the crate's warnings from here on. Once in a process.
pub fn listen() {
    log::set_logger(&LISTENER).expect("the first logger of this process");
    log::set_max_level(LevelFilter::Warn);
}

/// The same, and panics on the first warning that has these words in it.
pub fn listen_and_panic_on(words: &'static str) {
    *PANICS_ON.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
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
