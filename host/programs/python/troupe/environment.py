"""An environment to play, or a team in it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import RequestError
from .server import Server
from .settings import flags
from .websocket import WebSocket

# In seconds: its client is here, and may think for as long as it likes.
FOR_EVER = "10000000"


class VoidEpisode(RequestError):
    """A plugin failed, so the episode is worth nothing: leave it out, do not count it as 0."""


@dataclass(frozen=True)
class StepResult:
    """Where an episode stands after `reset` or `step`."""

    observation: dict[str, Any]
    """`text`, after reset `rules`, after an action `feedback`; of a team `role` and `messages`."""
    reward: float | None
    done: bool
    metadata: dict[str, Any]
    """`rewards` by seat, `parts` by name, `accepted`, `status`, …"""

    @property
    def text(self) -> str:
        """What can be seen."""
        return str(self.observation["text"])

    @property
    def status(self) -> str:
        """`ongoing`, `solved`, `failed`, `finished` or `truncated`."""
        return str(self.metadata["status"])


@dataclass(frozen=True)
class Picture:
    """How an episode looks, as characters and perhaps as an image; notebooks show it."""

    text: str
    svg: str | None

    def _repr_svg_(self) -> str | None:
        # An image without a size is as wide as the page.
        return self.svg and self.svg.replace("<svg ", '<svg width="240" ', 1)

    def __str__(self) -> str:
        return self.text


class Environment(Server):
    """An environment of our own, by name or file, with a session in it.

    >>> with Environment("sudoku", size=4) as sudoku:
    ...     print(sudoku.reset(seed=3).text)
    ...     print(sudoku.step("r1c1=2").reward)

    With a `workflow` the session plays a whole team: `observation["role"]` says who is asked.
    Further arguments are the environment's settings; `settings` may hold those of any table.
    """

    def __init__(
        self,
        environment: str | os.PathLike[str],
        *,
        workflow: str | os.PathLike[str] | None = None,
        grant: Sequence[str] = (),
        settings: Mapping[str, object] | None = None,
        **own: object,
    ) -> None:
        arguments = ["--environment", os.fspath(environment)]
        if workflow is not None:
            arguments += ["--workflow", os.fspath(workflow)]
        for right in grant:
            arguments += ["--grant", right]
        arguments += ["--idle-timeout-s", FOR_EVER, "--silence-timeout-s", FOR_EVER]
        super().__init__(arguments + flags(settings or {}) + flags({"environment": own}))
        self._socket: WebSocket | None = None

    def reset(
        self, *, seed: int | None = None, split: str = "train", **fields: object
    ) -> StepResult:
        """Begin a task: the same seed is the same task; without one, any."""
        asked = {"split": split, **fields}
        return _result(self._ask("reset", asked if seed is None else {"seed": seed, **asked}))

    def step(self, text: str, **fields: object) -> StepResult:
        """Act, or answer for a role; `kind`, `role` and `complete` may be said besides.

        Whatever interrupts it gives the episode up: `reset` begins another.
        """
        return _result(self._ask("step", {"text": text, **fields}))

    def state(self) -> dict[str, Any]:
        """Which episode it is, how many steps were made, and the reward so far."""
        return dict(self._ask("state", {}))

    def render(self) -> Picture | None:
        """How it looks now, where the environment draws and an episode is under way."""
        drawn = self._ask("render", {})
        return None if drawn is None else Picture(drawn["text"], drawn["svg"])

    def stop(self) -> None:
        """Leave the session, and stop the server."""
        self._leave()
        super().stop()

    def _leave(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.close()

    def _ask(self, kind: str, data: Mapping[str, object]) -> Any:
        question = json.dumps({"type": kind, "data": data})
        if self._socket is None:
            self._socket = WebSocket(self.address, "/ws")
        try:
            frame = json.loads(self._socket.ask(question))
        except BaseException:
            # The answer may still come, and the next question would get it.
            self._leave()
            raise
        told = frame["data"]
        if frame["type"] == "error":
            refusal = VoidEpisode if told.get("void") else RequestError
            raise refusal(told["message"], told["code"])
        return told


def _result(told: Mapping[str, Any]) -> StepResult:
    observation, metadata = dict(told["observation"]), dict(told.get("metadata") or {})
    return StepResult(observation, told["reward"], told["done"], metadata)
