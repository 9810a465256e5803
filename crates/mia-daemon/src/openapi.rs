//! The API as an OpenAPI document: what the requests say of themselves, and all types.

use std::sync::OnceLock;

use mia_api::schema;
use utoipa::openapi::header::Header;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{Object, OpenApi, Ref, RefOr, Response, Type};

use crate::routes::{VERSION_HEADER, described, refusals};

/// The name of the header's description.
const VERSION: &str = "MiaVersion";

/// What the requests are about, in the order in which people read of them.
const TAGS: [(&str, &str); 5] = [
    ("tasks", "Prompts: to dispatch, watch and end them, and to answer an agent's questions."),
    ("conversations", "What a person sees as one talk."),
    ("plugins", "The agents that can be asked."),
    ("history", "What was asked, and what it used."),
    ("daemon", "The daemon itself."),
];

const DESCRIPTION: &str = "\
The API of Mia's daemon: HTTP/1.1 over a Unix socket, for processes of the same user.

Every answer to a request, of a status from 400 on, has a `Problem` as its body. What does not become \
a request gets a bare status and nothing more, not even `mia-version`: 400 where it is no HTTP, 414 \
and 431 where its address or its head is too large. A query or a body with a member that is not described here is refused, so that none is \
ignored by mistake; of what Mia sends, more members may come with later versions.";

/// The document of the API, as it is served at `/openapi.json`.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut document = schema::document();
    document.info.description = Some(DESCRIPTION.to_owned());
    document.merge(described().into_openapi());
    let tags =
        TAGS.map(|(name, about)| TagBuilder::new().name(name).description(Some(about)).build());
    document.tags = Some(tags.into());
    let components = document.components.get_or_insert_default();
    components.responses = refusals::components();
    components.responses.values_mut().for_each(with_version);
    components.headers.insert(VERSION.to_owned(), version().into());
    let items = document.paths.paths.values_mut();
    for operation in items.flat_map(operations) {
        operation.responses.responses.values_mut().for_each(with_version);
    }
    document
}

/// The same as the text that is served; made when it is asked for first.
pub(crate) fn text() -> serde_json::Result<&'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    if let Some(text) = TEXT.get() {
        return Ok(text);
    }
    let text = schema::to_text(&openapi())?;
    Ok(TEXT.get_or_init(|| text))
}

fn operations(
    item: &mut utoipa::openapi::PathItem,
) -> impl Iterator<Item = &mut utoipa::openapi::path::Operation> {
    let utoipa::openapi::PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

/// Every answer says which version of Mia it comes from.
fn with_version(response: &mut RefOr<Response>) {
    // One that is referred to is a component, and has it there.
    if let RefOr::T(response) = response {
        let header = Ref::new(format!("#/components/headers/{VERSION}"));
        response.headers.insert(VERSION_HEADER.to_owned(), RefOr::Ref(header));
    }
}

fn version() -> Header {
    let mut header = Header::new(Object::with_type(Type::String));
    header.description = Some("The version of Mia that answers.".to_owned());
    header
}
