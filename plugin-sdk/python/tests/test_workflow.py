"""Workflows beside an environment: who is asked, what is done, what was that worth."""

import unittest

from troupe_plugin.testing import Guess, Stage, check_workflow, rehearse_workflow
from troupe_plugin.types import ActionKind, Fault, Problem, Text
from troupe_plugin.workflow import (
    Action,
    Briefing,
    Configuration,
    Consequence,
    Description,
    Reply,
    Request,
    Role,
    Seat,
    Step,
    View,
    Workflow,
    act,
    action_kind,
    ask,
    finish,
    seen_by,
    wait,
)


class Vote(Workflow):
    """Two voters are asked at once; the last of them acts."""

    description = Description("vote", "1.0.0", "Vote.", actions=["guess"], reusable=True, tools=["run"])

    said: list[str]
    answers: list[int]

    @classmethod
    def configure(cls, settings, environment) -> Configuration:
        return Configuration([Role("voter", "Votes.", 2)], ["vote", "vote"])

    @classmethod
    def start(cls, briefing: Briefing) -> "Vote":
        return cls([], [])

    def begun(self, views: list[View]) -> Step:
        self.said, self.answers = [], []
        seen = seen_by(views, "voter")
        return ask(*(Request(Seat("voter", n)).system("Vote.").user(f"vote {seen}") for n in (0, 1)))

    def replied(self, reply: Reply) -> Step:
        self.said.append(reply.last_line)
        self.answers.append(reply.number)
        return wait() if len(self.said) == 1 else act(reply.seat, "guess", self.said[-1])

    def acted(self, consequence: Consequence) -> Step:
        step = self.begun(consequence.views) if consequence.is_ongoing else finish()
        return step.credit(0, "vote", 1)

    def demonstrate(self, seat: Seat, expert: Action) -> str:
        return expert.text


def reply(text: str, complete: bool = True) -> Reply:
    return Reply(Seat("player"), 0, "", text, complete)


class Turns(unittest.TestCase):
    def test_answers_that_are_due_together_come_one_by_one(self):
        played = Stage(Vote, Guess, Guess.task()).play(lambda request: str(request.seat.instance))
        seats = [request.seat.instance for request in played.requests[:4]]
        self.assertEqual(seats, [0, 1, 0, 1])
        self.assertEqual(played.credits[0].value, 1.0)
        self.assertEqual(len(played.outcomes), 8)
        check_workflow(Vote, Guess)
        rehearse_workflow(Vote)

    def test_what_was_not_asked_for_is_out_of_order(self):
        class Silent(Vote):
            def begun(self, views: list[View]) -> Step:
                return wait()

        with self.assertRaises(Problem) as raised:
            Stage(Silent, Guess, Guess.task()).play(lambda _: "")
        self.assertEqual(raised.exception.fault, Fault.ORDER)
        with self.assertRaisesRegex(Problem, "no tool was called"):
            Vote([], []).returned([])

    def test_the_tools_that_it_calls_are_told_to_the_host(self):
        said = [(extra.key, extra.value) for extra in Vote.description.extras]
        self.assertEqual(said, [("reusable", ""), ("tools", "run")])

    def test_thinking_is_no_answer(self):
        self.assertEqual(reply("<think>U?</think>\n\nD D\n").answer, "D D")
        self.assertEqual(reply("U?</think>first\nD").last_line, "D")
        self.assertEqual(reply("<think>U U U").answer, "")
        self.assertEqual(reply("U?</think>D<think>R?</think> <think>U U").answer, "")
        self.assertEqual(reply(" a\nb ").answer, "a\nb")
        # White space is the same in every language.
        self.assertEqual(reply("\xa0<think>U").answer, "")
        self.assertEqual(reply("a\x1cb\u2028c\x1c\xa0").last_line, "a\x1cb\u2028c\x1c")

    def test_what_the_limit_cut_is_no_answer(self):
        for text in ("D D", "<think>U?</think>D D", "U?</think>D\nD"):
            self.assertEqual(reply(text, complete=False).answer, "…")
            self.assertEqual(reply(text, complete=False).last_line, "…")

    def test_who_sees_what_is_said_by_the_views(self):
        all, one = View(None, [Text("all")]), View(Seat("voter", 1), [Text("one")])
        self.assertEqual(seen_by([one, all], Seat("voter", 1)), "one")
        self.assertEqual(seen_by([one, all], "voter"), "all")
        self.assertEqual(seen_by([], "voter"), "")

    def test_an_action_that_does_not_exist_is_refused_by_name(self):
        kinds = [ActionKind("guess", "a number"), ActionKind("pass", "nothing")]
        self.assertEqual(action_kind(kinds).name, "guess")
        with self.assertRaisesRegex(Problem, "no action `fly`, only `guess`, `pass`"):
            action_kind(kinds, "fly")
