"""Tries a daemon against its own OpenAPI document.

    fuzz.py SOCKET [--document FILE] [--base PATH] [--exclude OPERATION]... [--long]

The daemon listens on a Unix socket and schemathesis speaks TCP: a bridge on the loopback, in threads
of this process, joins the two. All checks of schemathesis are on: no 5xx, only documented statuses,
content types, headers and bodies (events of streams too), wrong requests refused, right ones taken,
other methods refused. A stream that doesn't end is read for a moment only.

The seed is fixed, so a second run sends the same. Ends with 0 when nothing was found, 1 when
something was, 2 when it could not be tried.
"""

import argparse
import json
import os
import signal
import socket
import sys
import tempfile
import threading
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
SEED = 20_260_101
# How long an answer may take, and how much of a stream without an end is read, in seconds.
ANSWER = 10
STREAM = 0.5
# How many requests are made up for each operation beside those that its document leads to.
SHORT, LONG = 50, 2_000
# A hang is told after so many seconds, not waited for.
SHORT_LIMIT, LONG_LIMIT = 300, 3 * 60 * 60


class Bridge:
    """A port on the loopback, each connection to which is one to the Unix socket."""

    def __init__(self, path):
        self.path = path
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client):
        daemon = socket.socket(socket.AF_UNIX)
        try:
            daemon.connect(self.path)
        except OSError as error:
            print(f"the daemon takes no connection: {error}", file=sys.stderr)
            client.close()
            daemon.close()
            return
        back = threading.Thread(target=_pump, args=(daemon, client), daemon=True)
        back.start()
        _pump(client, daemon)
        back.join()
        client.close()
        daemon.close()


def _pump(source, sink):
    """Hands on all bytes, and then the end."""
    try:
        while data := source.recv(64 * 1024):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        # One side has gone: the other must not wait for it. Closing alone does not wake a thread
        # that reads.
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def operations(document):
    """All operations of the document, by their id."""
    found = {}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                found[operation.get("operationId", f"{method.upper()} {path}")] = operation
    return found


def streams(operation):
    """Whether an operation may answer with events."""
    answers = operation.get("responses", {}).values()
    return any("text/event-stream" in answer.get("content", {}) for answer in answers)


def configuration(document, may_refuse):
    """What can't be said with arguments. TOML strings of this kind are JSON strings."""
    lines = [
        f"request-timeout = {ANSWER}",
        "max-stream-events = 50",
        "[generation]",
        'database = "none"',
        "[cache]",
        "enabled = false",
    ]
    for name, operation in operations(document).items():
        special = []
        if streams(operation):
            special.append(f"request-timeout = {STREAM}")
        if name in may_refuse:
            # Right in itself and still refused, for reasons that no schema tells.
            statuses = '["2xx", "400", "401", "403", "404", "409", "422", "429", "503"]'
            special.append(f"checks.positive_data_acceptance.expected-statuses = {statuses}")
        if special:
            lines += ["[[operations]]", f"include-operation-id = {json.dumps(name)}", *special]
    return "\n".join(lines) + "\n"


def fuzz(path, document_file, base, exclude, may_refuse, examples):
    """Runs schemathesis; its exit status."""
    document = json.loads(document_file.read_text())
    known = operations(document)
    unknown = [name for name in [*exclude, *may_refuse] if name not in known]
    if unknown:
        print(f"the document has no operation {', '.join(unknown)}", file=sys.stderr)
        return 2
    if not set(known) - set(exclude):
        print("the document has no operation to try", file=sys.stderr)
        return 2
    # Imported here: `--help` and wrong arguments are answered at once.
    from schemathesis.cli import schemathesis

    bridge = Bridge(path)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "schemathesis.toml"
        settings.write_text(configuration(document, may_refuse))
        arguments = ["--config-file", str(settings), "--no-color", "run", str(document_file.resolve())]
        arguments += ["--url", f"http://127.0.0.1:{bridge.port}{base}", "--checks", "all"]
        arguments += ["--seed", str(SEED), "--max-examples", str(examples), "--workers", "1"]
        arguments += ["--continue-on-failure", "--mode", "all"]
        for name in exclude:
            arguments += ["--exclude-operation-id", name]
        # What it writes beside its report is of no use to us.
        here = os.getcwd()
        os.chdir(folder)
        try:
            return schemathesis.main(arguments, standalone_mode=False) or 0
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 2
        finally:
            os.chdir(here)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("socket", help="the daemon's Unix socket")
    parser.add_argument(
        "--document", type=Path, default=REPOSITORY / "docs/openapi.json", help="what it says it does"
    )
    parser.add_argument("--base", default="", help="what stands before all paths")
    parser.add_argument("--exclude", action="append", default=[], help="an operation to leave alone")
    parser.add_argument(
        "--may-refuse",
        action="append",
        default=[],
        help="an operation that may refuse what its schema allows",
    )
    parser.add_argument("--long", action="store_true", help="try much more")
    given = parser.parse_args()
    limit, examples = (LONG_LIMIT, LONG) if given.long else (SHORT_LIMIT, SHORT)
    # The default of the signal ends us, whatever threads do.
    signal.alarm(limit)
    status = fuzz(
        given.socket, given.document, given.base, given.exclude, given.may_refuse, examples
    )
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the bridge may still wait for a stream that doesn't end.
    os._exit(status)


if __name__ == "__main__":
    main()
