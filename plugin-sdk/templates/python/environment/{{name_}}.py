"""{{Name}}: find a number from 1 to 100 within eight guesses."""

from troupe_plugin.environment import (
    Action, Configuration, Description, Environment, Outcome, Seat, Settings, Task,
)

TURNS = 8


class {{Name}}(Environment):
    description = Description(
        "{{name}}",
        "{{version}}",
        "Find a number from 1 to 100.",
        actions={"guess": "one whole number, such as `7`"},
        reusable=True,
    )

    # One episode: everything that happened is in these fields, and all of them are saved.
    secret: int
    above: int = 0  # the secret lies above this,
    below: int = 101  # and below this
    guesses: int = 0

    @classmethod
    def configure(cls, settings: Settings) -> Configuration:
        # Every word that can be seen or said, for policies that have no tokenizer of their own.
        words = ["above", "below", *map(str, range(102))]
        return Configuration(vocabulary=words, max_turns=TURNS)

    @classmethod
    def start(cls, task: Task) -> "{{Name}}":
        random = task.random("secret")
        # A secret belongs to one split, so that no task is in two of them.
        secret = task.owned(
            lambda: random.integer(1, 100), key=lambda secret: secret.to_bytes(4, "little")
        )
        return cls(secret)

    def rules(self, seat: Seat) -> str:
        return (
            f"Find the secret number within {TURNS} guesses. "
            "You are told above and below which numbers it lies."
        )

    def observe(self, seat: Seat) -> str:
        return f"above {self.above} below {self.below}"

    def act(self, seat: Seat, action: Action) -> Outcome:
        self.guesses += 1
        text = action.text.strip()
        guess = int(text) if text.isascii() and text.isdigit() else 0
        if guess == self.secret:
            return Outcome.accepted().team("found", 1.0).solved()
        if 1 <= guess <= 100:
            before = self.below - self.above
            if guess < self.secret:
                self.above = max(self.above, guess)
            else:
                self.below = min(self.below, guess)
            # What is left shrinks and never grows, so this cannot be earned twice.
            narrowed = (before - (self.below - self.above)) / 100
            outcome = Outcome.accepted().team("narrowed", 0.5 * narrowed)
        else:
            outcome = Outcome.rejected("This is not a number from 1 to 100.")
            outcome.local("unreadable", -0.1)
        return outcome.failed() if self.guesses == TURNS else outcome

    def demonstrate(self, seat: Seat) -> Action:
        return Action("guess", str((self.above + self.below) // 2))
