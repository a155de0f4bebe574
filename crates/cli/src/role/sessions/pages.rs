//! Walking through the pages of a list.

use api::{
    client::{Client, Target},
    routes::{Endpoint, encode},
    session::{SessionPage, SessionRow},
};
use futures_util::future::BoxFuture;
use vocab::outcome::Failure;

/// The most rows that a page holds.
const PAGE_ROWS: usize = 200;

/// Gives pages.
pub(crate) trait Pages {
    /// Returns the page that the query names.
    fn page<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<SessionPage, Failure>>;
}

impl Pages for Client {
    fn page<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<SessionPage, Failure>> {
        Box::pin(async move {
            let target = Target { parameter: "", query };
            Ok(self.json::<(), SessionPage>(Endpoint::SessionList, target, None).await?)
        })
    }
}

/// Returns at most `rows_max` rows, latest activity first.
///
/// # Errors
/// When a page cannot be had.
pub(crate) async fn all(
    pages: &impl Pages,
    title_part: Option<&str>,
    rows_max: usize,
) -> Result<Vec<SessionRow>, Failure> {
    let mut rows: Vec<SessionRow> = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let limit = rows_max.saturating_sub(rows.len()).min(PAGE_ROWS);
        if limit == 0 {
            return Ok(rows);
        }
        let mut query = format!("limit={limit}");
        for (name, value) in [("q", title_part), ("cursor", cursor.as_deref())] {
            if let Some(value) = value {
                query.push_str(&format!("&{name}={}", encode(value)));
            }
        }
        let page = pages.page(&query).await?;
        let empty = page.items.is_empty();
        rows.extend(page.items);
        rows.truncate(rows_max);
        match page.next_cursor {
            // A page without rows ends the list, whatever its cursor says.
            Some(next) if !empty => cursor = Some(next),
            _ => return Ok(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Endless(Mutex<Vec<String>>);

    impl Pages for Endless {
        fn page<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<SessionPage, Failure>> {
            let mut asked = self.0.lock().unwrap();
            asked.push(query.to_owned());
            let row = serde_json::json!({
                "id": format!("ses_{}", asked.len()), "title": "", "workspace": "", "cwd": "", "mode": "auto",
                "state": "idle", "messages": 1, "usage": {}, "created_at": "", "updated_at": "",
            });
            let limit =
                query.trim_start_matches("limit=").split('&').next().unwrap().parse().unwrap();
            let items = vec![serde_json::from_value(row).unwrap(); limit];
            Box::pin(async { Ok(SessionPage { items, next_cursor: Some("a b".into()) }) })
        }
    }

    #[tokio::test]
    async fn listing_ends_at_its_bound() {
        let pages = Endless(Mutex::default());
        let rows = all(&pages, Some("x&y"), 450).await.unwrap();
        assert_eq!(rows.len(), 450);
        let asked = pages.0.into_inner().unwrap();
        assert_eq!(
            asked,
            [
                "limit=200&q=x%26y",
                "limit=200&q=x%26y&cursor=a%20b",
                "limit=50&q=x%26y&cursor=a%20b"
            ]
        );
    }
}
