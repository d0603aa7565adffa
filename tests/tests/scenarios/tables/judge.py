"""Compares a table with the records and the indexes that it was made from, and asks it queries of the forms
that Common Crawl publishes. Arguments: the directory that file names lead from, that of the table, the crawl.
Prints the numbers of rows and of near-duplicates."""

import datetime
import glob
import gzip
import io
import json
import os
import sys
from collections import Counter
from urllib.parse import urljoin, urlsplit

import duckdb
import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
from warcio.archiveiterator import ArchiveIterator

root, table, crawl = sys.argv[1:]
files = sorted(glob.glob(f"{table}/**/*.parquet", recursive=True))
assert files, "no files"

# 1. The columns of Common Crawl, in their order, and ours after them.
T, I, S, L = pa.string(), pa.int32(), pa.int16(), pa.int64()
COLUMNS = [
    ("url_surtkey", T, False), ("url", T, False), ("url_host_name", T, False), ("url_host_tld", T, True),
    ("url_host_2nd_last_part", T, True), ("url_host_3rd_last_part", T, True),
    ("url_host_4th_last_part", T, True), ("url_host_5th_last_part", T, True),
    ("url_host_registry_suffix", T, True), ("url_host_registered_domain", T, True),
    ("url_host_private_suffix", T, True), ("url_host_private_domain", T, True),
    ("url_host_name_reversed", T, True), ("url_protocol", T, False), ("url_port", I, True),
    ("url_path", T, False), ("url_query", T, True), ("fetch_time", pa.timestamp("us"), False),
    ("fetch_status", S, False), ("fetch_redirect", T, True), ("content_digest", T, True),
    ("content_mime_type", T, True), ("content_mime_detected", T, True), ("content_charset", T, True),
    ("content_languages", T, True), ("content_truncated", T, True), ("warc_filename", T, False),
    ("warc_record_offset", L, False), ("warc_record_length", L, False), ("warc_segment", T, False),
]
for file in files:
    schema = parquet.read_schema(file)
    found = [(field.name, field.type, field.nullable) for field in schema]
    assert found[: len(COLUMNS)] == COLUMNS, (file, found)
    assert parquet.ParquetFile(file).metadata.row_group(0).column(0).compression == "ZSTD"

# 2. The rows, by pyarrow; sorted by their keys within each partition.
rows = {}
last = {}
for file in files:
    partition = dict(part.split("=", 1) for part in os.path.dirname(file).split("/") if "=" in part)
    assert partition["crawl"] == crawl, partition
    for row in parquet.read_table(file, partitioning=None).to_pylist():
        key = row["url_surtkey"].encode()
        assert key >= last.get(partition["subset"], b""), f"{file} is not sorted at {row}"
        last[partition["subset"]] = key
        place = (row["warc_filename"], row["warc_record_offset"])
        assert place not in rows, place
        rows[place] = row | {"subset": partition["subset"]}

# 3. They are the lines of the indexes.
lines = {}
for index in glob.glob(f"{root}/**/*.cdxj", recursive=True):
    directory = os.path.relpath(os.path.dirname(index), root)
    for line in open(index, encoding="utf-8"):
        key, time, members = line.split(" ", 2)
        members = json.loads(members)
        name = os.path.normpath(os.path.join(directory, members["filename"]))
        lines[name, int(members["offset"])] = (key, time, members)
assert rows.keys() == lines.keys(), (len(rows), len(lines))
for place, (key, time, members) in lines.items():
    row = rows[place]
    assert row["url_surtkey"] == key, (row, key)
    assert row["fetch_time"].strftime("%Y%m%d%H%M%S") == time, (row, time)
    for column, member in [("url", "url"), ("fetch_status", "status"), ("warc_record_length", "length")]:
        assert str(row[column]) == members[member], (row, members)
    assert "sha1:" + row["content_digest"] == members["digest"], (row, members)
    is_revisit = members["mime"] == "warc/revisit"
    assert (row["warc_record_type"] == "revisit") == is_revisit, (row, members)
    if not is_revisit:
        assert (row["content_mime_type"] or "unk") == members["mime"], (row, members)
    path = urlsplit(row["url"]).path
    subset = "robotstxt" if path == "/robots.txt" else "warc" if row["fetch_status"] == 200 else "crawldiagnostics"
    assert row["subset"] == subset, row

# 4. They are the records, each read alone by its offset and length.
ids = {}
for (name, offset), row in rows.items():
    with open(os.path.join(root, name), "rb") as file:
        file.seek(offset)
        member = file.read(row["warc_record_length"])
    gzip.decompress(member)
    (record,) = [record for record in ArchiveIterator(io.BytesIO(member))]
    head = record.rec_headers
    ids[head.get_header("WARC-Record-ID")] = row
    assert record.rec_type == row["warc_record_type"], row
    assert head.get_header("WARC-Target-URI") == row["url"], row
    date = datetime.datetime.fromisoformat(head.get_header("WARC-Date").replace("Z", "+00:00"))
    assert date.replace(tzinfo=None) == row["fetch_time"], (row, date)
    assert head.get_header("WARC-Truncated") == row["content_truncated"] or record.rec_type == "revisit", row
    http = record.http_headers
    location = http and http.get_header("Location")
    if row["fetch_status"] in (301, 302, 303, 307, 308) and location:
        target = urljoin(row["url"], location)
        # The URL standard reads a number as an address, and Python does not.
        if not urlsplit(target).hostname.isdigit():
            assert row["fetch_redirect"] == target, (row, location)
    else:
        assert row["fetch_redirect"] is None, row

# 5. They have the notes about near-duplicates of the metadata records.
notes = {}
for name in {name for name, _ in rows}:
    with open(os.path.join(root, name), "rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "metadata":
                fields = record.content_stream().read().decode().splitlines()
                fields = [field.split(": ", 1) for field in fields if ": " in field]
                notes[record.rec_headers.get_header("WARC-Concurrent-To")] = dict(reversed(fields))
for key, row in ids.items():
    fields = notes.get(key, {})
    distance = fields.get("nearDuplicateDistance")
    assert row["simhash"] == fields.get("simHash"), (row, fields)
    assert row["near_of"] == fields.get("nearDuplicateOf"), (row, fields)
    assert row["near_distance"] == (distance and int(distance)), (row, fields)

# 6. DuckDB finds what these rows have, with queries of the published forms.
db = duckdb.connect()
db.execute("create schema ccindex")
db.execute(
    "create view ccindex.ccindex as select * from "
    f"read_parquet('{table}/**/*.parquet', hive_partitioning = true)"
)
pages = [row for row in rows.values() if row["subset"] == "warc"]


def ask(columns, subset="warc", rest=""):
    where = f"where crawl = '{crawl}' and subset = '{subset}'"
    return db.execute(f'select {columns} from "ccindex"."ccindex" {where} {rest}').fetchall()


found = ask(
    "count(*) as n_pages, url_host_tld as tld, count(distinct url_host_name) as n_hosts, "
    "count(distinct url_host_registered_domain) as n_domains",
    rest="group by url_host_tld order by n_pages desc",
)
for n_pages, tld, n_hosts, n_domains in found:
    of_tld = [row for row in pages if row["url_host_tld"] == tld]
    assert n_pages == len(of_tld)
    assert n_hosts == len({row["url_host_name"] for row in of_tld})
    assert n_domains == len({row["url_host_registered_domain"] for row in of_tld} - {None})
assert sum(n_pages for n_pages, *_ in found) == len(pages) > 0
for column in ["url_host_name", "content_mime_detected", "content_languages", "content_charset"]:
    found = dict(ask(f"{column}, count(*)", rest="group by 1"))
    assert found == Counter(row[column] for row in pages), (column, found)
for subset in ["crawldiagnostics", "robotstxt"]:
    found = dict(ask("fetch_status, count(*) as count", subset, "group by fetch_status order by count desc"))
    assert found == Counter(row["fetch_status"] for row in rows.values() if row["subset"] == subset), found
found = db.execute("select count(*), crawl, subset from ccindex.ccindex group by crawl, subset").fetchall()
assert Counter({subset: n for n, _, subset in found}) == Counter(row["subset"] for row in rows.values())
domain = next(row["url_host_registered_domain"] for row in pages if row["url_host_registered_domain"])
found = ask(
    "url, warc_filename, warc_record_offset, warc_record_length",
    rest=f"and url_host_registered_domain = '{domain}' limit 1000",
)
assert found, domain
for url, name, offset, length in found:
    with open(os.path.join(root, name), "rb") as file:
        file.seek(offset)
        (record,) = list(ArchiveIterator(io.BytesIO(file.read(length))))
        assert record.rec_headers.get_header("WARC-Target-URI") == url, url
found = ask(
    "count(*) as n_pages, sum(warc_record_length) as bytes, content_mime_detected",
    rest="group by content_mime_detected order by n_pages desc",
)
assert sum(bytes for _, bytes, _ in found) == sum(row["warc_record_length"] for row in pages)

# 6. The partitions are found by pyarrow, too.
assert dataset.dataset(table, partitioning="hive").count_rows(dataset.field("subset") == "warc") == len(pages)
print(len(rows), sum(row["near_of"] is not None for row in rows.values()))
