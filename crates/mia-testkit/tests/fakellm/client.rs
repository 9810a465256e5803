//! A client that writes its HTTP by hand.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use mia_testkit::fakellm::FakeLlm;
use serde_json::Value;

/// A connection on which one request was sent.
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn post(llm: &FakeLlm, path: &str, body: &Value) -> Self {
        Self::send(llm, "POST", path, "x-api-key: k1", &body.to_string())
    }

    /// Sends a request with one more header.
    pub(crate) fn send(llm: &FakeLlm, method: &str, path: &str, header: &str, body: &str) -> Self {
        let mut stream = TcpStream::connect(llm.url().strip_prefix("http://").unwrap()).unwrap();
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\n{header}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
            .unwrap();
        Self(stream)
    }

    /// Reads until the text is there.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&seen).contains(text) {
            let count = self.0.read(&mut buffer).unwrap();
            assert!(count > 0, "it ended without {text}: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8(seen).unwrap()
    }

    pub(crate) fn rest(mut self) -> io::Result<String> {
        let mut text = String::new();
        self.0.read_to_string(&mut text)?;
        Ok(text)
    }
}

/// The data of the events in a response.
pub(crate) fn events(response: &str) -> Vec<Value> {
    let data = response.lines().filter_map(|line| line.strip_prefix("data: "));
    let data = data.filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The body of a response that is JSON as a whole.
pub(crate) fn body(response: &str) -> Value {
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}
