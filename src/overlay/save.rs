//! 'Save trace'.

#[derive(Debug, Default)]
pub(super) struct Saved;
