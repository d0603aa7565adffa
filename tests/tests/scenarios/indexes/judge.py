"""Compares indexes of WARC files: a merged one with the lines of cdxj-indexer, with the index of each file, and
with the indexes that the crawl wrote.

judge.py ROOT MERGED DIRECTORY: files and indexes of the crawl below ROOT, an index for each below DIRECTORY.
"""

import glob
import json
import os
import subprocess
import sys

root, merged, directory = sys.argv[1:4]


def parse(lines, names="."):
    found = {}
    for line in lines:
        key, time, members = line.split(" ", 2)
        members = json.loads(members)
        members["filename"] = os.path.normpath(os.path.join(names, members["filename"]))
        place = (members["filename"], int(members["offset"]))
        assert place not in found, line
        found[place] = (key, time, members)
    return found


def read(path, names="."):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines == sorted(lines, key=str.encode), f"{path} is not sorted"
    return parse(lines, names)


ours = read(merged)
files = sorted(glob.glob(f"{root}/**/*.warc*", recursive=True))
indexer = os.path.join(os.path.dirname(sys.executable), "cdxj-indexer")
theirs = subprocess.run([indexer, "--dir-root", root, *files], capture_output=True, text=True, check=True)
theirs = parse(theirs.stdout.splitlines())
assert ours.keys() == theirs.keys(), (ours.keys() ^ theirs.keys())
assert len(ours) > 0
for place, (key, time, members) in ours.items():
    their_key, their_time, their_members = theirs[place]
    assert (key, time) == (their_key, their_time), (key, time, their_key, their_time)
    for name in ["url", "status", "length", "offset", "mime", "digest"]:
        pair = (members.get(name), their_members.get(name))
        # What cdxj-indexer leaves out, or computes.
        default = {"mime": "unk", "digest": "-"}.get(name)
        assert pair[0] == pair[1] or pair[0] == default, (place, name, pair)

each = {}
for path in glob.glob(f"{directory}/**/*.cdxj", recursive=True):
    each |= read(path)
assert each == ours, "the merged index is not that of each file"

crawl = {}
for path in glob.glob(f"{root}/**/*.cdxj", recursive=True):
    crawl |= read(path, os.path.relpath(os.path.dirname(path), root))
assert not crawl or crawl == ours, "the crawl's own indexes differ"
print(len(ours), sum(members["mime"] == "warc/revisit" for _, _, members in ours.values()))
