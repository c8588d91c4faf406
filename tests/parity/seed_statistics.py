"""What scipy and numpy make of small tables of seeds and tasks, for host/runtime/src/statistics.

    seed_statistics.py > golden/statistics.json

Made with scipy 1.17.1 and numpy 2.4.6.
"""

import json

import numpy
import scipy.stats

numbers = numpy.random.default_rng(7)
cases = []
for seeds in (2, 3, 5, 9, 20):
    values = numbers.normal(0.6, 0.1, seeds)
    others = values - numbers.normal(0.03, 0.05, seeds)
    interval = scipy.stats.t.interval(
        0.95, seeds - 1, loc=values.mean(), scale=scipy.stats.sem(values)
    )
    paired = scipy.stats.ttest_rel(values, others).confidence_interval(0.95)
    cases.append(
        dict(
            values=values.tolist(),
            others=others.tolist(),
            mean=values.mean(),
            interquartile_mean=scipy.stats.trim_mean(values, 0.25),
            student=list(interval),
            paired=list(paired),
        )
    )


def crossed(table):
    """The mean of seeds and tasks, both of which are drawn: Obuchowski and Rockette, Satterthwaite."""
    seeds, tasks = table.shape
    whole = table.mean()
    by_seed = table.mean(axis=1, keepdims=True)
    by_task = table.mean(axis=0, keepdims=True)
    of_seeds = tasks * ((by_seed - whole) ** 2).sum() / (seeds - 1)
    of_tasks = seeds * ((by_task - whole) ** 2).sum() / (tasks - 1)
    rest = ((table - by_seed - by_task + whole) ** 2).sum() / ((seeds - 1) * (tasks - 1))
    of_tasks = max(of_tasks - rest, 0.0)
    variance = of_seeds + of_tasks
    freedom = int(variance**2 / (of_seeds**2 / (seeds - 1) + of_tasks**2 / (tasks - 1)))
    error = numpy.sqrt(variance / table.size)
    ends = scipy.stats.t.interval(0.95, freedom, loc=whole, scale=error)
    return dict(measured=table.tolist(), error=error, freedom=freedom, crossed=list(ends))


tables = []
for seeds, tasks, by_seed, by_task in (
    (2, 6, 0.2, 0.3),
    (3, 8, 0.0, 0.6),
    (5, 12, 0.3, 0.0),
    (5, 12, 0.1, 0.3),
    (8, 5, 0.1, 0.2),
):
    table = 0.5 + by_seed * numbers.normal(size=(seeds, 1)) + by_task * numbers.normal(size=tasks)
    tables.append(crossed(table + 0.2 * numbers.normal(size=(seeds, tasks))))


def holm(chances):
    """Holm's correction, by its definition: the largest of those up to one's own."""
    order = numpy.argsort(chances, kind="stable")
    steps = [(len(chances) - rank) * chances[place] for rank, place in enumerate(order)]
    corrected = numpy.empty(len(chances))
    corrected[order] = numpy.minimum(numpy.maximum.accumulate(steps), 1.0)
    return corrected.tolist()


families = [numbers.uniform(0, top, count).tolist() for count, top in ((1, 1), (4, 0.1), (9, 0.2))]
freedoms = [1, 2, 3, 4, 5, 6, 7, 10, 19, 30, 101, 1000]
print(
    json.dumps(
        dict(
            cases=cases,
            tables=tables,
            student=[[n, scipy.stats.t.ppf(0.975, n)] for n in freedoms],
            tails=[
                [way, n, 2 * scipy.stats.t.sf(way, n)] for n in freedoms for way in (0.3, 1.7, 4.0)
            ],
            holm=[[family, holm(family)] for family in families],
        ),
        indent=1,
    )
)
