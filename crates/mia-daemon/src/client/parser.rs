//! Server-sent events, from bytes.

use bytes::{Buf, BytesMut};

use super::error::ClientError;

/// The longest event that is read, in bytes.
const LONGEST: usize = 256 * 1024 * 1024;

/// One event as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// The value of `event`; none for an ordinary one.
    pub(super) kind: Option<String>,
    /// The value of `data`.
    pub(super) data: Vec<u8>,
}

/// Puts chunks together and takes events out of them. Each byte is looked at once.
#[derive(Debug, Default)]
pub(super) struct Parser {
    buffer: BytesMut,
    /// Up to where there is no line end in it.
    searched: usize,
    kind: Option<String>,
    data: Option<Vec<u8>>,
}

impl Parser {
    /// Takes a chunk.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<(), ClientError> {
        let held = self.buffer.len() + self.data.as_ref().map_or(0, Vec::len);
        if held + chunk.len() > LONGEST {
            return Err(ClientError::Answer(format!("an event has over {LONGEST} bytes")));
        }
        self.buffer.extend_from_slice(chunk);
        Ok(())
    }

    /// The next event that is there in full.
    pub(super) fn next(&mut self) -> Option<Sent> {
        loop {
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(found) = memchr::memchr(b'\n', rest) else {
                self.searched = self.buffer.len();
                return None;
            };
            let mut line = self.buffer.split_to(self.searched + found);
            self.buffer.advance(1);
            self.searched = 0;
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if line.is_empty() {
                let kind = self.kind.take();
                if let Some(data) = self.data.take() {
                    return Some(Sent { kind, data });
                }
                continue;
            }
            let (name, value) = match memchr::memchr(b':', &line) {
                Some(colon) => {
                    let value = line.get(colon + 1..).unwrap_or_default();
                    (
                        line.get(..colon).unwrap_or_default(),
                        value.strip_prefix(b" ").unwrap_or(value),
                    )
                }
                None => (&line[..], &[][..]),
            };
            match name {
                b"data" => match &mut self.data {
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(value);
                    }
                    None => self.data = Some(value.to_vec()),
                },
                b"event" => self.kind = Some(String::from_utf8_lossy(value).into_owned()),
                // Comments, ids (the events say where they are), and what may come in later versions.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAM: &[u8] = b":\n\nid: 1\ndata: {\"a\":1}\n\nevent: problem\r\ndata: x\r\ndata:y\r\n\r\nretry: 5\n\ndata\n\ndata: cut";

    fn parsed(chunks: &[&[u8]]) -> Vec<Sent> {
        let mut parser = Parser::default();
        let mut all = Vec::new();
        for chunk in chunks {
            parser.push(chunk).unwrap();
            while let Some(sent) = parser.next() {
                all.push(sent);
            }
        }
        all
    }

    fn sent(kind: Option<&str>, data: &str) -> Sent {
        Sent { kind: kind.map(str::to_owned), data: data.into() }
    }

    #[test]
    fn events_comments_line_ends_and_what_is_cut_off() {
        let wanted = [sent(None, "{\"a\":1}"), sent(Some("problem"), "x\ny"), sent(None, "")];
        assert_eq!(parsed(&[STREAM]), wanted);
    }

    proptest! {
        #[test]
        fn m_038_any_chunking_of_a_stream_gives_the_same_events(
            mut cuts in proptest::collection::vec(0..STREAM.len(), 0..20)
        ) {
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&STREAM[from..cut]);
                from = cut;
            }
            chunks.push(&STREAM[from..]);
            prop_assert_eq!(parsed(&chunks), parsed(&[STREAM]));
        }
    }
}
