#!/usr/bin/env python3
"""Token F1 between texts of `crivello export` and those of trafilatura and resiliparse, on HTML files.

Usage: text-f1.py CRIVELLO DIR…   (pip install trafilatura lxml_html_clean resiliparse)
"""
import collections, json, pathlib, re, subprocess, sys, tempfile
import trafilatura
from resiliparse.extract.html2text import extract_plain_text

def tokens(text):
    return collections.Counter(re.findall(r"\w+", (text or "").lower()))

def f1(one, other):
    same = sum((one & other).values())
    return 2 * same / max(1, sum(one.values()) + sum(other.values()))

files = [p for d in sys.argv[2:] for p in sorted(pathlib.Path(d).rglob("*.html")) if p.is_file() and 2000 < p.stat().st_size < 1 << 20]
with tempfile.TemporaryDirectory() as dir:
    with open(f"{dir}/pages.warc", "wb") as warc:
        for n, path in enumerate(files):
            block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + path.read_bytes()
            head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{n}>\r\nWARC-Target-URI: http://pages.test/{n}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http\r\nContent-Length: {len(block)}\r\n\r\n"
            warc.write(head.encode() + block + b"\r\n\r\n")
    command = [sys.argv[1], "export", "jsonl", "--compression", "none", "--out", f"{dir}/out", f"{dir}/pages.warc"]
    subprocess.run(command, check=True)
    lines = [json.loads(line) for line in open(f"{dir}/out/jsonl/pages.jsonl", encoding="utf-8")]
sums, pages = collections.Counter(), 0
for line in lines:
    html = files[int(line["url"].rsplit("/", 1)[1])].read_text(encoding="utf-8", errors="replace")
    texts = {
        "crivello": line.get("text"),
        "trafilatura": trafilatura.extract(html),
        "resiliparse": extract_plain_text(html, main_content=True),
    }
    found = {name: tokens(text) for name, text in texts.items()}
    if not all(found.values()):
        continue
    pages += 1
    for one, other in (("crivello", "trafilatura"), ("crivello", "resiliparse"), ("trafilatura", "resiliparse")):
        sums[f"{one} and {other}"] += f1(found[one], found[other])
print(f"{pages} of {len(files)} pages with three texts")
for pair, total in sums.items():
    print(f"{pair}: {total / pages:.3f}")
