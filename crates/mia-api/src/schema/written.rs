//! The schemas of what is (de)serialised by hand.

use std::borrow::Cow;

use utoipa::openapi::schema::{
    AllOfBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{KnownFormat, Ref, RefOr, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use crate::{ConversationId, Event, EventBody, Gap, OsText, ResumePoint, TaskId};

/// What an id looks like; its length is said beside it.
const ID: &str = "^[A-Za-z0-9][A-Za-z0-9._:@+-]*$";
/// Base64 with padding, and nothing in the bits that the last digit has too many.
const BASE64: &str =
    "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?$";
/// One digit less than the largest number has, so that all that fits is a number. No task comes
/// that far.
const RESUME_POINT: &str = "^[0-9]{1,19}(?::[0-9]{1,19})?$";

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::String))
}

fn object() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::Object))
}

/// A count that is never negative.
fn count(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Integer))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::UInt64)))
        .minimum(Some(0))
        .description(Some(description))
}

fn id(description: &str) -> RefOr<Schema> {
    let id = string().pattern(Some(ID)).min_length(Some(1)).max_length(Some(128));
    id.description(Some(description)).into()
}

impl PartialSchema for TaskId {
    fn schema() -> RefOr<Schema> {
        id("One prompt of one conversation, from acceptance to its terminal event. A client may \
            choose it; it is then an idempotency key.")
    }
}

impl PartialSchema for ConversationId {
    fn schema() -> RefOr<Schema> {
        id("What a person sees as one talk. A caller may choose its name.")
    }
}

impl PartialSchema for ResumePoint {
    fn schema() -> RefOr<Schema> {
        let point = string().pattern(Some(RESUME_POINT));
        point
            .description(Some(
                "How far a client has come in a task's events: `SEQ` of the last event it has, and \
                 after text `SEQ:OFFSET`, the offset being the event's own plus the text's bytes. 0 \
                 is the beginning.",
            ))
            .into()
    }
}

impl PartialSchema for OsText {
    fn schema() -> RefOr<Schema> {
        let bytes = string().content_encoding("base64").pattern(Some(BASE64));
        let other = object().property("base64", bytes).required("base64");
        let either = OneOfBuilder::new().item(string()).item(other);
        either
            .description(Some(
                "A path or a variable of the system: a string where it is UTF-8, else its bytes.",
            ))
            .into()
    }
}

impl PartialSchema for Gap {
    fn schema() -> RefOr<Schema> {
        let missed = count("How many are missing. Each task's own events are still to be had.");
        let gap = object()
            .property("type", string().enum_values(Some(["gap"])))
            .required("type")
            .property("missed", missed)
            .required("missed");
        gap.description(Some(
            "A place in the stream of all events where some are missing: its reader was too slow.",
        ))
        .into()
    }
}

impl PartialSchema for Event {
    fn schema() -> RefOr<Schema> {
        let offset = count(
            "For `token` and `thought`: how many bytes of that kind the attempt had said before.",
        );
        let header = object()
            .property("task_id", Ref::from_schema_name(TaskId::name()))
            .required("task_id")
            .property(
                "seq",
                count("Counted from 1, growing by one within the task.").minimum(Some(1)),
            )
            .required("seq")
            .property("offset", offset);
        // A union beside an object, not one object for each kind: what a program decides by stays
        // the one member `type`, and the kinds are written once.
        let event = AllOfBuilder::new().item(Ref::from_schema_name(EventBody::name())).item(header);
        event
            .description(Some(
                "One event of a task: the members of its kind, and these. The last is `complete` or \
                 `error`. Neighbouring texts of one kind may be joined; the text is the same.",
            ))
            .into()
    }
}

/// Named as in Rust, with the schemas it refers to.
macro_rules! named {
    ($name:ident $(, $part:ident)*) => {
        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                let _: &mut Vec<_> = schemas;
                $(
                    schemas.push(($part::name().into_owned(), $part::schema()));
                    $part::schemas(schemas);
                )*
            }
        }
    };
}

named!(TaskId);
named!(ConversationId);
named!(ResumePoint);
named!(OsText);
named!(Gap);
named!(Event, TaskId, EventBody);
