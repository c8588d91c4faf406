"""`sokoban` with its default settings, as one would write it in Python."""

import heapq
from collections import deque
from itertools import permutations

from .sdk import STEPS, Chance, is_train, read

NO_WAY = 100_000
BACK = {"U": "D", "D": "U", "L": "R", "R": "L"}
UNKNOWN = "unknown"


class Level:
    """Walls and goals, row by row; whatever is off the board is wall."""

    def __init__(self, width, walls, goals):
        self.width, self.walls, self.goals = width, walls, goals
        self.height = len(walls) // width

    def floor_at(self, row, column):
        if 0 <= row < self.height and 0 <= column < self.width:
            cell = row * self.width + column
            if not self.walls[cell]:
                return cell
        return None

    def after(self, cell, step):
        row, column = divmod(cell, self.width)
        down, right = STEPS[step]
        return self.floor_at(row + down, column + right)

    def is_solved(self, boxes):
        return all(self.goals[box] for box in boxes)

    def move(self, player, boxes, step):
        """Where everything is after a step, or nothing where something is in the way."""
        there = self.after(player, step)
        if there is None:
            return None
        if there in boxes:
            behind = self.after(there, step)
            if behind is None or behind in boxes:
                return None
            boxes = shifted(boxes, there, behind)
        return there, boxes


def shifted(boxes, start, end):
    return sorted(end if box == start else box for box in boxes)


class Solver:
    """A* over where the boxes are and where the player can go."""

    def __init__(self, level):
        self.level = level
        goals = [cell for cell, is_goal in enumerate(level.goals) if is_goal]
        self.pulls = {goal: self.pulled(goal) for goal in goals}

    def pulled(self, goal):
        """Pushes from every cell to a goal, if no other box were in the way."""
        pulls = [NO_WAY] * len(self.level.walls)
        pulls[goal] = 0
        reached = deque([goal])
        while reached:
            cell = reached.popleft()
            for step in STEPS:
                there = self.level.after(cell, step)
                if there is not None and pulls[there] == NO_WAY:
                    if self.level.after(there, step) is not None:
                        pulls[there] = pulls[cell] + 1
                        reached.append(there)
        return pulls

    def is_dead(self, cell):
        return all(pulls[cell] == NO_WAY for pulls in self.pulls.values())

    def assignment(self, boxes):
        """A goal for every box, so that the sum of pushes is the least."""
        if len(boxes) == 1:
            return [min(self.pulls, key=lambda goal: self.pulls[goal][boxes[0]])]
        ways = permutations(self.pulls, len(boxes))
        return min(ways, key=lambda goals: sum(self.pulls[g][b] for g, b in zip(goals, boxes)))

    def at_least(self, boxes):
        return sum(self.pulls[goal][box] for goal, box in zip(self.assignment(boxes), boxes))

    def is_stuck(self, boxes):
        """Whether some box can never come to a goal, as far as that is seen at a glance."""
        if any(self.is_dead(box) for box in boxes):
            return True
        frozen = boxes
        while True:
            left = [box for box in frozen if self.stays(box, frozen)]
            if len(left) == len(frozen):
                return any(not self.level.goals[box] for box in left)
            frozen = left

    def stays(self, box, frozen):
        for axis in "UD", "LR":
            sides = [self.level.after(box, step) for step in axis]
            has_wall = any(side is None or side in frozen for side in sides)
            if not has_wall and not all(self.is_dead(side) for side in sides):
                return False
        return True

    def reach(self, player, boxes):
        """Steps from the player to every cell that it can reach without a push."""
        steps = [None] * len(self.level.walls)
        steps[player] = 0
        reached = deque([player])
        while reached:
            cell = reached.popleft()
            for step in STEPS:
                there = self.level.after(cell, step)
                if there is not None and steps[there] is None and there not in boxes:
                    steps[there] = steps[cell] + 1
                    reached.append(there)
        return steps

    def solve(self, player, boxes, haste=1, positions=3_000):
        """The moves of a solution, nothing if there is none, or that it is unknown."""
        nodes, best, queue = [], {}, []

        def meet(player, boxes, pushes, moves, came_by):
            left = self.at_least(boxes)
            if left < NO_WAY:
                heapq.heappush(queue, (pushes + haste * left, moves, len(nodes)))
                nodes.append((player, boxes, pushes, moves, came_by))

        meet(player, boxes, 0, 0, None)
        while queue:
            index = heapq.heappop(queue)[2]
            player, boxes, pushes, moves, _ = nodes[index]
            if self.level.is_solved(boxes):
                return self.way(nodes, index)
            if len(nodes) >= positions:
                return UNKNOWN
            reach = self.reach(player, boxes)
            is_alone = len(boxes) == 1
            first = next(cell for cell, steps in enumerate(reach) if steps is not None)
            key = (player if is_alone else first, tuple(boxes))
            cost = (pushes, moves if is_alone else 0)
            if key in best and best[key] <= cost:
                continue
            best[key] = cost
            for box, behind, ahead, step in self.pushes(boxes, reach):
                pushed = shifted(boxes, box, ahead)
                if not self.is_stuck(pushed):
                    walked = moves + reach[behind] + 1
                    meet(box, pushed, pushes + 1, walked, (index, behind, step))
        return None

    def pushes(self, boxes, reach):
        for box in boxes:
            for step in STEPS:
                behind, ahead = self.level.after(box, BACK[step]), self.level.after(box, step)
                if behind is not None and ahead is not None:
                    if reach[behind] is not None and ahead not in boxes:
                        yield box, behind, ahead, step

    def solve_somehow(self, player, boxes):
        way = self.solve(player, boxes)
        return self.solve(player, boxes, haste=4, positions=12_000) if way is UNKNOWN else way

    def way(self, nodes, index):
        came_by, way = nodes[index][4], []
        while came_by:
            before, behind, step = came_by
            player, boxes, _, _, came_by = nodes[before]
            way.append(self.stroll(player, boxes, behind) + [step])
        return [step for part in reversed(way) for step in part]

    def stroll(self, player, boxes, to):
        steps, way = self.reach(to, boxes), []
        while player != to:
            for step in STEPS:
                there = self.level.after(player, step)
                if there is not None and steps[there] is not None and steps[there] < steps[player]:
                    way.append(step)
                    player = there
                    break
        return way


class Sokoban:
    def __init__(self, seed, size=6, moves_per_turn=3):
        chance = Chance(seed, "level")
        while True:
            drawn = drawn_level(chance, size)
            if drawn and is_train(looks(*drawn)) and suits(*drawn):
                break
        self.level, self.player, self.boxes = drawn
        self.moves_per_turn, self.far, self.refused = moves_per_turn, size - 1, ""
        self.by_solution = Solver(self.level).solve(self.player, self.boxes) is not UNKNOWN
        self.whole = 1
        self.left = self.left_from(self.boxes, self.player)
        self.whole = max(1, self.left)

    def left_from(self, boxes, player):
        """What is left of the way, or nothing where there is none any more."""
        if self.level.is_solved(boxes):
            return 0
        solver = Solver(self.level)
        pushes = solver.at_least(boxes)
        if pushes >= NO_WAY or solver.is_stuck(boxes):
            return None
        if not self.by_solution:
            return pushes
        way = solver.solve(player, boxes)
        if way is UNKNOWN:
            return 2 * self.whole
        return None if way is None else len(way)

    def worth(self, left):
        return -1.0 if left is None else max(-1.0, 1 - left / self.whole)

    def home(self):
        return sum(self.level.goals[box] for box in self.boxes) / len(self.boxes)

    def act(self, text):
        """Whether it was carried out in full, what is said of it, awards, and how things stand."""
        moves, self.refused = read(text, self.moves_per_turn)
        if moves is None:
            awards = [("player", "unreadable", -0.3), ("player", "idle", -0.3)]
            return False, self.refused, awards, "ongoing"
        worth, awards = self.worth(self.left), self.walk(moves)
        self.left = self.left_from(self.boxes, self.player)
        gained = self.worth(self.left) - worth
        awards = [award for award in awards + [("team", "progress", gained)] if award[2]]
        if self.level.is_solved(self.boxes):
            awards.append(("team", "solved", 1.0))
            return not self.refused, self.refused, awards, "solved"
        return not self.refused, self.refused, awards, "failed" if self.left is None else "ongoing"

    def walk(self, moves):
        awards, start, home = [], (self.player, self.boxes), self.home()
        for step in moves:
            moved = self.level.move(self.player, self.boxes, step)
            if moved:
                self.player, self.boxes = moved
            elif not self.refused:
                self.refused = f"Something was in the way of `{step}`."
                awards.append(("player", "blocked", -0.1))
        if (self.player, self.boxes) == start:
            self.refused = self.refused or "That changed nothing."
            awards.append(("player", "idle", -0.3))
        return awards + [("team", "home", 0.25 * (self.home() - home))]

    def observe(self):
        solver, level = Solver(self.level), self.level
        reach = solver.reach(self.player, self.boxes)
        goals = dict(zip(self.boxes, solver.assignment(self.boxes)))
        words = []
        for box in sorted(self.boxes, key=lambda box: (self.distance(box), box)):
            words.append("B({:+},{:+})".format(*self.offset(self.player, box)))
            words.append("G({:+},{:+})".format(*self.offset(box, goals[box])))
            for pushed, _, ahead, step in solver.pushes([box], reach):
                if ahead not in self.boxes:
                    loses = solver.is_stuck(shifted(self.boxes, pushed, ahead))
                    words.append(("lose:" if loses else "push:") + step)
        row, column = divmod(self.player, level.width)
        near = [(y, x) for y in range(-2, 3) for x in range(-2, 3) if abs(y) + abs(x) <= 2]
        walls = [(y, x) for y, x in near if level.floor_at(row + y, column + x) is None]
        walls.sort(key=lambda at: abs(at[0]) + abs(at[1]))
        return " ".join(words + [f"#({y:+},{x:+})" for y, x in walls])

    def offset(self, start, end):
        (row, column), (to_row, to_column) = (divmod(at, self.level.width) for at in (start, end))
        return tuple(max(-self.far, min(self.far, d)) for d in (to_row - row, to_column - column))

    def distance(self, box):
        return sum(map(abs, self.offset(self.player, box)))

    def expert(self):
        way = Solver(self.level).solve_somehow(self.player, self.boxes)
        return " ".join(way[: self.moves_per_turn])


def drawn_level(chance, size, boxes=1, walls=2):
    """A level played backwards: boxes on goals, and then many pulls."""
    inside = [y * size + x for y in range(1, size - 1) for x in range(1, size - 1)]
    chance.shuffle(inside)
    blocked, floor = set(inside[:walls]), inside[walls:]
    placed = sorted(floor[:boxes])
    is_wall = [cell in blocked or cell not in inside for cell in range(size * size)]
    level = Level(size, is_wall, [cell in placed for cell in range(size * size)])
    solver, player = Solver(level), floor[boxes]
    for _ in range(2 + chance.below(3 * 12)):
        reach, possible = solver.reach(player, placed), []
        for box in placed:
            for step in STEPS:
                there = level.after(box, step)
                if there is not None and reach[there] is not None:
                    behind = level.after(there, step)
                    if behind is not None and behind not in placed:
                        possible.append((box, there, behind))
        pull = chance.choice(possible)
        if pull is None:
            return None
        box, there, player = pull
        placed = shifted(placed, box, there)
    reach = solver.reach(player, placed)
    player = chance.choice([cell for cell, steps in enumerate(reach) if steps is not None])
    return level, player, placed


def suits(level, player, boxes, fewest=2, most=12):
    """Whether a solution is found that is neither too short nor too long."""
    solver = Solver(level)
    if level.is_solved(boxes) or solver.at_least(boxes) > most:
        return False
    way = solver.solve_somehow(player, boxes)
    if not way or way is UNKNOWN or len(way) > level.width * (2 + 3 * len(boxes)):
        return False
    pushes = 0
    for step in way:
        before = boxes
        player, boxes = level.move(player, boxes, step)
        pushes += boxes != before
    return fewest <= pushes <= most


def looks(level, player, boxes):
    """What a level looks like, which turning and mirroring do not change."""
    size = level.width

    def content(row, column):
        cell = row * size + column
        walls, goals = not level.walls[cell], level.goals[cell]
        return walls + 2 * goals + 4 * (cell in boxes) + 8 * (cell == player)

    def turned(symmetry):
        for row in range(size):
            for column in range(size):
                y = size - 1 - row if symmetry & 1 else row
                x = size - 1 - column if symmetry & 2 else column
                yield content(x, y) if symmetry & 4 else content(y, x)

    return min(bytes(turned(symmetry)) for symmetry in range(8))
