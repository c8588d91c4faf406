"""Computes the verdicts of ../experiments.md again, from the cells beside this file."""
import json, math, pathlib, tomllib

here = pathlib.Path(__file__).parent
file = tomllib.loads((here / "../../configs/experiments/stronger-together.toml").read_text())
answers = {row["name"]: row.get("answers", "greedy") for row in file["rows"]}
mean = lambda numbers: sum(numbers) / len(numbers)
squares = lambda numbers: sum((number - mean(numbers)) ** 2 for number in numbers)

def solved(part, row, seed):
    after = json.loads((here / f"cells/{part}/{row}-{seed}.json").read_text())["sitting"]["after"]
    families = after[answers.get(row, "greedy")].values()
    return [count / family["of"] for family in families for count in family["solved"]]

def spread(table):  # seeds × tasks: the mean, its standard error, degrees of freedom
    (s, n), seeds, tasks = (len(table), len(table[0])), [*map(mean, table)], [*map(mean, zip(*table))]
    rest = sum((x - a - b + mean(seeds)) ** 2 for line, a in zip(table, seeds) for x, b in zip(line, tasks))
    of_seeds = n * squares(seeds) / (s - 1)
    of_tasks = max(s * squares(tasks) / (n - 1) - rest / (s - 1) / (n - 1), 0)
    parts = of_seeds**2 / (s - 1) + of_tasks**2 / (n - 1)
    freedom = int((of_seeds + of_tasks) ** 2 / parts + 1e-9) if parts else 1
    return mean(seeds), math.sqrt((of_seeds + of_tasks) / s / n), max(freedom, 1)

def two_sided(way, error, freedom, steps=4000):  # Student's: x = √f·tan a
    power = lambda a: math.cos(a) ** (freedom - 1)
    area = lambda top: sum(power((k + 0.5) * top / steps) for k in range(steps)) * top / steps
    return 1 - area(math.atan(abs(way) / error / math.sqrt(freedom))) / area(math.pi / 2) if error else float(way == 0)

def holm(chances):
    highest, corrected = 0, {}
    for rank, (name, chance) in enumerate(sorted(chances.items(), key=lambda one: one[1])):
        corrected[name] = highest = min(max(highest, (len(chances) - rank) * chance), 1)
    return corrected

families = {}
for claim in file["compare"]:
    for part in claim.get("on", [part["name"] for part in file["environments"]]):
        try:
            better, than = ([solved(part, claim[side], seed) for seed in file["seeds"]] for side in ("better", "than"))
            pairs = [[a - b for a, b in zip(*both)] for both in zip(better, than)]
        except FileNotFoundError:
            continue
        families.setdefault(claim.get("family", part), {})[part, claim["better"], claim["than"]] = spread(pairs)
for family, found in families.items():
    none = holm({name: two_sided(*one) for name, one in found.items()})
    for (part, better, than), (difference, error, freedom) in found.items():
        verdict = "not shown" if none[part, better, than] >= 0.05 else "shown" if difference > 0 else "the opposite"
        print(f"{family}: {better} − {than} on {part}: {100 * difference:+.1f} points, chance {none[part, better, than]:.3f}: {verdict}")
