"""A test double of the host: rules are tested natively, without WebAssembly.

    episode = play(Guess, seed=3)
    assert episode.act("50").feedback == "lower"

`check_environment` and `check_workflow` try what every plugin has to keep; the
finished component is tried much harder by `host plugin check`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Sequence

from . import environment as environments
from . import settings as declared
from . import workflow as workflows
from .environment import Environment, Outcome
from .types import Action, Move, Problem, Seat, Split, Status, Task, text_of
from .workflow import Reply, Request, View, Workflow

PLAYER = Seat("player")
_TURNS = 10_000


class Episode:
    """An episode as the host plays it: resumed from its saved state before every
    action, so that what is not saved is missed."""

    def __init__(self, kind: type[Environment], task: Task) -> None:
        self._episodes = environments.Episode.of(kind)
        self._episode = self._episodes.start(task)
        self.kind = kind
        self.status = Status.ONGOING
        self.earned = 0.0

    @property
    def environment(self) -> Any:
        """The author's object."""
        return self._episode.environment

    def rules(self, seat: Seat = PLAYER) -> str:
        """The rules."""
        return self._episode.rules(seat)

    def observe(self, seat: Seat = PLAYER) -> str:
        """What the seat sees, as text."""
        return text_of(self._episode.observe(seat))

    def act(self, text: str, kind: str | None = None, seat: Seat = PLAYER) -> Outcome:
        """Carry out an action, of the first kind if none is named."""
        action = Action(kind or self.kind.description.actions[0].name, text)
        return self.act_together([Move(seat, action)])

    def act_together(self, moves: list[Move]) -> Outcome:
        """Carry out moves at the same time."""
        self.resume()
        outcome = self._episode.act(moves)
        self.status = outcome.status
        self.earned += outcome.worth()
        return outcome

    def demonstrate(self, seat: Seat = PLAYER) -> Action | None:
        """What the expert would do."""
        return self._episode.demonstrate(seat)

    def save(self) -> bytes | None:
        """The saved state."""
        return self._episode.save()

    def resume(self) -> None:
        """Go on in another instance, if the environment saves its state."""
        saved = self._episode.save()
        if saved is not None:
            self._episode = self._episodes.resume(saved)


def play(
    kind: type[Environment], seed: int = 0, split: Split = Split.TRAIN, **settings: Any
) -> Episode:
    """Begin an episode, with the default settings but for these."""
    return Episode(kind, kind.task(seed, split, **settings))


def play_expert(episode: Episode, seat: Seat = PLAYER) -> Episode:
    """Let the expert play to the end, or as long as it knows what to do."""
    for _ in range(_TURNS):
        action = episode.demonstrate(seat)
        if action is None or episode.status is not Status.ONGOING:
            break
        episode.act(action.text, action.kind, seat)
    return episode


def check_environment(kind: type[Environment], tasks: int = 20, **settings: Any) -> None:
    """Whether the expert solves tasks, starts follow from tasks and belong to one
    split, nothing depends on being looked at, and settings suit at their ends."""
    configuration = kind.configure(declared.chosen(kind.description.settings, settings))
    owners: dict[str, Split] = {}
    for split in Split:
        for seed in range(tasks):
            where = f"{split} task {seed}"
            first, again = (play(kind, seed, split, **settings) for _ in range(2))
            start = first.observe()
            assert start == again.observe(), f"{where}: it begins in two ways"
            saved = first.save() or start.encode()
            owner = owners.setdefault(saved.hex(), split)
            assert owner is split, f"{where}: the {owner} split has this task, too"
            _check_expert(first, again, where, configuration)


def _check_expert(
    episode: Episode, unseen: Episode, where: str, configuration: environments.Configuration
) -> None:
    words = set(configuration.vocabulary)
    while episode.status is Status.ONGOING and (action := episode.demonstrate()):
        seen = episode.observe().split()
        missing = [word for word in seen if words and word not in words]
        assert not missing, f"{where}: `{missing[0]}` is no word of the vocabulary"
        episode.observe()
        outcomes = [each.act(action.text, action.kind) for each in (episode, unseen)]
        same = dataclasses.asdict(outcomes[0]) == dataclasses.asdict(outcomes[1])
        assert same, f"{where}: what `{action.text}` leads to depends on being looked at"
    if episode.kind.demonstrate is not Environment.demonstrate:
        assert episode.status is Status.SOLVED, f"{where}: the expert did not solve it"


Player = Callable[[Request], str]
"""What answers a request; its messages have a `text`."""


@dataclasses.dataclass
class Played:
    """What became of an episode in which a workflow asked."""

    requests: list[Request]
    outcomes: list[Outcome]
    credits: list[workflows.Credit]
    status: Status


class Stage:
    """A workflow and an environment side by side, as the host brings them together."""

    def __init__(
        self, workflow: type[Workflow], environment: type[Environment], task: Task, **settings: Any
    ) -> None:
        all = declared.chosen(workflow.description.settings, settings)
        actions = environment.description.actions
        roles = workflow.configure(all, actions).roles
        self.seats = [Seat(role.name, n) for role in roles for n in range(role.seats)]
        self.environment = Episode(environment, task)
        rules = [(None, self.environment.rules(self.seats[0]))]
        turns = environment.configure(task.settings).max_turns
        self._most = turns * len(self.seats)
        name = environment.description.name
        briefing = workflows.Briefing(name, rules, actions, all, turns, [], None)
        self._sessions = workflows.Session.of(workflow)
        self._session = self._sessions.start(briefing)
        self.played = Played([], [], [], Status.ONGOING)

    def play(self, player: Player) -> Played:
        """Play to the end with somebody who answers every request."""
        due: list[Request] = []
        step = self._advance(workflows.Begun(self._views()))
        for _ in range(_TURNS):
            if len(self.played.requests) > self._most:
                break
            match step.directive:
                case workflows.Ask(requests):
                    due += requests
                    self.played.requests += requests
                    step = self._answer(due, player)
                case workflows.Wait():
                    step = self._answer(due, player)
                case workflows.Act(moves):
                    step = self._act(moves)
                case _:
                    break
        return self.played

    def demonstrate(self, request: Request) -> str:
        """The expert's answer to a request, as the workflow phrases it."""
        expert = self.environment.demonstrate(request.seat)
        told = expert and self._session.demonstrate(request.seat, expert)
        return told or ""

    def _advance(self, event: workflows.Event) -> workflows.Step:
        saved = self._session.save()
        if saved is not None:
            self._session = self._sessions.resume(saved)
        step = self._session.advance(event)
        self.played.credits += step.credits
        return step

    def _answer(self, due: list[Request], player: Player) -> workflows.Step:
        if not due:
            raise Problem.order("it waits, but nobody was asked")
        request = due.pop(0)
        number = len(self.played.requests) - len(due) - 1
        text = player(request)
        return self._advance(
            workflows.Replied(Reply(request.seat, number, request.thread, text, True))
        )

    def _act(self, moves: list[Move]) -> workflows.Step:
        outcome = self.environment.act_together(moves)
        self.played.outcomes.append(outcome)
        self.played.status = outcome.status
        effects = zip(moves, outcome.effects, strict=True)
        results = [
            workflows.ResultOfMove(move.seat, effect.accepted, effect.feedback)
            for move, effect in effects
        ]
        consequence = workflows.Consequence(results, self._views(), None, outcome.status)
        return self._advance(workflows.Acted(consequence))

    def _views(self) -> list[View]:
        parts = [(seat, self.environment._episode.observe(seat)) for seat in self.seats]
        return [View(seat, shown) for seat, shown in parts]


def check_workflow(
    workflow: type[Workflow], environment: type[Environment], tasks: int = 5, **settings: Any
) -> None:
    """Whether the workflow comes to an end with every answer, and solves the tasks
    of this environment if everybody answers as it demonstrates."""
    for seed in range(tasks):
        for words in ("", "no action at all", "</think>"):
            Stage(workflow, environment, environment.task(seed), **settings).play(lambda _: words)
        stage = Stage(workflow, environment, environment.task(seed), **settings)
        played = stage.play(stage.demonstrate)
        assert played.status is Status.SOLVED, f"task {seed}: the expert's answers do not solve it"


def rehearse_environment(kind: type[Environment]) -> None:
    """Play what an instance of a component is to be fast at from its first call on."""
    for seed in range(4):
        for split in Split:
            play_expert(play(kind, seed, split))
            episode = play(kind, seed, split)
            episode.rules()
            for each in kind.description.actions:
                episode.observe()
                episode.act("?", each.name)


class Guess(Environment):
    """What a workflow is rehearsed with."""

    description = environments.Description("guess", "0.1.0", "", actions={"guess": "a number"})
    turns: int = 0

    @classmethod
    def start(cls, task: Task) -> Guess:
        return cls()

    def rules(self, seat: Seat) -> str:
        return "Guess."

    def observe(self, seat: Seat) -> str:
        return "guess"

    def act(self, seat: Seat, action: Action) -> Outcome:
        self.turns += 1
        outcome = Outcome.accepted("lower")
        return outcome.solved() if self.turns == 8 else outcome

    def demonstrate(self, seat: Seat) -> Action:
        return Action("guess", "1")


def rehearse_workflow(kind: type[Workflow]) -> None:
    """The same for workflows."""
    for player in (lambda _: "1", lambda _: ""):
        Stage(kind, Guess, Guess.task()).play(player)
    stage = Stage(kind, Guess, Guess.task())
    stage.play(stage.demonstrate)
