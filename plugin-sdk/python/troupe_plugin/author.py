"""What an author's module defines."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def the_class(author: ModuleType, base: type) -> Any:
    """The author's one class that derives from this one, and from which nothing
    else of theirs does."""
    defined = {each for each in vars(author).values() if isinstance(each, type)}
    mine = [each for each in defined if issubclass(each, base) and each is not base]
    last = [each for each in mine if not any(each in other.__mro__[1:] for other in mine)]
    if len(last) != 1:
        names = ", ".join(sorted(f"`{each.__name__}`" for each in last)) or "none"
        raise TypeError(
            f"`{author.__name__}.py` has to define one class that derives from `{base.__name__}`, "
            f"but has {names}"
        )
    if not hasattr(last[0], "description"):
        raise TypeError(f"the class `{last[0].__name__}` has no `description`")
    return last[0]
