//! Reads and writes messages whose `type` says which struct they are.
//!
//! The type is known before parsing, so no tree is built: the struct is read from the text itself, with
//! `type` skipped and every other unknown field refused.

use std::fmt;

use bytes::Bytes;
use serde::{
    Deserializer, Serialize,
    de::{
        self, DeserializeOwned, DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
    },
};

use crate::frame::Frame;

/// A message with a `type`.
pub trait Message: Serialize {
    /// The value of its `type`.
    const KIND: &'static str;
}

/// Why a text is not the message its type says.
#[derive(Debug, thiserror::Error)]
pub enum BadMessage {
    /// No message of this direction has that type.
    #[error("unknown message type")]
    UnknownKind,
    /// It is no JSON.
    #[error("not JSON")]
    Syntax,
    /// It is JSON with wrong fields.
    #[error("{0}")]
    Fields(String),
}

/// Writes a message.
///
/// A message whose content cannot be JSON would be a bug of this crate; it is written as its bare type, which the
/// other side refuses.
#[must_use]
pub fn write<M: Message>(message: &M) -> Frame {
    let mut text = Vec::with_capacity(128);
    text.extend_from_slice(b"{\"type\":\"");
    text.extend_from_slice(M::KIND.as_bytes());
    text.push(b'"');
    let brace = text.len();
    let written = serde_json::to_writer(&mut text, message);
    match text.get(brace + 1) {
        // The struct's own opening brace becomes the comma after the type.
        Some(b'"') if written.is_ok() => text.splice(brace..=brace, [b',']).for_each(drop),
        Some(_) | None => {
            text.truncate(brace);
            text.push(b'}');
        }
    }
    Frame::Text(Bytes::from(text))
}

/// Reads a struct out of a message, without its `type`.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, BadMessage> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read = T::deserialize(Untagged(&mut reader)).and_then(|read| reader.end().map(|()| read));
    read.map_err(|error| {
        if error.is_data() { BadMessage::Fields(error.to_string()) } else { BadMessage::Syntax }
    })
}

/// A JSON reader whose outermost object hides its `type`.
struct Untagged<'a, R>(&'a mut serde_json::Deserializer<R>);

impl<'de, 'a, R: serde_json::de::Read<'de>> Deserializer<'de> for Untagged<'a, R> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.0.deserialize_map(Hiding(visitor))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Hiding<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Hiding<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Shown { map, has_type: false })
    }
}

struct Shown<A> {
    map: A,
    has_type: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Shown<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if key != "type" {
                let key: de::value::StringDeserializer<A::Error> = key.into_deserializer();
                return seed.deserialize(key).map(Some);
            }
            // Whoever measured the text may have seen another one, since a key can be written in escapes.
            if std::mem::replace(&mut self.has_type, true) {
                return Err(de::Error::duplicate_field("type"));
            }
            self.map.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Declares the messages of one direction.
macro_rules! messages {
    ($(#[$doc:meta])* $name:ident { $($message:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[expect(missing_docs, reason = "each variant is the struct of its name")]
        pub enum $name { $($message($message)),* }

        impl $name {
            /// Reads a message whose type is known.
            ///
            /// # Errors
            /// When there is no such type, or the fields are not its.
            pub fn read(kind: &str, text: &[u8]) -> Result<Self, BadMessage> {
                $(if kind == <$message as Message>::KIND {
                    return tagged::read(text).map(Self::$message);
                })*
                Err(BadMessage::UnknownKind)
            }
        }
    };
}

/// Declares a message: a struct of named fields with a `type`.
macro_rules! message {
    ($(#[$doc:meta])* $kind:literal $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type),* }

        impl $crate::protocol::Message for $name {
            const KIND: &'static str = $kind;
        }
    };
}

pub(super) use {message, messages};
