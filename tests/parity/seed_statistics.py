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
    drawn = scipy.stats.bootstrap(
        (values,), numpy.mean, n_resamples=200_000, method="percentile", rng=numbers
    ).confidence_interval
    cases.append(
        dict(
            values=values.tolist(),
            others=others.tolist(),
            mean=values.mean(),
            interquartile_mean=scipy.stats.trim_mean(values, 0.25),
            student=list(interval),
            paired=list(paired),
            percentile=list(drawn),
            quantiles=numpy.quantile(values, [0.025, 0.5, 0.975]).tolist(),
        )
    )
freedoms = [1, 2, 3, 4, 5, 6, 7, 10, 19, 30, 101, 1000]
print(
    json.dumps(
        dict(cases=cases, student=[[n, scipy.stats.t.ppf(0.975, n)] for n in freedoms]), indent=1
    )
)
