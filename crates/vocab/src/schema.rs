//! The subset of JSON Schema our tools' arguments need: coercion, validation with paths, and JSON out.
//!
//! Unknown properties are dropped, as models add some and nobody may take them for what will happen.
//! Schemas of strangers are not for this module.

use serde_json::{Map, Value, json};

/// A schema. The JSON form is canonical: `serde_json` sorts the keys of objects.
#[derive(Debug, Clone)]
pub enum Schema {
    /// A text.
    Text {
        /// What models read.
        description: &'static str,
    },
    /// An integer within bounds.
    Integer {
        /// What models read.
        description: &'static str,
        /// The smallest value allowed.
        minimum: i64,
        /// The largest value allowed.
        maximum: i64,
    },
    /// A finite number within bounds.
    Number {
        /// What models read.
        description: &'static str,
        /// The smallest value allowed.
        minimum: f64,
        /// The largest value allowed.
        maximum: f64,
    },
    /// True or false.
    Flag {
        /// What models read.
        description: &'static str,
    },
    /// A list with a bounded number of items.
    List {
        /// What models read.
        description: &'static str,
        /// What each item is.
        items: Box<Schema>,
        /// The fewest items allowed.
        items_min: usize,
        /// The most items allowed.
        items_max: usize,
    },
    /// An object with named properties.
    Object(Vec<Property>),
}

/// A property of an object.
#[derive(Debug, Clone)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub schema: Schema,
    /// Whether it must be there.
    pub required: bool,
}

impl Property {
    /// Builds a property that must be there.
    #[must_use]
    pub fn required(name: &'static str, schema: Schema) -> Self {
        Self { name, schema, required: true }
    }

    /// Builds a property that may be absent or null.
    #[must_use]
    pub fn optional(name: &'static str, schema: Schema) -> Self {
        Self { name, schema, required: false }
    }
}

/// One thing wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: `edits[2].oldText`; empty for the whole value.
    pub path: String,
    /// What.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.is_empty() { "arguments" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

impl Schema {
    /// Returns the JSON Schema form.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text { description } => json!({"type": "string", "description": description}),
            Self::Flag { description } => json!({"type": "boolean", "description": description}),
            Self::Integer { description, minimum, maximum } => json!({
                "type": "integer", "description": description, "minimum": minimum, "maximum": maximum
            }),
            Self::Number { description, minimum, maximum } => json!({
                "type": "number", "description": description, "minimum": minimum, "maximum": maximum
            }),
            Self::List { description, items, items_min, items_max } => json!({
                "type": "array", "description": description, "items": items.to_json(),
                "minItems": items_min, "maxItems": items_max
            }),
            Self::Object(properties) => {
                let all: Map<String, Value> =
                    properties.iter().map(|p| (p.name.to_owned(), p.schema.to_json())).collect();
                let required: Vec<&str> =
                    properties.iter().filter(|p| p.required).map(|p| p.name).collect();
                json!({"type": "object", "properties": all, "required": required})
            }
        }
    }
}

/// Turns what models write into what was meant: drops unknown properties and nulls of optional ones, reads
/// numbers and flags out of texts. What cannot be read is left as it is, for [`validate`] to name.
#[must_use]
pub fn coerce(schema: &Schema, value: Value) -> Value {
    match (schema, value) {
        (Schema::Object(properties), Value::Object(mut map)) => {
            let mut known = Map::new();
            for property in properties {
                let Some(value) = map.remove(property.name) else { continue };
                if value.is_null() && !property.required {
                    continue;
                }
                known.insert(property.name.to_owned(), coerce(&property.schema, value));
            }
            Value::Object(known)
        }
        (Schema::List { items, .. }, Value::Array(values)) => {
            Value::Array(values.into_iter().map(|value| coerce(items, value)).collect())
        }
        (Schema::Integer { .. }, Value::Number(number)) => match number.as_f64() {
            Some(float) if !number.is_i64() => {
                whole(float).map_or(Value::Number(number), Value::from)
            }
            _ => Value::Number(number),
        },
        (Schema::Integer { .. }, Value::String(text)) => {
            match text.trim().parse::<f64>().ok().and_then(whole) {
                Some(integer) => Value::from(integer),
                None => Value::String(text),
            }
        }
        (Schema::Number { .. }, Value::String(text)) => match text.trim().parse::<f64>() {
            Ok(float) if float.is_finite() => Value::from(float),
            _ => Value::String(text),
        },
        (Schema::Flag { .. }, Value::String(text)) => match text.trim() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(text),
        },
        (Schema::Text { .. }, Value::Number(number)) => Value::String(number.to_string()),
        (_, value) => value,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and well inside i64")]
fn whole(float: f64) -> Option<i64> {
    (float.fract() == 0.0 && float.abs() <= 9.0e15).then_some(float as i64)
}

/// Checks a value and names every problem with its path.
///
/// # Errors
/// When there is at least one problem.
pub fn validate(schema: &Schema, value: &Value) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    check(schema, value, &mut String::new(), &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn check(schema: &Schema, value: &Value, path: &mut String, problems: &mut Vec<Problem>) {
    let found = match (schema, value) {
        (Schema::Text { .. }, Value::String(_)) | (Schema::Flag { .. }, Value::Bool(_)) => return,
        (Schema::Integer { minimum, maximum, .. }, Value::Number(number)) => {
            match number.as_i64() {
                Some(integer) if (*minimum..=*maximum).contains(&integer) => return,
                _ => Some(format!("must be an integer from {minimum} to {maximum}, not {number}")),
            }
        }
        (Schema::Number { minimum, maximum, .. }, Value::Number(number)) => match number.as_f64() {
            Some(float) if (*minimum..=*maximum).contains(&float) => return,
            _ => Some(format!("must be a number from {minimum} to {maximum}, not {number}")),
        },
        (Schema::List { items, items_min, items_max, .. }, Value::Array(values)) => {
            for (idx, item) in values.iter().enumerate().take(*items_max) {
                inside(path, &format!("[{idx}]"), |path| check(items, item, path, problems));
            }
            if (*items_min..=*items_max).contains(&values.len()) {
                return;
            }
            Some(format!("must hold {items_min} to {items_max} items, not {}", values.len()))
        }
        (Schema::Object(properties), Value::Object(map)) => {
            for property in properties {
                let dot = if path.is_empty() { "" } else { "." };
                inside(path, &format!("{dot}{}", property.name), |path| {
                    match map.get(property.name) {
                        Some(value) => check(&property.schema, value, path, problems),
                        None if property.required => {
                            problems.push(Problem {
                                path: path.clone(),
                                message: "is required".into(),
                            });
                        }
                        None => {}
                    }
                });
            }
            return;
        }
        _ => None,
    };
    let message =
        found.unwrap_or_else(|| format!("must be {}, not {}", wanted(schema), kind(value)));
    problems.push(Problem { path: path.clone(), message });
}

fn inside(path: &mut String, piece: &str, act: impl FnOnce(&mut String)) {
    let before = path.len();
    path.push_str(piece);
    act(path);
    path.truncate(before);
}

fn wanted(schema: &Schema) -> &'static str {
    match schema {
        Schema::Text { .. } => "a text",
        Schema::Integer { .. } => "an integer",
        Schema::Number { .. } => "a number",
        Schema::Flag { .. } => "true or false",
        Schema::List { .. } => "a list",
        Schema::Object(_) => "an object",
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::Object(vec![
            Property::required("path", Schema::Text { description: "" }),
            Property::optional("n", Schema::Integer { description: "", minimum: 1, maximum: 9 }),
            Property::optional("on", Schema::Flag { description: "" }),
            Property::optional(
                "list",
                Schema::List {
                    description: "",
                    items: Box::new(Schema::Object(vec![Property::required(
                        "a",
                        Schema::Text { description: "" },
                    )])),
                    items_min: 1,
                    items_max: 2,
                },
            ),
        ])
    }

    fn check(given: Value, prepared: Value, problems: &[&str]) {
        let coerced = coerce(&schema(), given);
        assert_eq!(coerced, prepared);
        let found = validate(&schema(), &coerced).err().unwrap_or_default();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, problems);
    }

    #[test]
    fn what_models_write_is_read_as_it_was_meant() {
        check(
            json!({"path": "a", "n": "5", "on": "true"}),
            json!({"path": "a", "n": 5, "on": true}),
            &[],
        );
        check(json!({"path": "a", "n": null, "x": 1}), json!({"path": "a"}), &[]);
        check(json!({"path": 7, "n": 3.0}), json!({"path": "7", "n": 3}), &[]);
    }

    #[test]
    fn every_problem_is_named_with_its_path() {
        check(
            json!({"n": 12, "list": [{"a": 1.5}, {"b": 1}, {}]}),
            json!({"n": 12, "list": [{"a": "1.5"}, {}, {}]}),
            &[
                "path: is required",
                "n: must be an integer from 1 to 9, not 12",
                "list[1].a: is required",
                "list: must hold 1 to 2 items, not 3",
            ],
        );
        check(json!([]), json!([]), &["arguments: must be an object, not a list"]);
    }
}
