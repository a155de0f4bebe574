//! Bodies that break as planned.
//!
//! Events are rendered elsewhere; here they are only bytes.

use std::{io, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};

use super::plan::Fault;

/// Turns the events of a stream into a body, broken as the fault says.
pub(crate) fn body(frames: Vec<String>, fault: &Fault) -> Body {
    let whole = Bytes::from(frames.concat());
    match fault {
        Fault::Cut { after_bytes } => cut(whole.slice(..whole.len().min(*after_bytes))),
        Fault::Silence { after_bytes } => {
            let head = whole.slice(..whole.len().min(*after_bytes));
            Body::from_stream(stream::iter([Ok::<_, io::Error>(head)]).chain(stream::pending()))
        }
        Fault::Dribble { pause_ms } => bytewise(whole, Duration::from_millis(*pause_ms)),
        Fault::Split => bytewise(whole, Duration::ZERO),
        Fault::None
        | Fault::Status { .. }
        | Fault::Html { .. }
        | Fault::Hang
        | Fault::ContentType { .. }
        | Fault::Whole
        | Fault::NoEnd
        | Fault::ErrorEvent { .. }
        | Fault::Interleave => Body::from_stream(stream::iter([Ok::<_, io::Error>(whole)])),
    }
}

/// Sends the bytes, lets them go out, then breaks the connection.
fn cut(head: Bytes) -> Body {
    let broken = stream::once(async {
        tokio::task::yield_now().await;
        Err(io::Error::other("cut as planned"))
    });
    Body::from_stream(stream::iter([Ok(head)]).chain(broken))
}

fn bytewise(whole: Bytes, pause: Duration) -> Body {
    let pieces = (0..whole.len()).map(move |at| whole.slice(at..=at)).collect::<Vec<_>>();
    Body::from_stream(stream::iter(pieces).then(move |piece| async move {
        if pause.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(pause).await;
        }
        Ok::<_, io::Error>(piece)
    }))
}
