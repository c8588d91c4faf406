import datetime
import re

match = re.match(r"(\d+)-(\d+)-(\d+)", input())
day = datetime.date(*map(int, match.groups())) + datetime.timedelta(days=int(input()))
print(day.isoformat(), day.strftime("%A"))
