//! Server-sent events as the document describes them: what one frame of a stream is.
//!
//! OpenAPI 3.1 has no word for streams. It is usual, and known to the tools that read documents, to
//! describe one frame with its fields as members; `data` is text that holds JSON.

use std::borrow::Cow;

use mia_api::{Event, Gap, Problem, ResumePoint};
use serde_json::{Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// A frame of a task's events.
pub(super) struct TaskFrame;

/// A frame of the events of all tasks.
pub(super) struct AnyFrame;

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::String))
}

/// Text that is JSON of that schema.
fn data(content: Value) -> ObjectBuilder {
    // The builder has no member for the schema of a content.
    string()
        .content_media_type("application/json")
        .extensions(Some(Extensions::from_iter([("contentSchema", content)])))
}

fn reference<T: ToSchema>() -> Value {
    json!({ "$ref": Ref::from_schema_name(T::name()).ref_location })
}

/// A frame with those words in its field `event`.
fn named(event: &str, data: ObjectBuilder, description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Object))
        .property("event", string().enum_values(Some([event])))
        .required("event")
        .property("data", data)
        .required("data")
        .description(Some(description))
}

/// A frame without a field `event`, which is the same as one where it is `message`.
fn message(data: ObjectBuilder, description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Object))
        .property("id", Ref::from_schema_name(ResumePoint::name()))
        .property("event", string().enum_values(Some(["message"])))
        .property("data", data)
        .required("data")
        .description(Some(description))
}

impl PartialSchema for TaskFrame {
    fn schema() -> RefOr<Schema> {
        let event = message(
            data(reference::<Event>()),
            "An event. `id` is the place to come back to, as `Last-Event-ID` or `after`.",
        );
        let problem =
            named("problem", data(reference::<Problem>()), "Why the stream ends before its time.");
        let end = named(
            "end",
            string().enum_values(Some([""])),
            "There is nothing to come: the terminal event is not after the place that was asked for.",
        );
        let frame = OneOfBuilder::new().item(event.required("id")).item(problem).item(end);
        frame.description(Some("One frame of the stream of a task's events.")).into()
    }
}

impl PartialSchema for AnyFrame {
    fn schema() -> RefOr<Schema> {
        let either = json!({ "oneOf": [reference::<Event>(), reference::<Gap>()] });
        message(
            data(either),
            "One frame of the stream of all events: an event, with its `id`, or a gap, without.",
        )
        .into()
    }
}

impl ToSchema for TaskFrame {
    fn name() -> Cow<'static, str> {
        "TaskFrame".into()
    }
}

impl ToSchema for AnyFrame {
    fn name() -> Cow<'static, str> {
        "AnyFrame".into()
    }
}
