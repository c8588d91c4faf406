"""Environments: their state, their problems, what a component would see of them."""

from __future__ import annotations

import functools
import unittest
from dataclasses import dataclass, field
from enum import Enum

from troupe_plugin.author import the_class
from troupe_plugin.environment import (
    Action,
    Configuration,
    Description,
    Environment,
    Episode,
    Outcome,
    Random,
    Seat,
    Setting,
    Settings,
    Split,
    Task,
)
from troupe_plugin.settings import (
    Configured,
    FlagValue,
    IntegerValue,
    NumberValue,
    TextValue,
    checked,
    chosen,
)
from troupe_plugin.testing import check_environment, play
from troupe_plugin.types import REUSABLE, Fault, Move, Problem

PLAYER = Seat("player")


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Card:
    color: Color
    value: int


@dataclass(frozen=True)
class Place:
    """All of them fall into one place of a set, so that it keeps their order."""

    number: int

    def __hash__(self) -> int:
        return 0


class Bag(Environment):
    description = Description("bag", "1.0.0", "A bag.", actions={"take": "a number"})

    places: set[Place]


class Cards(Environment):
    """Say the value of the last card; it uses every kind of field."""

    description = Description(
        "cards",
        "1.0.0",
        "Say what lies on top.",
        actions={"say": "a number", "skip": "nothing"},
        settings=[
            Setting.integer("cards", "How many.", 1, 9, 4),
            Setting.flag("open", "Whether they lie open.", True),
        ],
        reusable=True,
        presets={"few": ("Two cards.", {"cards": 2, "open": False})},
    )

    cards: list[Card]
    random: Random
    by_color: dict[Color, list[int]]
    top: Card | None = None
    seen: set[Color] = field(default_factory=set)
    pair: tuple[Card, int] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def configure(cls, settings: Settings) -> Configuration:
        return Configuration(max_turns=settings["cards"], seats=["player", "player"])

    @classmethod
    def start(cls, task: Task) -> Cards:
        random = task.random("cards")
        values = task.owned(lambda: [random.below(9) for _ in range(task.settings["cards"])])
        cards = [Card(random.choose(list(Color)), value) for value in values]
        by_color = {color: [c.value for c in cards if c.color is color] for color in Color}
        return cls(cards, random, by_color, cards[-1], {Color.RED}, (cards[0], 1))

    def rules(self, seat: Seat) -> str:
        return "Say the last number."

    def observe(self, seat: Seat) -> str:
        return " ".join(str(card.value) for card in self.cards)

    def act(self, seat: Seat, action: Action) -> Outcome:
        if not action.text.isdigit():
            return Outcome.rejected("no number").local("unreadable", -0.1)
        self.notes += (action.text,)
        outcome = Outcome.accepted().team("drawn", 0.5).seat(Seat("banker"), "fee", 1)
        return outcome.solved() if int(action.text) == self.total else outcome

    def demonstrate(self, seat: Seat) -> Action:
        return Action("say", str(self.total))

    @functools.cached_property
    def total(self) -> int:
        return self.cards[-1].value


def fault(call) -> tuple[Fault, str]:
    try:
        call()
    except Problem as problem:
        return problem.fault, problem.message
    raise AssertionError("no problem")


class State(unittest.TestCase):
    def test_every_kind_of_field_comes_back(self):
        before = Cards.start(Cards.task(seed=2))
        after = Cards.resume(before.save())
        self.assertEqual(vars(after).keys(), vars(before).keys())
        self.assertEqual(after.cards, before.cards)
        self.assertEqual(after.random.bits(), before.random.bits())
        others = [(each.by_color, each.top, each.seen, each.pair) for each in (before, after)]
        self.assertEqual(*others)

    def test_equal_states_have_equal_bytes_however_they_came_about(self):
        one, other = (Cards.start(Cards.task(seed=2)) for _ in range(2))
        other.notes = ("1" + str(len("x")),)[:0]
        other.seen = {Color.BLUE, Color.RED} - {Color.BLUE}
        self.assertEqual(one.save(), other.save())
        self.assertEqual(one.save(), Cards.resume(one.save()).save())
        one.total
        self.assertEqual(one.save(), other.save())

    def test_sets_have_no_order(self):
        one, other = Bag({Place(1), Place(2)}), Bag({Place(2), Place(1)})
        self.assertNotEqual(*([each.number for each in bag.places] for bag in (one, other)))
        self.assertEqual(one.save(), other.save())

    def test_what_is_not_declared_is_missed_at_once(self):
        cards = Cards.start(Cards.task())
        cards.forgotten = 1
        kind, message = fault(cards.save)
        self.assertEqual(kind, Fault.INTERNAL)
        self.assertIn("`self.forgotten` is no field of `Cards`", message)

    def test_a_field_without_a_value_is_missed_as_well(self):
        cards = Cards.start(Cards.task())
        del cards.cards
        self.assertIn("the field `cards` has no value", fault(cards.save)[1])
        cards.forgotten = 1
        self.assertIn("`self.forgotten`", fault(cards.save)[1])

    def test_what_cannot_be_saved_is_named(self):
        cards = Cards.start(Cards.task())
        cards.notes = (object(),)
        self.assertIn("the field `notes`", fault(cards.save)[1])

    def test_other_bytes_are_no_state(self):
        saved = Episode.of(Cards).start(Cards.task()).save()
        for bytes in (b"", b"\0", saved[:-1], saved + b"\2", b"abcd" + saved[4:]):
            self.assertEqual(fault(lambda: Episode.of(Cards).resume(bytes))[0], Fault.STATE)


class Values(unittest.TestCase):
    DECLARED = [
        Setting.integer("walls", "Walls.", 0, 9, 4),
        Setting.number("slip", "Chance to slip.", 0, 0.9, 0.5),
        Setting.flag("fog", "Whether there is fog.", True),
        Setting.choice("view", "The view.", ["list", "map"]),
        Setting.text("name", "A name.", "ann"),
    ]

    def test_what_is_outside_of_its_domain_is_refused(self):
        for name, value, reason in [
            ("walls", IntegerValue(10), "`walls` is 10, but must be a whole number from 0 to 9"),
            ("walls", NumberValue(4.0), "`walls` is 4.0, but must be a whole number from 0 to 9"),
            ("walls", FlagValue(True), "`walls` is true, but must be a whole number from 0 to 9"),
            ("slip", NumberValue(1.5), "`slip` is 1.5, but must be a number from 0 to 0.9"),
            ("slip", NumberValue(float("nan")), "`slip` is nan, but must be a number from 0 to 0.9"),
            ("slip", IntegerValue(1), "`slip` is 1, but must be a number from 0 to 0.9"),
            ("fog", TextValue("yes"), '`fog` is "yes", but must be true or false'),
            ("view", TextValue("sphere"), '`view` is "sphere", but must be one of "list", "map"'),
            ("name", FlagValue(False), "`name` is false, but must be a string"),
            ("doors", IntegerValue(1), "there is no setting `doors`"),
        ]:
            refused = fault(lambda: checked(self.DECLARED, [Configured(name, value)]))
            self.assertEqual(refused, (Fault.SETTINGS, reason))

    def test_what_is_chosen_in_a_test_is_checked_as_well(self):
        given = chosen(self.DECLARED, {"walls": 9, "slip": 0, "view": "map"})
        others = {"fog": True, "name": "ann"}
        self.assertEqual(given, {"walls": 9, "slip": 0, "view": "map"} | others)
        for settings in ({"cards": 10}, {"open": 1}, {"doors": 1}):
            self.assertEqual(fault(lambda: play(Cards, **settings))[0], Fault.SETTINGS)


class Calls(unittest.TestCase):
    def test_nothing_is_done_after_the_end(self):
        episode = play(Cards, seed=1)
        episode.act(episode.demonstrate().text)
        self.assertIsNone(episode.demonstrate())
        self.assertEqual(fault(lambda: episode.act("1"))[0], Fault.ORDER)

    def test_an_action_of_a_kind_that_was_not_described_is_refused(self):
        episode = play(Cards, seed=1)
        refusal = (Fault.ORDER, "there is no action of kind `shout` here")
        self.assertEqual(fault(lambda: episode.act("1", kind="shout")), refusal)
        moves = [Move(PLAYER, Action(kind, "1")) for kind in ("say", "shout")]
        self.assertEqual(fault(lambda: episode.act_together(moves)), refusal)
        self.assertEqual(episode.environment.notes, ())

    def test_moves_at_the_same_time_are_carried_out_until_one_ends_the_episode(self):
        episode = play(Cards, seed=1)
        wrong, right = "77", episode.demonstrate().text
        texts = [wrong, "x", right, right]
        moves = [Move(PLAYER, Action("say", text)) for text in texts]
        outcome = episode.act_together(moves)
        self.assertEqual([e.accepted for e in outcome.effects], [True, False, True, False])
        movers = [award.to.value for award in outcome.awards if award.name == "unreadable"]
        self.assertEqual(movers, [1])

    def test_exceptions_become_problems_that_name_the_line(self):
        try:
            Cards.start(Task(Split.TRAIN, 0))
        except Problem as problem:
            self.assertEqual(problem.fault, Fault.SETTINGS)
        try:
            {}["secret"]
        except KeyError as error:
            problem = Problem.of(error)
            self.assertEqual(problem.fault, Fault.INTERNAL)
            self.assertRegex(problem.message, r"KeyError: 'secret' \(test_environment.py:\d+, in ")

    def test_a_description_carries_what_the_contract_has_no_field_for(self):
        extras = Cards.description.extras
        self.assertEqual(extras[0], REUSABLE)
        self.assertEqual(extras[1].value, "few\nTwo cards.\ncards = 2\nopen = false")
        self.assertEqual(Cards.configure(Cards.task().settings).extras[0].value, "player player")

    def test_the_check_passes_what_is_sound_and_names_what_is_not(self):
        check_environment(Cards, tasks=5, cards=6)

        class Blind(Cards):
            def demonstrate(self, seat: Seat) -> Action:
                return Action("skip", "")

        class Repeated(Cards):
            @classmethod
            def start(cls, task: Task) -> Repeated:
                return super().start(Task(Split.TRAIN, task.seed, task.settings))

        with self.assertRaisesRegex(AssertionError, "the train split has this task, too"):
            check_environment(Repeated, tasks=3)
        with self.assertRaises(AssertionError):
            Blind.act = lambda self, seat, action: Outcome.rejected().failed()
            check_environment(Blind, tasks=1)

    def test_a_module_has_one_class_to_be_exported(self):
        module = type("module", (), {"__name__": "cards", "Cards": Cards, "base": Environment})
        self.assertIs(the_class(module, Environment), Cards)
        module.Other = type("Other", (Cards,), {})
        self.assertIs(the_class(module, Environment), module.Other)
        module.Third = type("Third", (Environment,), {"description": Cards.description})
        with self.assertRaisesRegex(TypeError, "has `Other`, `Third`"):
            the_class(module, Environment)
