//! A JSON document that borrows: a request is written from its prompt without a copy of any text.
//!
//! A conversation is sent whole with every step, so a copy of it as values would be the largest cost of
//! a step. Reading JSON is not here.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A JSON value whose texts and inner values are somebody else's.
#[derive(Debug)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(u32),
    Text(Cow<'a, str>),
    Known(Cow<'a, Value>),
    List(Vec<Json<'a>>),
    Object(Fields<'a>),
}

/// The fields of an object, in the order in which they are written.
pub(crate) type Fields<'a> = Vec<(&'a str, Json<'a>)>;

impl<'a> Json<'a> {
    /// Builds an object.
    pub(crate) fn object<const N: usize>(fields: [(&'a str, Json<'a>); N]) -> Self {
        Self::Object(fields.into())
    }

    /// Adds a field to an object; another value takes none.
    pub(crate) fn add(&mut self, name: &'a str, value: impl Into<Json<'a>>) {
        if let Self::Object(fields) = self {
            fields.push((name, value.into()));
        }
    }

    /// Writes the document.
    pub(crate) fn bytes(&self) -> Bytes {
        // Texts, numbers and values always serialise, and memory takes every byte.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Number(value) => to.serialize_u32(*value),
            Self::Text(text) => to.serialize_str(text),
            Self::Known(value) => value.serialize(to),
            Self::List(items) => to.collect_seq(items),
            Self::Object(fields) => {
                to.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Json<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Json<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Json<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Json<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u32> for Json<'_> {
    fn from(value: u32) -> Self {
        Self::Number(value)
    }
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Known(Cow::Borrowed(value))
    }
}

impl<'a> From<Cow<'a, Value>> for Json<'a> {
    fn from(value: Cow<'a, Value>) -> Self {
        Self::Known(value)
    }
}

impl<'a> From<Vec<Json<'a>>> for Json<'a> {
    fn from(items: Vec<Json<'a>>) -> Self {
        Self::List(items)
    }
}
