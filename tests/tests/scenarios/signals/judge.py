"""Compares signals in archives, their indexes and their table with what is expected. Arguments: the directory of
the crawl, that of the table. Standard input: JSON, an object of URLs with lists of names and values."""

import glob
import json
import sys

import pyarrow.parquet as parquet
from warcio.archiveiterator import ArchiveIterator

root, table = sys.argv[1:]
expected = json.load(sys.stdin)
NAMES = {
    "robots", "usageTrainAi", "usageSearch", "signalSearch", "signalAiInput", "signalAiTrain",
    "tdmReservation", "tdmPolicy", "license",
}

# 1. Metadata records, by warcio. A page without signals has none.
found = {}
captures = set()
for path in glob.glob(f"{root}/**/*.warc.gz", recursive=True):
    with open(path, "rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            url = record.rec_headers.get_header("WARC-Target-URI")
            body = record.content_stream().read()
            if record.rec_type in ("response", "revisit"):
                captures.add(url)
            if record.rec_type != "metadata":
                continue
            assert url not in found, url
            lines = [line.split(": ", 1) for line in body.decode().splitlines()]
            found[url] = [[name, value] for name, value in lines if name in NAMES]
            assert {name for name, _ in lines} <= NAMES | {"fetchTimeMs", "outlink"}, lines
            assert found[url], f"a metadata record without signals: {url}"
wanted = {url: fields for url, fields in expected.items() if fields}
assert found == wanted, f"records:\n{found}\nwanted:\n{wanted}"
assert set(expected) <= captures, set(expected) - captures

# 2. Lines of the indexes: the first value of each name.
found = {}
for path in glob.glob(f"{root}/**/*.cdxj", recursive=True):
    for line in open(path):
        line = json.loads(line.split(" ", 2)[2])
        found[line["url"]] = {name: value for name, value in line.items() if name in NAMES}
first = {url: dict(reversed(fields)) for url, fields in expected.items()}
for url in captures:
    assert found[url] == first.get(url, {}), (url, found[url], first.get(url))

# 3. Rows of the table.
n_rows = 0
for path in glob.glob(f"{table}/**/*.parquet", recursive=True):
    for row in parquet.read_table(path, partitioning=None).to_pylist():
        n_rows += 1
        fields = first.get(row["url"], {})
        robots = fields.get("robots")
        directives = None if robots is None else robots.split(", ")
        either = lambda name, values: values.get(fields.get(name))
        allow, yes = {"allow": True, "disallow": False}, {"yes": True, "no": False}
        wanted = {
            "robots_noindex": None if robots is None else "noindex" in directives,
            "robots_noarchive": None if robots is None else "noarchive" in directives,
            "usage_train_ai": either("usageTrainAi", allow),
            "usage_search": either("usageSearch", allow),
            "signal_ai_input": either("signalAiInput", yes),
            "signal_ai_train": either("signalAiTrain", yes),
            "signal_search": either("signalSearch", yes),
            "tdm_reservation": either("tdmReservation", {"1": True, "0": False}),
            "license_url": fields.get("license"),
        }
        assert {name: row[name] for name in wanted} == wanted, (row, wanted)
assert n_rows >= len(expected), n_rows
print(n_rows)
