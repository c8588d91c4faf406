"""The game of life, which is all that is used of the package of this name."""

from __future__ import annotations

from typing import Any

import numpy


def game_of_life_rule(*_: Any) -> int:
    """The only rule there is; `evolve2d` knows it."""
    raise NotImplementedError


def init_simple2d(rows: int, columns: int, val: int = 1, **_: Any) -> numpy.ndarray:
    """An empty board but for its middle."""
    board = numpy.zeros((1, rows, columns), dtype=int)
    board[0, rows // 2, columns // 2] = val
    return board


def evolve2d(board: numpy.ndarray, timesteps: Any, apply_rule: Any, **_: Any) -> numpy.ndarray:
    """All boards of a game, on a torus."""
    boards = [board[-1].tolist()]
    step = 1
    while timesteps(numpy.array(boards), step) if callable(timesteps) else step < timesteps:
        boards.append(_next(boards[-1]))
        step += 1
    return numpy.array(boards)


def _next(board: list[list[int]]) -> list[list[int]]:
    rows, columns = len(board), len(board[0])

    def lives(row: int, column: int) -> int:
        around = sum(
            board[(row + down) % rows][(column + right) % columns]
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
            if down or right
        )
        return int(around == 3 or (around == 2 and board[row][column] == 1))

    return [[lives(row, column) for column in range(columns)] for row in range(rows)]
