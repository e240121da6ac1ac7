//! The JSON body of a request.

use std::{fmt, marker::PhantomData, time::Duration};

use axum::{
    Json,
    extract::{FromRequest, Request, rejection::JsonRejection},
};
use http::StatusCode;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{Failure, access::Person};

/// The deadline for the body to arrive.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest part of a parser's message that is shown.
const MESSAGE_CHARS: usize = 300;

/// A body of the shape `T`. A body of another shape becomes a [`Failure`].
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let person = request.extensions().get::<Person>().cloned();
        let read = Self::read(request, state).await;
        // A body may take seconds, and the session may be taken back meanwhile.
        if person.is_some_and(|person| person.ended.is_cancelled()) {
            return Err(Failure::NotSignedIn);
        }
        read
    }
}

impl<T: DeserializeOwned> Body<T> {
    async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Self, Failure> {
        match tokio::time::timeout(TIMEOUT, Json::<Object<T>>::from_request(request, state)).await {
            Ok(Ok(Json(Object(it)))) => Ok(Self(it)),
            Ok(Err(rejection)) => Err(failure(&rejection)),
            Err(_) => Err(Failure::TooSlow),
        }
    }
}

/// A JSON object of the shape `T`. Serde's own structs also accept an array of their fields in order.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

fn failure(rejection: &JsonRejection) -> Failure {
    let problem = || rejection.body_text().chars().take(MESSAGE_CHARS).collect();
    match rejection {
        JsonRejection::JsonSyntaxError(_) => Failure::Syntax(problem()),
        JsonRejection::JsonDataError(_) => Failure::Shape(problem()),
        JsonRejection::MissingJsonContentType(_) => Failure::NotJson,
        rejection if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => Failure::TooLarge,
        _ => Failure::Syntax(problem()),
    }
}
