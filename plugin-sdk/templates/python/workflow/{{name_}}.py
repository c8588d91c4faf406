"""{{Name}}: a proposer says what to do, a player sees that and acts."""

from troupe_plugin.workflow import (
    Action, ActionKind, Briefing, Configuration, Consequence, Description, Reply, Request, Seat,
    Settings, Step, View, Workflow, act, action_kind, ask, finish, seen_by,
)


class {{Name}}(Workflow):
    description = Description("{{name}}", "{{version}}", "A proposer and a player.", reusable=True)

    # One session: all of this is saved.
    kind: str
    proposer: str
    player: str
    observation: str = ""

    @classmethod
    def configure(cls, settings: Settings, environment: list[ActionKind]) -> Configuration:
        action_kind(environment)
        return Configuration(
            roles={"proposer": "Proposes what to do.", "player": "Sees the proposal and acts."},
            vocabulary=["proposer", "player", "proposal"],
        )

    @classmethod
    def start(cls, briefing: Briefing) -> "{{Name}}":
        proposer = briefing.instructions("proposer", "Propose what the player should do.")
        player = briefing.instructions(
            "player", "Act. A proposal stands after `proposal`; follow it unless it is wrong."
        )
        return cls(action_kind(briefing.actions).name, proposer, player)

    def begun(self, views: list[View]) -> Step:
        return self.propose(seen_by(views, "proposer"))

    def replied(self, reply: Reply) -> Step:
        if reply.seat.role == "player":
            return act("player", self.kind, reply.answer)
        told = f"player {self.observation} proposal {reply.last_line}"
        return ask(Request("player").system(self.player).user(told.rstrip()))

    def acted(self, consequence: Consequence) -> Step:
        if consequence.is_ongoing:
            return self.propose(consequence.seen_by("proposer"))
        return finish()

    def propose(self, observation: str) -> Step:
        self.observation = observation
        # What a proposal is worth shows only once the player has acted.
        request = Request("proposer", is_open=True).system(self.proposer)
        return ask(request.user(f"proposer {observation}"))

    def demonstrate(self, seat: Seat, expert: Action) -> str:
        return expert.text
