from functools import lru_cache

target = int(input())
coins = tuple(map(int, input().split()))


@lru_cache(maxsize=None)
def ways(rest, largest):
    if rest == 0:
        return 1
    return sum(ways(rest - coins[i], i) for i in range(largest + 1) if coins[i] <= rest)


print(ways(target, len(coins) - 1))
