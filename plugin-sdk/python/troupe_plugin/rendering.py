"""How episodes look, for people who play, watch or read about them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Rendering:
    """An episode, drawn: in characters, for a terminal, and as an SVG image."""

    text: str
    svg: str


def escaped(text: str) -> str:
    """Text as it may stand in an image: whatever it says, the image can only be
    looked at."""
    return "".join(map(_written, text))


def _written(letter: str) -> str:
    # Without `f` nobody can spell `href`; all else that is refused has a sign in it.
    if letter == " " or (letter.isascii() and letter.isalnum() and letter not in "fF"):
        return letter
    return " " if ord(letter) < 32 or 127 <= ord(letter) < 160 else f"&#{ord(letter)};"
