//! Reading what may be long without holding what is not needed: of a conversation only its last
//! message, of a list no more than is taken.
//!
//! What the last message may be is its reader's to say.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use crate::secret::Key;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use vocab::{limits::REQUEST_KEYS_MAX, message::Role};

/// A conversation as a client sends it: read through once, and only the last message kept, as it
/// stands in the body.
#[derive(Debug, Clone, Copy, Default)]
pub struct History<'a> {
    /// How many messages there are.
    pub count: usize,
    /// The last one.
    pub last: Option<&'a RawValue>,
    /// The first before it that is not the user's or the assistant's.
    pub odd: Option<usize>,
}

/// All that is looked at of a message that is not the last.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "role")]
    _role: Role,
}

impl<'de: 'a, 'a> Deserialize<'de> for History<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Messages(PhantomData))
    }
}

struct Messages<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for Messages<'a> {
    type Value = History<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut messages: A) -> Result<History<'a>, A::Error> {
        let mut history = History::default();
        while let Some(message) = messages.next_element::<&'de RawValue>()? {
            if let Some(before) = history.last.replace(message)
                && history.odd.is_none()
                && serde_json::from_str::<Head>(before.get()).is_err()
            {
                history.odd = Some(history.count - 1);
            }
            history.count += 1;
        }
        Ok(history)
    }
}

/// A list of at most `MAX` entries; a longer one is refused before the rest is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Few<T, const MAX: usize>(pub Vec<T>);

impl<T, const MAX: usize> Default for Few<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Entries(PhantomData))
    }
}

struct Entries<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Entries<T, MAX> {
    type Value = Few<T, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut few = Vec::new();
        while few.len() < MAX {
            let Some(entry) = entries.next_element()? else { return Ok(Few(few)) };
            few.push(entry);
        }
        // Reading one as nothing tells whether there is one.
        match entries.next_element::<serde::de::IgnoredAny>()? {
            None => Ok(Few(few)),
            Some(_) => Err(A::Error::custom(format!("a list of at most {MAX} entries is taken"))),
        }
    }
}

/// Reads keys by provider, not more than a request may bring.
pub(crate) fn keys<'de, D>(deserializer: D) -> Result<BTreeMap<String, Key>, D::Error>
where
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(Keys)
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = BTreeMap<String, Key>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys by provider")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut keys = BTreeMap::new();
        while let Some((name, key)) = map.next_entry()? {
            if keys.len() == REQUEST_KEYS_MAX {
                let text = format!("at most {REQUEST_KEYS_MAX} keys are taken");
                return Err(A::Error::custom(text));
            }
            keys.insert(name, key);
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_conversation_the_last_message_is_kept() {
        let check = |text: &str, count: usize, last: Option<&str>, odd: Option<usize>| {
            let history: History<'_> = serde_json::from_str(text).unwrap();
            let kept = history.last.map(RawValue::get);
            assert_eq!((history.count, kept, history.odd), (count, last, odd), "{text}");
        };
        check("[]", 0, None, None);
        check("[1]", 1, Some("1"), None);
        check(r#"[{"role":"user","x":[1]}, {"a":0}]"#, 2, Some(r#"{"a":0}"#), None);
        check(r#"[{"role":"user"}, {"role":"king"}, {}, {}]"#, 4, Some("{}"), Some(1));
        assert!(serde_json::from_str::<History<'_>>("{}").is_err());
    }

    #[test]
    fn a_long_list_is_refused_before_it_is_read() {
        assert_eq!(serde_json::from_str::<Few<u8, 2>>("[1,2]").unwrap().0, [1, 2]);
        // The third entry is no number, and the fourth no JSON: neither is looked at as such.
        let refused = serde_json::from_str::<Few<u8, 2>>("[1,2,{},?]").unwrap_err().to_string();
        assert!(refused.contains("at most 2 entries"), "{refused}");
    }
}
