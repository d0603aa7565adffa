"""Compares the tables of a store with the indexes beside them. Argument: a directory with the objects. Prints the
number of tables."""

import glob
import json
import os
import sys

import pyarrow.parquet as parquet

(root,) = sys.argv[1:]
indexes = glob.glob(f"{root}/**/*.cdxj", recursive=True)
for index in indexes:
    stem = index.removesuffix(".cdxj")
    table = parquet.read_table(f"{stem}.parquet", partitioning=None)
    assert table.column_names[0] == "url_surtkey" and table.column_names[-2:] == ["crawl", "subset"], table.column_names
    rows = table.to_pylist()
    keys = [row["url_surtkey"].encode() for row in rows]
    assert keys == sorted(keys), index
    lines = {}
    for line in open(index, encoding="utf-8"):
        key, time, members = line.split(" ", 2)
        members = json.loads(members)
        lines[int(members["offset"])] = (key, time, members)
    assert len(rows) == len(lines), (index, len(rows), len(lines))
    for row in rows:
        key, time, members = lines.pop(row["warc_record_offset"])
        assert row["url_surtkey"] == key, (row, key)
        assert row["fetch_time"].strftime("%Y%m%d%H%M%S") == time, (row, time)
        for column, member in [("url", "url"), ("fetch_status", "status"), ("warc_record_length", "length")]:
            assert str(row[column]) == members[member], (row, members)
        # The name of the object, as in Common Crawl's index.
        assert row["warc_filename"] == os.path.relpath(f"{stem}.warc.gz", root), row
        assert os.path.basename(stem).startswith(row["crawl"] + "-"), row
        is_robots = row["url_path"] == "/robots.txt"
        subset = "robotstxt" if is_robots else "warc" if row["fetch_status"] == 200 else "crawldiagnostics"
        assert row["subset"] == subset, row
print(len(indexes))
