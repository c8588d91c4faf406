import sys
from collections import deque

rows = sys.stdin.read().split()
height, width = len(rows), len(rows[0])
seen = [[False] * width for _ in range(height)]
sizes = []
for i in range(height):
    for j in range(width):
        if rows[i][j] == "#" and not seen[i][j]:
            seen[i][j] = True
            queue, size = deque([(i, j)]), 0
            while queue:
                x, y = queue.popleft()
                size += 1
                for u, v in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                    if 0 <= u < height and 0 <= v < width and rows[u][v] == "#" and not seen[u][v]:
                        seen[u][v] = True
                        queue.append((u, v))
            sizes.append(size)
print(len(sizes), max(sizes))
