//! What the compiler says where this crate is used wrongly: each message says what to do instead.
//!
//! `TRYBUILD=overwrite cargo test --test messages` writes down what it says now.

#[test]
fn messages_say_what_to_do() {
    // Other compilers lay messages out in other ways.
    if !cfg!(affinity_sanitize) {
        trybuild::TestCases::new().compile_fail("tests/messages/*.rs");
    }
}
