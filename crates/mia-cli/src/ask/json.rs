//! Events as lines of JSON.

use std::io::{self, BufWriter, Write};

use mia_api::Event;

/// Writes one JSON object a line.
pub(super) struct JsonOutput<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> JsonOutput<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out: BufWriter::with_capacity(64 * 1024, out) }
    }

    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, event)?;
        self.out.write_all(b"\n")
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
