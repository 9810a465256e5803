//! A program that is a supervisor and nothing else, for the tests.

fn main() {
    mia_host::supervisor::enter_if_asked();
}
