//! The fake CLI as a program of its own, for benchmarks and for people.

fn main() {
    mia_testkit::fakecli::main();
}
