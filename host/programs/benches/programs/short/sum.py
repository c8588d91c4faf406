import sys

n, *values = map(int, sys.stdin.read().split())
print(sum(values[:n]))
