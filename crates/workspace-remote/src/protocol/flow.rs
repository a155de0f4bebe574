//! What flows beside requests and answers: progress, credit, acknowledgements, the end.

use super::tagged::message;

message! {
    /// More output of a call that still runs.
    "progress" Progress {
        /// The request.
        id: u64,
        /// How many bytes of output were told before, gaps included.
        offset: u64,
        /// The output.
        output: String,
    }
}

message! {
    /// Output of a call that was dropped, because too much waited.
    "gap" Gap {
        /// The request.
        id: u64,
        /// How many bytes.
        bytes: u64,
    }
}

message! {
    /// Lets the other side send more content of a request.
    "more" More {
        /// The request.
        id: u64,
        /// The charge of so many bytes.
        bytes: u64,
    }
}

message! {
    /// Says that all content of an upload was sent.
    "finish" Finish {
        /// The request.
        id: u64,
    }
}

message! {
    /// What a download promises, before its pieces.
    "begin" Begin {
        /// The request.
        id: u64,
        /// How many bytes it has.
        size: u64,
        /// SHA-256 of a file, or of a directory's manifest.
        sha256: String,
        /// How many of them do not come, since they are there.
        #[serde(default)]
        from: u64,
    }
}

message! {
    /// How many counted messages have come. Is itself not counted.
    "ack" Ack {
        /// The number.
        received: u64,
    }
}

message! {
    /// Asks whether the other side is there. Is not counted.
    "ping" Ping {}
}

message! {
    /// Says so. Is not counted.
    "pong" Pong {}
}

message! {
    /// The client leaves for good.
    "goodbye" Goodbye {}
}

message! {
    /// The server ends the connection. Nothing follows.
    "closing" Closing {
        /// Stable, `snake_case`.
        code: String,
        /// One sentence.
        message: String,
    }
}
