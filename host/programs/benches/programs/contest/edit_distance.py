import sys

a, b = sys.stdin.read().split()
row = list(range(len(b) + 1))
for i, x in enumerate(a, 1):
    previous, row[0] = row[0], i
    for j, y in enumerate(b, 1):
        previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
print(row[-1])
