//! From a line to what is said to a row: the operation, and its arguments as path, query, header and body.
//!
//! What arguments mean is the row's business: they are put where HTTP has them, and its handler reads them
//! there.

use std::fmt;

use api::routes::{self, Answers, Endpoint, Method, Route};
use bytes::Bytes;
use hyper::{HeaderMap, header::HeaderValue};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use vocab::limits::{
    BODY_INLINE_BYTES_MAX, CONTROL_FIELDS_MAX, CONTROL_ID_BYTES_MAX, PATH_PARAMETER_BYTES_MAX,
};

use crate::{
    mount::{Payload, Words},
    refuse::Refused,
};

/// The id of a request: JSON, as it was given.
#[derive(Debug, Clone)]
pub(super) struct Id(String);

impl Id {
    /// Returns the id of what has none.
    pub(super) fn none() -> Self {
        Self("null".to_owned())
    }

    /// Returns it as JSON.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a line asks for.
#[derive(Debug)]
pub(super) struct Wish {
    /// The row that answers it.
    pub(super) route: &'static Route,
    /// The arguments as they stand in the line; empty when there are none.
    args: Payload,
}

/// Reads a line; a large one beside the runtime's threads.
pub(super) async fn read(line: Payload) -> (Id, Result<Wish, Refused>) {
    if line.len() <= BODY_INLINE_BYTES_MAX {
        return of_line(line);
    }
    let reading = tokio::task::spawn_blocking(move || of_line(line));
    // Only a panic ends it otherwise, and the hook has told that.
    reading.await.unwrap_or_else(|_| (Id::none(), Err(Refused::internal())))
}

fn of_line(line: Payload) -> (Id, Result<Wish, Refused>) {
    let bytes = line.bytes().clone();
    let mut fields = match Fields::read(&bytes) {
        Ok(fields) => fields,
        Err(why) => {
            let text = format!("the line is no request: {why}");
            let refused = Refused::new("malformed_request", text)
                .with_hint(r#"a line is {"id": …, "op": "…", "args": {…}}"#);
            return (Id::none(), Err(refused));
        }
    };
    let id = match fields.take("id").map(RawValue::get) {
        None => Id::none(),
        Some(text) if text.len() <= CONTROL_ID_BYTES_MAX => Id(text.to_owned()),
        Some(text) => {
            let why = format!("id has {} bytes, and at most {CONTROL_ID_BYTES_MAX}", text.len());
            return (Id::none(), Err(invalid("id", why)));
        }
    };
    (id, wish(fields, &bytes).map(|(route, args)| Wish { route, args: line.with(args) }))
}

fn wish(mut fields: Fields<'_>, line: &Bytes) -> Result<(&'static Route, Bytes), Refused> {
    let op = fields.take("op").ok_or_else(|| invalid("op", "op: missing field"))?;
    let op: String = serde_json::from_str(op.get()).map_err(|_bad| invalid("op", "op: no text"))?;
    let args = fields.take("args").map(RawValue::get);
    if let Some((name, _)) = fields.0.first() {
        let text = format!("{name}: unknown field, expected `id`, `op` or `args`");
        return Err(Refused::new("unknown_field", text).at(name.clone()));
    }
    let endpoint = Endpoint::named(&op).ok_or_else(|| {
        let shown: String = op.chars().take(80).collect();
        Refused::new("unknown_op", format!("there is no operation {shown:?}")).at("op")
    })?;
    let args = match args {
        None | Some("null") => Bytes::new(),
        Some(text) if text.starts_with('{') => line.slice_ref(text.as_bytes()),
        Some(_) => return Err(invalid("args", "args: not a JSON object")),
    };
    Ok((endpoint.route(), args))
}

impl Wish {
    /// Puts the arguments where the row's handler looks for them.
    ///
    /// # Errors
    /// When one of them cannot be put there.
    pub(super) fn words(self) -> Result<Words, Refused> {
        let Self { route, args } = self;
        let named = name_in(route.path);
        if named.is_none() && route.method == Method::Post {
            // Nothing is taken out of them, and they may be long.
            return Ok(Words { body: args, ..Words::default() });
        }
        let bytes = args.bytes().clone();
        let mut fields = match &bytes[..] {
            [] => Fields::default(),
            text => Fields::read(text).map_err(|why| invalid("args", format!("args: {why}")))?,
        };
        let parameter = match named {
            Some(name) => parameter(&mut fields, name)?,
            None => String::new(),
        };
        let mut words = Words { parameter, ..Words::default() };
        match route.method {
            Method::Post => words.body = args.with(fields.object().into()),
            Method::Get | Method::Delete => {
                if route.answers == Answers::Events
                    && let Some(after) = fields.take("after")
                {
                    words.headers = standing(after)?;
                }
                words.query = fields.query()?;
            }
        }
        Ok(words)
    }
}

/// Returns the name of a path's parameter.
fn name_in(path: &str) -> Option<&str> {
    path.split_once('{')?.1.split_once('}').map(|(name, _)| name)
}

/// Takes the value of a path's parameter out: `id`, or by its name in the path.
fn parameter(fields: &mut Fields<'_>, name: &str) -> Result<String, Refused> {
    let (id, by_name) = (fields.take("id"), fields.take(name));
    let (field, value) = match (id, by_name) {
        (Some(value), None) => ("id", value),
        (None, Some(value)) => (name, value),
        (None, None) => return Err(invalid("id", "id: missing field")),
        (Some(_), Some(_)) => {
            return Err(invalid(name, format!("id and {name} are the same: give one of them")));
        }
    };
    let text: String = serde_json::from_str(value.get())
        .map_err(|_bad| invalid(field, format!("{field}: no text")))?;
    if text.is_empty() || PATH_PARAMETER_BYTES_MAX < text.len() || text.contains('\0') {
        let why = format!("{field} has 1 to {PATH_PARAMETER_BYTES_MAX} bytes, and no NUL");
        return Err(invalid(field, why));
    }
    Ok(text)
}

/// Puts the place where a reader stands into the header that HTTP has for it.
fn standing(after: &RawValue) -> Result<HeaderMap, Refused> {
    let mut headers = HeaderMap::new();
    if after.get() != "null" {
        let text: Option<String> = serde_json::from_str(after.get()).ok();
        let value = text.and_then(|text| HeaderValue::from_str(&text).ok());
        let value = value.ok_or_else(|| invalid("after", "after: no cursor"))?;
        headers.insert("last-event-id", value);
    }
    Ok(headers)
}

fn invalid(field: &str, why: impl Into<String>) -> Refused {
    Refused::new("invalid_field", why).at(field)
}

/// The fields of an object, each as it stands there, and each once.
#[derive(Debug, Default)]
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    fn read(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }

    fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Writes them as an object.
    fn object(&self) -> Vec<u8> {
        let mut text = String::from("{");
        for (idx, (name, value)) in self.0.iter().enumerate() {
            let comma = if idx == 0 { "" } else { "," };
            text += &format!("{comma}{}:{}", serde_json::Value::from(name.as_str()), value.get());
        }
        text.push('}');
        text.into_bytes()
    }

    /// Writes them as a query. What is null is not there.
    fn query(&self) -> Result<String, Refused> {
        let mut pairs = Vec::with_capacity(self.0.len());
        for (name, value) in &self.0 {
            let value = value.get();
            let text = match value.as_bytes().first() {
                Some(b'n') => continue,
                Some(b'"') => serde_json::from_str(value).ok(),
                Some(b'{' | b'[') | None => None,
                Some(_) => Some(value.to_owned()),
            };
            let text =
                text.ok_or_else(|| invalid(name, format!("{name}: no text, number or truth")))?;
            pairs.push(format!("{}={}", routes::encode(name), routes::encode(&text)));
        }
        Ok(pairs.join("&"))
    }
}

/// Reads an object's fields.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Self::Value::new();
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            if fields.len() == CONTROL_FIELDS_MAX {
                return Err(A::Error::custom("too many fields"));
            }
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom("a field is given twice"));
            }
            fields.push((name, value));
        }
        Ok(fields)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader).map(Self)
    }
}
