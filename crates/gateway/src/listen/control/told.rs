//! From the frames of a stream, as every reader gets them, to lines.
//!
//! A frame is encoded once, for HTTP; here its data is put into a line as it stands. What is in it is not
//! looked at, but for the job that a fact is about.

use std::borrow::Cow;

use serde::Deserialize;

use super::request::Id;

/// The data that ends a run's stream; here a line of its own does.
const DONE: &str = "[DONE]";

/// The event of a frame that has none: what server-sent events call it.
const USUAL: &str = "message";

/// The event of a line that only says where its reader stands.
const STANDING: &str = "stead-cursor";

/// What a frame tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told<'a> {
    /// The event's name.
    pub(super) event: &'a str,
    /// JSON.
    pub(super) data: &'a str,
    /// Where a reader stands who has read it.
    pub(super) cursor: Option<&'a str>,
}

/// Returns what whole frames tell; nothing for those that tell nothing, such as heartbeats.
pub(super) fn frames(text: &str) -> impl Iterator<Item = Told<'_>> {
    text.split("\n\n").filter_map(|frame| {
        let (mut event, mut data, mut cursor) = (USUAL, None, None);
        for line in frame.lines() {
            match line.split_once(": ") {
                Some(("event", name)) => event = name,
                // Ours has one line of data.
                Some(("data", json)) => data = Some(json),
                Some(("id", id)) => cursor = Some(id),
                _ => {}
            }
        }
        match (data, cursor) {
            (Some(DONE), _) | (None, None) => None,
            (Some(data), _) => Some(Told { event, data, cursor }),
            (None, Some(_)) => Some(Told { event: STANDING, data: "null", cursor }),
        }
    })
}

impl Told<'_> {
    /// Returns the job that a fact is about.
    pub(super) fn job(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Fact<'a> {
            #[serde(borrow)]
            subject: Cow<'a, str>,
            body: Body,
        }
        #[derive(Deserialize)]
        struct Body {
            #[serde(default)]
            job: Option<String>,
        }
        let fact: Fact<'_> = serde_json::from_str(self.data).ok()?;
        fact.body.job.filter(|_| fact.subject == "job")
    }

    /// Writes a line. `job` is the row of the job that it is about, as JSON.
    pub(super) fn write(&self, id: &Id, job: Option<&str>, line: &mut String) {
        let Self { event, data, cursor } = self;
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        *line += &format!(r#"{{"id":{},"event":{},"data":{data}"#, id.as_str(), quoted(event));
        if let Some(cursor) = cursor {
            *line += &format!(r#","cursor":{}"#, quoted(cursor));
        }
        if let Some(job) = job {
            *line += &format!(r#","job":{job}"#);
        }
        *line += "}\n";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_become_lines_and_what_tells_nothing_becomes_none() {
        let check = |text: &str, expected: &[&str]| {
            let lines: Vec<String> = frames(text)
                .map(|told| {
                    let mut line = String::new();
                    told.write(&Id::none(), None, &mut line);
                    line
                })
                .collect();
            assert_eq!(lines, expected, "{text:?}");
        };
        check(":\n\n", &[]);
        check("retry: 1000\n\n", &[]);
        check(
            "retry: 1000\nid: s.4\n\n",
            &["{\"id\":null,\"event\":\"stead-cursor\",\"data\":null,\"cursor\":\"s.4\"}\n"],
        );
        check(
            "id: r.1.0\ndata: {\"type\":\"a: b\"}\n\ndata: {}\n\ndata: [DONE]\n\n",
            &[
                "{\"id\":null,\"event\":\"message\",\"data\":{\"type\":\"a: b\"},\"cursor\":\"r.1.0\"}\n",
                "{\"id\":null,\"event\":\"message\",\"data\":{}}\n",
            ],
        );
        check(
            "event: stead-gap\ndata: {\"code\":\"x\"}\n\n",
            &["{\"id\":null,\"event\":\"stead-gap\",\"data\":{\"code\":\"x\"}}\n"],
        );
    }
}
