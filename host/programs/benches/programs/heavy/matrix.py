def multiply(a, b, modulus):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) % modulus for column in columns] for row in a]


size, exponent, modulus = 24, 10**18, 10**9 + 7
result = [[int(i == j) for j in range(size)] for i in range(size)]
base = [[(i * 7 + j * 3 + 1) % 11 for j in range(size)] for i in range(size)]
while exponent:
    if exponent & 1:
        result = multiply(result, base, modulus)
    base = multiply(base, base, modulus)
    exponent >>= 1
print(sum(map(sum, result)) % modulus)
