"""The distance of two trees (Zhang and Shasha, 1989)."""

from __future__ import annotations

from functools import cache
from typing import Any, Callable


class Node:
    """A label, and the nodes below it in their order."""

    def __init__(self, label: Any, children: list[Node] | None = None) -> None:
        self.label = label
        self.children = list(children or [])

    def addkid(self, node: Node, before: bool = False) -> Node:
        self.children.insert(0 if before else len(self.children), node)
        return self


def simple_distance(
    one: Node,
    other: Node,
    get_children: Callable[[Node], list[Node]] = lambda node: node.children,
    get_label: Callable[[Node], Any] = lambda node: node.label,
    label_dist: Callable[[Any, Any], float] = lambda a, b: float(a != b),
) -> float:
    """The least cost of turning one tree into the other."""

    @cache
    def size(forest: tuple[Node, ...]) -> float:
        return sum(label_dist("", get_label(n)) + size(tuple(get_children(n))) for n in forest)

    @cache
    def distance(left: tuple[Node, ...], right: tuple[Node, ...]) -> float:
        if not left or not right:
            return size(left or right)
        a, b = left[-1], right[-1]
        inside_a, inside_b = tuple(get_children(a)), tuple(get_children(b))
        removed = distance(left[:-1] + inside_a, right) + label_dist(get_label(a), "")
        inserted = distance(left, right[:-1] + inside_b) + label_dist("", get_label(b))
        changed = label_dist(get_label(a), get_label(b))
        matched = distance(inside_a, inside_b) + distance(left[:-1], right[:-1]) + changed
        return min(removed, inserted, matched)

    return distance((one,), (other,))
