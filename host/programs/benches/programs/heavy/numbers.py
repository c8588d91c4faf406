from math import comb, gcd

a, b = 0, 1
for _ in range(40_000):
    a, b = b, a + b
print(len(str(pow(3, 8_000))), a % 10**9, gcd(comb(4000, 2000), a) % 10**9)
