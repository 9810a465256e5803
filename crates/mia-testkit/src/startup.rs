//! What a binary that links this crate does before its `main`.

use crate::fakecli;

/// Becomes the supervisor of another run of this binary, or the fake CLI, when started as one.
///
/// It runs once, before `main` and before any thread exists, and uses only `std` facilities that
/// need no runtime; the standard library fills in the arguments in an earlier constructor.
#[ctor::ctor(unsafe)]
fn before_main() {
    mia_host::supervisor::enter_if_asked();
    fakecli::run_if_asked();
}
