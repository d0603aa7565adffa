#!/usr/bin/env python3
"""Judges the access log of a simulated web by that of another crawl of the same web.

    judge-log.py LOG REFERENCE DELAY IP_DELAY REPEATS_MAX    (delays in seconds)

LOG is the cluster's, REFERENCE that of one agent that crawled alone; both are what `crivello simweb
--access-log` wrote. Prints what it saw and every promise that was broken; exit code 1 if there was
one. `end` in a log is never later, `start` never earlier than it was for the visitor (see
tests/simweb/src/log.rs), so a gap that is too short here was too short.
"""

import collections
import json
import sys

ROBOTS = ("/robots.txt", "/robots-hop")


def read(path):
    """The requests, in the order in which they began; a last line that is torn is left out."""
    entries = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                entries.append(json.loads(line))
    return sorted(entries, key=lambda entry: (entry["start"], entry["end"]))


def url(entry):
    """Without the port: the two webs may have different ones."""
    return ("https" if entry["tls"] else "http") + "://" + entry["host"] + entry["path"]


def pages(entries):
    """How often each URL but robots.txt was answered as a whole."""
    whole = (e for e in entries if e["complete"] and e["status"] not in (429, 503))
    return collections.Counter(url(e) for e in whole if not e["path"].startswith(ROBOTS))


def gaps(entries, key, delay):
    """The shortest time between two requests to what `key` says, and those that are too short."""
    last, shortest, broken = {}, None, []
    for entry in entries:
        before = last.get(entry[key])
        last[entry[key]] = entry
        if before is None:
            continue
        # When a visitor let go of an answer that it did not take in whole, only it knows.
        since = before["end"] if before["complete"] else before["start"]
        gap = (entry["start"] - since) / 1e6
        shortest = gap if shortest is None else min(gap, shortest)
        if gap < delay:
            broken.append(f"{key} {entry[key]}: {gap:.3f} s before {url(entry)}")
    return shortest, broken


def before_robots(entries):
    """The requests to origins whose robots.txt had not been answered."""
    known, broken = {}, []
    for entry in entries:
        origin = (entry["tls"], entry["host"])
        if entry["path"] == "/robots.txt":
            if entry["complete"]:
                known.setdefault(origin, entry["end"])
        elif known.get(origin, float("inf")) > entry["start"]:
            broken.append(url(entry))
    return broken


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    log, reference = read(sys.argv[1]), read(sys.argv[2])
    delay, ip_delay, repeats_max = float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
    seen, wanted = pages(log), pages(reference)
    repeated = [f"{url}, {n} times" for url, n in sorted(seen.items()) if n > 1]
    n_repeats = sum(seen.values()) - len(seen)
    host_gap, host_broken = gaps(log, "host", delay)
    ip_gap, ip_broken = gaps(log, "ip", ip_delay)
    broken = {
        "never fetched": sorted(wanted.keys() - seen.keys()),
        "not to be fetched": sorted(seen.keys() - wanted.keys()),
        "fetched again": repeated if n_repeats > repeats_max else [],
        "a host too soon": host_broken,
        "an address too soon": ip_broken,
        "before robots.txt": before_robots(log),
    }
    print(f"requests            {len(log)}")
    print(f"pages               {len(seen)} of {len(wanted)}")
    print(f"fetched again       {n_repeats}, of {repeats_max} that the kills allow")
    print(f"shortest host gap   {host_gap:.3f} s of {delay} s")
    print(f"shortest IP gap     {ip_gap:.3f} s of {ip_delay} s")
    for what, where in broken.items():
        print(f"{what:20}{len(where)}")
        for line in where[:10]:
            print(f"    {line}")
    if any(broken.values()):
        print("promises were broken")
        return 1
    print("every promise was kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
