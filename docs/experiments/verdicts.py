"""Computes the verdicts of ../experiments.md again, from the cells beside this file; or those of
another experiment: verdicts.py FILE CELLS."""
import json, math, pathlib, sys, tomllib

here = pathlib.Path(__file__).parent
FILE, CELLS = sys.argv[1:] or (here / "../../configs/experiments/stronger-together.toml", here / "cells")
file, cells = tomllib.loads(pathlib.Path(FILE).read_text()), pathlib.Path(CELLS)
everywhere = [part["name"] for part in file.get("environments", [{"name": ""}])]
parts = {row["name"]: row.get("on", everywhere) for row in file["rows"]}
for sweep in file.get("sweeps", []):
    values = sweep.get("values", []) + [one["name"] for one in sweep.get("choices", [])]
    parts |= {f"{sweep['name']}={value}": sweep.get("on", everywhere) for value in values}
answers = {row["name"]: row.get("answers", "greedy") for row in file["rows"]}
mean = lambda numbers: sum(numbers) / len(numbers)
squares = lambda numbers: sum((number - mean(numbers)) ** 2 for number in numbers)

def solved(part, row, seed):
    after = json.loads((cells / part / f"{row}-{seed}.json").read_text())["sitting"]["after"]
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

def beyond(way, error, freedom, steps=4000):  # one tail of Student's: x = √f·tan a
    if not error:
        return float(way <= 0)
    power = lambda a: math.cos(a) ** (freedom - 1)
    area = lambda top: sum(power((k + 0.5) * top / steps) for k in range(steps)) * top / steps
    return 0.5 - math.copysign(0.5, way) * area(math.atan(abs(way) / error / math.sqrt(freedom))) / area(math.pi / 2)

def no_difference(mean, *spread):
    return 2 * beyond(abs(mean), *spread)

def no_equivalence(mean, *spread):
    return "margin" not in file or min(2 * max(beyond(file["margin"] - mean, *spread), beyond(file["margin"] + mean, *spread)), 1)

def holm(chances, claims):
    highest, corrected = 0, {}
    for rank, (name, chance) in enumerate(sorted(chances.items(), key=lambda one: one[1])):
        corrected[name] = highest = min(max(highest, (claims - rank) * chance), 1)
    return corrected

families = {}
for claim in file["compare"]:
    for part in [part for part in parts[claim["better"]] if part in parts[claim["than"]] and part in claim.get("on", everywhere)]:
        found = families.setdefault(claim.get("family", part), {})
        found[part, claim["better"], claim["than"]] = None
        try:
            better, than = ([solved(part, claim[side], seed) for seed in file["seeds"]] for side in ("better", "than"))
        except FileNotFoundError:  # counts among the claims of its family, and has no verdict
            continue
        pairs = [[a - b for a, b in zip(*both)] for both in zip(better, than)]
        found[part, claim["better"], claim["than"]] = spread(pairs)
for family, claims in families.items():
    known = {name: found for name, found in claims.items() if found}
    none, outside = (
        holm({name: chance(*found) for name, found in known.items()}, len(claims))
        for chance in (no_difference, no_equivalence)
    )
    for name, (difference, *_) in known.items():
        way = "shown" if difference > 0 else "the opposite"
        verdict = way if none[name] < 0.05 else "equivalent" if outside[name] < 0.05 else "not shown"
        part, better, than = name
        print(f"{family}: {better} − {than} on {part}: {100 * difference:+.1f} points, chance {none[name]:.3f}: {verdict}")
