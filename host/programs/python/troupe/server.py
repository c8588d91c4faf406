"""A server of our own: a `host serve` on a free port, as long as a `with` block lasts."""

from __future__ import annotations

import atexit
import http.client
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, Any, TypeVar

from .errors import RequestError, TroupeError
from .program import environment, error_of, find_program

LISTENING = "listening on http://"
# A server that is asked to stop finishes what runs first.
PATIENCE = 30.0

Own = TypeVar("Own", bound="Server")


class Server:
    """A `host serve` with these arguments. It starts with `with` or `start`."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = list(arguments)
        self._process: subprocess.Popen[str] | None = None
        self._said: IO[str] | None = None
        self._address: str | None = None

    @property
    def address(self) -> str:
        """Host and port, for other clients too."""
        if self._address is None:
            raise TroupeError("the server does not run: use it in a `with` block")
        return self._address

    def start(self: Own) -> Own:
        """Start it, and wait until it listens."""
        if self._process is not None:
            return self
        # A file, so that however much it says, it waits for nobody.
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            [find_program(), "serve", "--listen", "127.0.0.1:0", *self._arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=environment(),
            # What interrupts us is for us: `stop` tells the server.
            start_new_session=True,
        )
        atexit.register(self.stop)
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line.startswith(LISTENING):
            code = self._process.wait()
            self._said.seek(0)
            said = self._said.read()
            self.stop()
            raise error_of(said, code)
        self._address = line.removeprefix(LISTENING)
        return self

    def stop(self) -> None:
        """Stop it; once more does nothing."""
        atexit.unregister(self.stop)
        process, self._process, self._address = self._process, None, None
        if process is not None:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if self._said is not None:
            self._said.close()
            self._said = None

    def __enter__(self: Own) -> Own:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """What the server answers to a request."""
        connection = http.client.HTTPConnection(self.address)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            error = answer.get("error", {})
            raise RequestError(error.get("message", str(answer)), error.get("kind", "unknown"))
        return answer
