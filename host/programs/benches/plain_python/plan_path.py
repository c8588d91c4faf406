"""`plan-path` with its default settings, as one would write it in Python."""

from collections import deque

from .sdk import STEPS, Chance, is_train, read


class PlanPath:
    def __init__(self, seed, size=10, walls=12, moves_per_turn=3):
        chance = Chance(seed, "maze")
        self.size, self.moves_per_turn = size, moves_per_turn
        while True:
            order = list(range(size * size))
            chance.shuffle(order)
            self.walls = [False] * (size * size)
            for index in order[2 : 2 + walls]:
                self.walls[index] = True
            self.goal, self.here = divmod(order[0], size), divmod(order[1], size)
            distance = self.distances()[order[1]]
            problem = bytes(not wall for wall in self.walls) + bytes(self.goal + self.here)
            if distance is not None and 3 <= distance <= 14 and is_train(problem):
                break
        self.visited = [self.here]
        self.refused = ""

    def is_free(self, row, column):
        inside = 0 <= row < self.size and 0 <= column < self.size
        return inside and not self.walls[row * self.size + column]

    def distances(self):
        steps = [None] * (self.size * self.size)
        steps[self.goal[0] * self.size + self.goal[1]] = 0
        reached = deque([(self.goal, 0)])
        while reached:
            (row, column), distance = reached.popleft()
            for down, right in STEPS.values():
                y, x = row + down, column + right
                if self.is_free(y, x) and steps[y * self.size + x] is None:
                    steps[y * self.size + x] = distance + 1
                    reached.append(((y, x), distance + 1))
        return steps

    def act(self, text):
        """Whether it was carried out in full, what is said of it, awards, and how things stand."""
        moves, self.refused = read(text, self.moves_per_turn)
        if moves is None:
            awards = [("player", "unreadable", -0.3), ("player", "idle", -0.3)]
            return False, self.refused, awards, "ongoing"
        awards = self.walk(moves)
        status = "ongoing"
        if self.here == self.goal:
            awards.append(("team", "reached", 0.5))
            status = "solved"
        return not self.refused, self.refused, awards, status

    def walk(self, moves):
        awards, entered, here = [], [], self.here
        for word in moves:
            down, right = STEPS[word]
            there = here[0] + down, here[1] + right
            if not self.is_free(*there):
                self.refused = f"`{word}` is not possible there."
                awards.append(("player", "illegal", -0.1))
                break
            here = there
            entered.append(here)
            if here == self.goal:
                break
        if not entered:
            self.refused = self.refused or "No moves were given."
            return awards + [("player", "idle", -0.3)]
        steps = self.distances()
        before, after = (steps[row * self.size + column] for row, column in (self.here, here))
        if before != after:
            awards.append(("team", "progress", (before - after) / self.moves_per_turn))
        if here in self.visited:
            awards.append(("player", "revisit", -0.1))
        for cell in entered:
            if cell in self.visited:
                self.visited.remove(cell)
            self.visited.append(cell)
        self.here = here
        return awards

    def observe(self):
        row, column = self.here
        near = [(y, x) for y in range(-3, 4) for x in range(-3, 4)]
        walls = [(y, x) for y, x in near if not self.is_free(row + y, column + x)]
        distance = lambda at: abs(at[0]) + abs(at[1])
        walls.sort(key=lambda at: (distance(at), self.is_edge(row + at[0], column + at[1])))
        seen = [(y - row, x - column) for y, x in reversed(self.visited)]
        seen = [at for at in seen if at != (0, 0) and max(abs(at[0]), abs(at[1])) <= 3]
        words = [f"row{self.goal[0] - row:+}", f"col{self.goal[1] - column:+}"]
        words += [f"W({y:+},{x:+})" for y, x in walls[:12]]
        return " ".join(words + [f"V({y:+},{x:+})" for y, x in seen[:4]])

    def is_edge(self, row, column):
        return not (0 <= row < self.size and 0 <= column < self.size)

    def expert(self):
        """The next moves of a shortest way, first along the axis on which the goal is further."""
        steps, moves, here = self.distances(), [], self.here
        while len(moves) < self.moves_per_turn and here != self.goal:
            now = steps[here[0] * self.size + here[1]]
            for word in self.preferences(here):
                y, x = here[0] + STEPS[word][0], here[1] + STEPS[word][1]
                if self.is_free(y, x) and steps[y * self.size + x] < now:
                    moves.append(word)
                    here = y, x
                    break
        return " ".join(moves)

    def preferences(self, here):
        down, right = self.goal[0] - here[0], self.goal[1] - here[1]
        vertical = "UD" if down < 0 else "DU"
        horizontal = "LR" if right < 0 else "RL"
        if abs(down) >= abs(right):
            return vertical[0] + horizontal + vertical[1]
        return horizontal[0] + vertical + horizontal[1]
