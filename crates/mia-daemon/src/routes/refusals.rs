//! The refusals that many requests share, as the document describes them.

use std::collections::BTreeMap;

use mia_api::Problem;
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// The name in the document, the status, and what it means.
type Refusal = (&'static str, &'static str, &'static str);

const UNREADABLE: Refusal =
    ("Unreadable", "400", "The body could not be read to its end: `invalid_request`.");
const LATE: Refusal = (
    "Late",
    "408",
    "The body did not come in time, or nothing of it for too long: `invalid_request`.",
);
const TOO_LARGE: Refusal =
    ("TooLarge", "413", "The body is larger than 160 MiB: `invalid_request`.");
const NOT_JSON: Refusal =
    ("NotJson", "415", "The body is not said to be `application/json`: `invalid_request`.");
const INVALID: Refusal = (
    "Invalid",
    "422",
    "The path, the query, a header or the body is not as described here (`invalid_request`), or \
     can't be done as it stands: there is no such plugin or none is installed (`no_plugin`), no such \
     folder (`working_directory`), no conversation to go on with (`no_conversation`). The message \
     says which.",
);
const NOT_NOW: Refusal = (
    "NotNow",
    "503",
    "It can't be done now: the record can't be read or written (`store_locked`, `store_read_only`, \
     …), the daemon is about to stop (`stopping`), or there is no room for the body beside those of \
     other requests (`no_room`).",
);
const DISK_FULL: Refusal =
    ("DiskFull", "507", "No space is left for the record: `store_disk_full`.");

/// All of them, as components of the document.
pub(crate) fn components() -> BTreeMap<String, RefOr<Response>> {
    let all = [UNREADABLE, LATE, TOO_LARGE, NOT_JSON, INVALID, NOT_NOW, DISK_FULL];
    let described =
        all.map(|(name, _, description)| (name.to_owned(), problem(description).into()));
    described.into()
}

/// An answer whose body is a problem.
fn problem(description: &str) -> Response {
    let body = Content::new(Some(Ref::from_schema_name(Problem::name())));
    ResponseBuilder::new().description(description).content("application/json", body).build()
}

macro_rules! group {
    ($(#[$doc:meta])* $name:ident: $($refusal:ident),+) => {
        $(#[$doc])*
        pub(super) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                let refer = |(name, status, _): Refusal| {
                    (status.to_owned(), Ref::from_response_name(name).into())
                };
                [$($refusal),+].map(refer).into()
            }
        }
    };
}

group! {
    /// Of every request: each looks at its path and its query.
    Invalid: INVALID
}

group! {
    /// Of every request with a body.
    BadBody: UNREADABLE, LATE, TOO_LARGE, NOT_JSON, INVALID, NOT_NOW
}

group! {
    /// Of every request that reads or writes the record.
    NoRecord: NOT_NOW, DISK_FULL
}
