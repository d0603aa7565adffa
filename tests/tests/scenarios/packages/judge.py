"""Judges a WACZ file: its WARC files are those of the crawl, its index finds each capture, its lists have each page.

judge.py ROOT WACZ. Prints the number of captures, of pages, and of those in pages.jsonl.
"""

import glob
import gzip
import io
import json
import sys
import zipfile

from warcio import ArchiveIterator

root, name = sys.argv[1:3]
package = zipfile.ZipFile(name)
assert package.testzip() is None
contents = {}
for path in glob.glob(f"{root}/**/*.warc.gz", recursive=True):
    with open(path, "rb") as file:
        contents[path] = file.read()
warcs = [entry for entry in package.infolist() if entry.filename.startswith("archive/")]
assert all(entry.compress_type == zipfile.ZIP_STORED for entry in warcs)
assert sorted(package.read(entry) for entry in warcs) == sorted(contents.values())
assert len({entry.filename for entry in warcs}) == len(contents) > 1

# What warcio finds in the files.
captures, pages = set(), set()
for entry in warcs:
    with package.open(entry) as file:
        for record in ArchiveIterator(file):
            if record.rec_type in ("response", "revisit"):
                head, http = record.rec_headers, record.http_headers
                captures.add(head.get_header("WARC-Record-ID"))
                is_html = http and (http.get_header("Content-Type") or "").startswith("text/html")
                if is_html and http.get_statuscode() == "200":
                    pages.add((head.get_header("WARC-Target-URI"), head.get_header("WARC-Date")[:19] + "Z"))

# The index: each block is where its line says, and each line leads to its record.
blocks = package.read("indexes/index.cdx.gz")
assert package.getinfo("indexes/index.cdx.gz").compress_type == zipfile.ZIP_STORED
head, *index = package.read("indexes/index.idx").decode().splitlines()
assert json.loads(head.split(" ", 2)[2]) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
lines = []
for line in index:
    key, time, place = line.split(" ", 2)
    place = json.loads(place)
    block = gzip.decompress(blocks[place["offset"] :][: place["length"]]).decode().splitlines()
    assert block[0].startswith(f"{key} {time} ")
    lines += block
assert lines == sorted(lines, key=str.encode)
found = set()
for line in lines:
    key, time, members = line.split(" ", 2)
    members = json.loads(members)
    with package.open("archive/" + members["filename"]) as file:
        file.seek(int(members["offset"]))
        (record,) = ArchiveIterator(io.BytesIO(file.read(int(members["length"]))))
        assert record.rec_headers.get_header("WARC-Target-URI") == members["url"]
        found.add(record.rec_headers.get_header("WARC-Record-ID"))
assert found == captures, (len(found), len(captures))

# The lists of pages.
listed, counts = [], []
for path in ["pages/pages.jsonl", "pages/extraPages.jsonl"]:
    head, *entries = [json.loads(line) for line in package.read(path).decode().splitlines()]
    assert head["format"] == "json-pages-1.0"
    assert [page["ts"] for page in entries] == sorted(page["ts"] for page in entries)
    assert all(page["title"] for page in entries)
    listed += [(page["url"], page["ts"]) for page in entries]
    counts.append(len(entries))
assert sorted(listed) == sorted(pages), set(listed) ^ pages
print(len(captures), sum(counts), counts[0])
