"""A run under way."""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import TroupeError
from .program import environment, error_of, find_program
from .run import Run
from .settings import flags

# What the program says once a run has its folder.
BEGUN = re.compile(r"run (.+); `host train .+` repeats it")
# The exit codes of a run that was asked to stop, and saved.
STOPPED = {
    128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGTERM)
}
# How often the run is looked at, in seconds.
GLANCE = 0.1


def train(
    *config: str | os.PathLike[str],
    plugins: Sequence[str | os.PathLike[str]] = (),
    grant: Sequence[str] = (),
    resume: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
    settings: Mapping[str, object] | None = None,
    **tables: object,
) -> Training:
    """Begin a run in a process of its own, or go on with one (`resume`).

    Configurations are files, each over those before it; those that come with Troupe go by their
    names, such as "configs/plan-path/quickstart.toml". Settings are those of `docs/config.md`, by
    table: `train={"steps": 10}`, `run={"seed": 7}`, or all of them in `settings`. `say` hears what
    the program says.
    """
    arguments = [os.fspath(file) for file in config]
    if plugins:
        arguments += ["--plugins", ",".join(os.fspath(plugin) for plugin in plugins)]
    for right in grant:
        arguments += ["--grant", right]
    if resume is not None:
        arguments += ["--resume", os.fspath(resume)]
    arguments += flags(settings or {}) + flags(tables)
    return Training(arguments, None if resume is None else Path(resume), say)


class Training:
    """A run under way: iterate over its metrics, step by step, or `wait` for its end.

    Ctrl-C while it is waited for stops the run as it would in a terminal: the step is finished and
    everything saved. The end of a `with` block stops it, too.
    """

    def __init__(
        self, arguments: Sequence[str], folder: Path | None, say: Callable[[str], None] | None
    ) -> None:
        self._folder = folder
        self._say = say
        self._said: list[str] = []
        self._process = subprocess.Popen(
            [find_program(), "train", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment(),
            # Ctrl-C is for us: we pass it on, and once.
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        atexit.register(self.stop)

    @property
    def said(self) -> str:
        """What the program has said so far."""
        return "".join(self._said)

    @property
    def exit_code(self) -> int | None:
        """How the process ended; nothing while it runs."""
        return self._process.poll()

    @property
    def run(self) -> Run:
        """The run's folder; waits until there is one."""
        while self._folder is None:
            if self._process.poll() is not None:
                self._end()
                if self._folder is None:
                    raise TroupeError("the program ended without a run")
            time.sleep(GLANCE)
        return Run(self._folder)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The metrics of each step as it is done; of a resumed run from its beginning."""
        told = 0
        try:
            run = self.run
            while True:
                is_over = self._process.poll() is not None
                metrics = run.metrics
                yield from metrics[told:]
                told = max(told, len(metrics))
                if is_over:
                    break
                time.sleep(GLANCE)
        except KeyboardInterrupt:
            self.stop(signal.SIGINT)
            raise
        self._end()

    def wait(self) -> Run:
        """Wait for the run's end.

        Raises `ProgramError` if the program fails; being asked to stop is no failure.
        """
        try:
            self._process.wait()
        except KeyboardInterrupt:
            self.stop(signal.SIGINT)
            raise
        self._end()
        return self.run

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask the run to stop once it has finished its step and saved, and wait until it has."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            self._process.send_signal(how)
            try:
                self._process.wait()
            except KeyboardInterrupt:
                # The second ends it at once.
                self._process.send_signal(how)
                self._process.wait()
                raise
        self._listener.join()

    def __enter__(self) -> Training:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _end(self) -> None:
        atexit.unregister(self.stop)
        self._listener.join()
        code = self._process.wait()
        if code != 0 and code not in STOPPED:
            raise error_of(self.said, code)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._said.append(line)
                begun = BEGUN.match(line)
                if begun and self._folder is None:
                    self._folder = Path(begun[1])
                if self._say is not None:
                    self._say(line.rstrip("\n"))
