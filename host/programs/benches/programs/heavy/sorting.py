import random

generator = random.Random(7)
values = [generator.randrange(10**9) for _ in range(100_000)]
values.sort()
seen = set(values)
pairs = sum((value ^ 1) in seen for value in values)
text = " ".join(map(str, values))
print(pairs, len(text), hash(tuple(values[:10])) & 1 in (0, 1))
