"""Compares the files of a wheel with its RECORD, and says how many there are."""

import base64
import csv
import hashlib
import io
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = wheel.namelist()
    [path] = [name for name in names if name.endswith(".dist-info/RECORD")]
    rows = list(csv.reader(io.StringIO(wheel.read(path).decode())))
    assert len(set(names)) == len(names), "a file is there twice"
    assert sorted(row[0] for row in rows) == sorted(names), set(names) ^ {row[0] for row in rows}
    for name, digest, size in rows:
        if name == path:
            assert (digest, size) == ("", ""), "a record cannot hold its own digest"
            continue
        bytes_ = wheel.read(name)
        found = base64.urlsafe_b64encode(hashlib.sha256(bytes_).digest()).rstrip(b"=").decode()
        assert digest == f"sha256={found}" and int(size) == len(bytes_), name
    folder = path.removesuffix("RECORD")
    metadata = wheel.read(f"{folder}METADATA").decode()
    for line in metadata.splitlines():
        if line.startswith("License-File: "):
            assert f"{folder}licenses/{line.removeprefix('License-File: ')}" in names, line
print(len(names))
