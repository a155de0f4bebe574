//! A bare HTTP/1.1 client on a kept connection: the floor that a host is compared with.
//!
//! It knows bodies of stated length and chunked ones, and nothing else of HTTP.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, bail};

/// When a peer that says nothing is given up on.
const SILENCE: Duration = Duration::from_secs(30);

/// A kept connection.
pub(crate) struct Wire<S> {
    stream: BufReader<S>,
    out: Vec<u8>,
}

/// A request, but for its length.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// Further header lines, each with its line end.
    pub(crate) headers: &'a str,
    pub(crate) body: &'a [u8],
}

impl<'a> Request<'a> {
    /// Asks for a page.
    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: "GET", path, headers: "", body: b"" }
    }

    /// Sends JSON.
    pub(crate) fn json(path: &'a str, body: &'a [u8]) -> Self {
        Self { method: "POST", path, headers: "content-type: application/json\r\n", body }
    }
}

impl Wire<TcpStream> {
    /// Connects over TCP, without delay of small packets.
    pub(crate) fn tcp(address: &str) -> anyhow::Result<Self> {
        let stream =
            TcpStream::connect(address).with_context(|| format!("cannot reach {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        Ok(Self::over(stream))
    }
}

impl Wire<UnixStream> {
    /// Connects over a Unix socket.
    pub(crate) fn unix(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(SILENCE))?;
        Ok(Self::over(stream))
    }
}

impl<S: Read + Write> Wire<S> {
    fn over(stream: S) -> Self {
        Self { stream: BufReader::with_capacity(64 << 10, stream), out: Vec::new() }
    }

    /// Sends a request and reads the answer to its end. An answer that is not 200 is an error.
    pub(crate) fn ask(&mut self, request: &Request<'_>, body: &mut Vec<u8>) -> anyhow::Result<()> {
        body.clear();
        let Request { method, path, headers, .. } = request;
        self.out.clear();
        write!(self.out, "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}")?;
        write!(self.out, "content-length: {}\r\n\r\n", request.body.len())?;
        self.out.extend_from_slice(request.body);
        self.stream.get_mut().write_all(&self.out)?;
        let status = self.answer(body)?;
        if status == 200 {
            return Ok(());
        }
        bail!("{method} {path}: {status} {}", String::from_utf8_lossy(body));
    }

    fn answer(&mut self, body: &mut Vec<u8>) -> anyhow::Result<u16> {
        let mut line = String::new();
        self.line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("not HTTP: {line:?}"))?;
        let (mut length, mut chunked) = (0, false);
        loop {
            self.line(&mut line)?;
            if line.is_empty() {
                break;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            chunked |= lower.starts_with("transfer-encoding:") && lower.contains("chunked");
        }
        if !chunked {
            self.take(length, body)?;
            return Ok(status);
        }
        loop {
            self.line(&mut line)?;
            let size = line.split(';').next().unwrap_or_default();
            let size =
                usize::from_str_radix(size, 16).with_context(|| format!("chunk {line:?}"))?;
            self.take(size, body)?;
            self.line(&mut line)?;
            if size == 0 {
                return Ok(status);
            }
        }
    }

    fn line(&mut self, line: &mut String) -> anyhow::Result<()> {
        line.clear();
        if self.stream.read_line(line)? == 0 {
            bail!("the connection ended in the middle of an answer");
        }
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        Ok(())
    }

    fn take(&mut self, size: usize, body: &mut Vec<u8>) -> anyhow::Result<()> {
        let start = body.len();
        body.resize(start + size, 0);
        self.stream.read_exact(body.get_mut(start..).unwrap_or_default())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that says what it was told to say.
    struct Said(io::Cursor<&'static [u8]>);

    impl Read for Said {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Said {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn answers_are_read_to_their_end_and_no_further() {
        let said = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n\
                    HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nef\
                    HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        let mut wire = Wire::over(Said(io::Cursor::new(said.as_bytes())));
        let mut body = Vec::new();
        wire.ask(&Request::get("/"), &mut body).unwrap();
        assert_eq!(body, b"abcd");
        wire.ask(&Request::get("/"), &mut body).unwrap();
        assert_eq!(body, b"ef");
        let refused = wire.ask(&Request::get("/x"), &mut body).unwrap_err();
        assert_eq!(refused.to_string(), "GET /x: 404 ");
        assert!(wire.ask(&Request::get("/"), &mut body).is_err());
    }
}
