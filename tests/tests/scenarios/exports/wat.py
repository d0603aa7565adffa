"""Judges WAT files by the records that they describe and by JSON Lines of the same captures.

Usage: wat.py CRAWL WAT JSONL   Prints the numbers of records, of pages and of their links.
"""
import json
import pathlib
import sys
import urllib.parse

from warcio.archiveiterator import ArchiveIterator

crawl, wat, jsonl = map(pathlib.Path, sys.argv[1:])


def as_object(headers):
    """Returns headers as an object; several values of a name are a list."""
    found = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


records = {}
for path in crawl.rglob("*.warc.gz"):
    with open(path, "rb") as file:
        for record in ArchiveIterator(file):
            http = record.http_headers
            records[record.rec_headers.get_header("WARC-Record-ID")] = (
                as_object(record.rec_headers.headers),
                http and (as_object(http.headers), http.protocol, *http.statusline.split(" ", 1)),
            )
lines = {}
for path in jsonl.rglob("*.jsonl"):
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        # Files of two agents may have the same name; their directories differ.
        lines[line["warc_file"], line["warc_offset"]] = line

n_records = n_pages = n_links = 0
for path in wat.rglob("*.warc.wat.gz"):
    with open(path, "rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type != "metadata":
                continue
            n_records += 1
            assert record.rec_headers.get_header("Content-Type") == "application/json"
            block = json.loads(record.content_stream().read())
            place = block["Container"]
            place = place["Filename"], int(place["Offset"])
            line = lines.pop(place)
            envelope = block["Envelope"]
            head, http = records[record.rec_headers.get_header("WARC-Refers-To")]
            assert envelope["Format"] == "WARC"
            assert envelope["WARC-Header-Metadata"] == head, (envelope["WARC-Header-Metadata"], head)
            uris = record.rec_headers.get_header("WARC-Target-URI"), head["WARC-Target-URI"], line["url"]
            assert uris[0] == uris[1] == uris[2], uris
            payload = envelope["Payload-Metadata"]
            assert payload["Actual-Content-Type"] == head["Content-Type"], head
            response = payload["HTTP-Response-Metadata"]
            headers, version, status, reason = http
            assert response["Headers"] == headers, (response["Headers"], headers)
            message = {"Version": version, "Status": status, "Reason": reason}
            assert response["Response-Message"] == message, (response["Response-Message"], message)
            assert int(status) == line["status"], (status, line)
            html = response.get("HTML-Metadata")
            assert (html is not None) == ("links" in line), place
            if html is None:
                continue
            n_pages += 1
            assert html["Head"].get("Title") == line["title"], place
            links = []
            for link in html["Head"]["Link"] + html["Links"]:
                url = urllib.parse.urlsplit(urllib.parse.urljoin(line["url"], link["url"]))
                # The URL standard has hosts in small letters and no empty path, and keeps an empty fragment.
                url = url._replace(netloc=url.netloc.lower(), path=url.path or "/").geturl() + "#" * link["url"].endswith("#")
                if url.startswith(("http:", "https:")):
                    text = link.get("alt" if link["path"] == "IMG@/src" else "text", "")
                    links.append((link["path"], url, text, link.get("rel", "")))
            told = [(link["kind"], link["url"], link.get("text", ""), link.get("rel", "")) for link in line["links"]]
            assert sorted(links) == sorted(told), (place, sorted(links), sorted(told))
            n_links += len(links)
assert not lines, f"{len(lines)} captures have no record"
print(n_records, n_pages, n_links)
