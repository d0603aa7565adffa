"""What a crawl would cost at 4 to 1,000 agents and 10^8 to 10^10 pages; see scaling.md.

A model: unit costs, and how often each occurs. Run: python3 docs/scaling.py
"B" is docs/benchmarks.md, "code" a constant or a loop in the sources, "assumed" a guess.
"""

AGENTS = [4, 16, 64, 250, 1_000]
PAGES = [10**8, 10**9, 10**10]

# The web, all assumed but for the page of B: 17 KB, 30 links, a fifth of them new.
PAGE_BYTES = 17_000
LINKS = 30
NEW_SHARE = 0.2
OFFSITE_LINKS_SENT = 4.5      # links a page to other groups, less those sent to the owner lately
SENT_NEW_SHARE = 0.4          # of those, new to their owner
PAGES_A_HOST = 100
HOSTS_A_GROUP = 2             # a group is a registrable domain
PAGES_A_SECOND = 500          # of one agent: delays and slow sites bound it, not CPU
ARCHIVE_BYTES = 6_000         # a page, compressed
MTBF_DAYS = 60                # of one agent, whatever the cause
REPAIR_DAYS = 1               # until it is back, or somebody has removed it
LINK_BITS_S = 1e9             # of any machine

# CPU, in microseconds.
PAGE_US = 135                 # B: alone, on a quiet machine
SHARED_US = 67                # B: 8 agents beside 8 crawlers apart; batches are large there
HTTPS_US = 297                # B: a new connection with TLS for each page, beside kept ones without
CALL_END_US = 50              # assumed: a gRPC call, at one of its ends (25 to 100)
PACKET_END_US = 40            # assumed: a packet with its answer and outbox row, at one end (20 to 80)
FENCE_LOOK_US = 0.04          # assumed: one peer's lease looked up; code: all of them, at each look
FENCE_LOOKS_A_PAGE = 2        # code: before a visit, and in the writer's loop
ROLE_US = 1.0                 # B: a million groups scanned a second
ROLE_PEER_US = 0.001           # assumed: code looks agents up in a list
SCANS = 3                     # code: scan, hand-over, replicas; more follow after 1, 2, 4 .. 300 s
CLONE_AGENT_US = 0.2          # assumed: one agent of a view copied or encoded

# The sieve: checks a CPU-second, and how they fall as rows grow (B: 696,000 at 2 million URLs).
SIEVE_SMALL, SIEVE_ROWS, SIEVE_RATE = 696_000, 20e6, 303_000
SIEVE_POWER = 0.53            # B: fitted from 10 to 100 million; beyond that it is extrapolated

# Rows on disk, in bytes, all column families, in a cluster.
FILTER_BYTES = 1.25           # code: ten bits a row of `seen`, in a block cache of 67 MB by default
QUEUED_BYTES = 22 + 45        # assumed: `seen` says where it waits (B: 14 alone); and `frontier`
FETCHED_BYTES = 14 + 70       # B: and what it takes to fetch the page again
CONTENT_BYTES = 80            # assumed: the digest, on the agent that fetched
HOST_BYTES = 400              # assumed: host, robots.txt, schedule
REPLICATION = 2               # code: default

# Between agents.
COMMIT_S = 0.25               # code: default
PACKET_BYTES = 250            # assumed: frames, TLS, TCP and the answer, beside the facts
FACT_BYTES = 100              # B: 196 bytes for a URL that goes to its owner and is copied
CONNECTION_BYTES = 40_000     # assumed: TLS and HTTP/2 of one that is quiet, at one end
QUEUE_BYTES = 4 << 20         # code: packets to one agent, on each of two streams
MOVE_ROWS_S = 1_000_000 / 13.4  # B: 1,000,000 URLs to one that joins, 18.4 s, 5 of which it waits
MOVE_GROUPS_S = 20_000 / 3.5  # B: 100,000 URLs in as many groups, 8.5 s
MOVE_BYTES = 66               # B: 66 MB
NEWCOMER_WAIT_S, LEASE_S = 5, 30  # code

# The coordinator.
BEAT_S = 5                    # code: lease / 4, at most 5 s; a page quota lasts as long
SYNC_S = 0.0077               # B: a megabyte appended and synced; 2 to 10 ms
BEAT_TIMEOUT_S = 5            # code
VIEW_AGENT_BYTES = 64         # counted: name of 12 bytes, address of 20


def bins_hit(bins, items):
    """Expected number of bins that get an item."""
    return bins * (1 - (1 - 1 / bins) ** items)


def state(agents, pages):
    """What one agent has once `pages` have been fetched."""
    hosts = pages / PAGES_A_HOST
    urls = pages * LINKS * NEW_SHARE
    copies = REPLICATION / agents
    rows = urls * copies
    disk = ((urls - pages) * QUEUED_BYTES + pages * FETCHED_BYTES + hosts * HOST_BYTES) * copies
    disk += pages * CONTENT_BYTES / agents
    sieve_rate = min(SIEVE_SMALL, SIEVE_RATE * (rows / SIEVE_ROWS) ** -SIEVE_POWER)
    return {
        "rows": rows, "filters": rows * FILTER_BYTES,
        "groups": hosts / HOSTS_A_GROUP * copies,
        "disk": disk,
        "archive": pages * ARCHIVE_BYTES / agents,
        "hours": pages / PAGES_A_SECOND / agents / 3600,
        "sieve_us": LINKS * 1e6 * (1 / sieve_rate - 1 / SIEVE_SMALL),
    }


def traffic(agents):
    """What one agent sends to others for each page."""
    peers = agents - 1
    pages = PAGES_A_SECOND * COMMIT_S
    sent = pages * OFFSITE_LINKS_SENT * peers / agents
    main = bins_hit(peers, sent)
    copies = bins_hit(peers, pages + sent * SENT_NEW_SHARE)
    facts = sent + pages * (1 + LINKS * NEW_SHARE)
    return {
        "packets": (main + copies) / pages, "links": sent / main, "waits": main / peers,
        "bytes": ((main + copies) * PACKET_BYTES + facts * FACT_BYTES) / pages,
    }


def cpu(agents):
    """Of one agent, in per cent of a core, by what takes it."""
    peers, rate = agents - 1, PAGES_A_SECOND / 1e4
    return {
        "page, as measured": PAGE_US * rate,
        "connections, TLS": HTTPS_US * rate,
        "routing, replicas, in large batches": SHARED_US * rate,
        "packets that batches fall into": traffic(agents)["packets"] * 2 * PACKET_END_US * rate,
        "IP leases: a call each way before a visit": peers / agents * 4 * CALL_END_US * rate,
        "peer leases": peers * 2 * CALL_END_US / 1e4,
        "looking at all peer leases": peers * FENCE_LOOKS_A_PAGE * FENCE_LOOK_US * rate,
    }


def change(agents, pages):
    """A view that changes: what each agent does, one that joins, and one that dies."""
    peers, has = agents - 1, state(agents, pages)
    # Two new streams, two messages and two reports with answers, sent and received, for each peer.
    messages = peers * (8 * CALL_END_US + 4 * PACKET_END_US) / 1e6
    scan = has["groups"] * (ROLE_US + ROLE_PEER_US * agents) * SCANS / 1e6
    move = max(has["rows"] / MOVE_ROWS_S, has["groups"] / MOVE_GROUPS_S)
    moved = has["rows"] * MOVE_BYTES
    join = NEWCOMER_WAIT_S + scan + max(move, moved * 8 / LINK_BITS_S)
    between = MTBF_DAYS * 24 / agents
    return {
        "messages": messages, "scan": scan, "moved": moved, "join": join, "between": between,
        "waiting": min(moved, peers * 2 * QUEUE_BYTES),
        "death": LEASE_S + scan + move / peers,  # the holders of replicas share the work
        "share": join / 3600 / between,
    }


def heartbeat(agents):
    """Seconds until a heartbeat that asks for pages is answered: all wait while the disk cannot keep up."""
    return max(SYNC_S, agents * SYNC_S - BEAT_S)


def figure(x):
    """Two or three digits, whatever the size."""
    for unit, size in ((" G", 1e9), (" M", 1e6)):
        if x >= size:
            return f"{x / size:.1f}{unit}" if x < 10 * size else f"{x / size:.0f}{unit}"
    if x >= 1_000:
        return f"{float(f'{x:.3g}'):,.0f}"
    return f"{x:.0f}" if x >= 10 else f"{x:.1f}" if x >= 1 else f"{x:.2f}" if x >= 0.005 else "0"


def table(title, rows):
    print(f"\n## {title}\n\n| agents | " + " | ".join(f"{n:,}" for n in AGENTS) + " |")
    print("| --- |" + " --- |" * len(AGENTS))
    for name, f in rows:
        print(f"| {name} | " + " | ".join(figure(f(n)) for n in AGENTS) + " |")


def by_pages(f, what, label, unit=1.0, sizes=PAGES):
    """A row for each number of pages."""
    return [(f"{label}, 10^{len(str(p)) - 1} pages", lambda n, p=p: f(n, p)[what] / unit) for p in sizes]


def main():
    most, ends = PAGES[-1:], PAGES[::2]
    table("What one agent has in the end", by_pages(state, "hours", "hours for all")
          + by_pages(state, "rows", "rows of `seen`", sizes=most)
          + by_pages(state, "filters", "their filters, MB", 1e6, most)
          + by_pages(state, "disk", "state, GB", 1e9) + by_pages(state, "archive", "archive, GB", 1e9, most))

    def sieve(n, p):
        percent = state(n, p)["sieve_us"] * PAGES_A_SECOND / 1e4
        return {"sieve": percent, "all": percent + sum(cpu(n).values())}
    table("CPU of one agent, per cent of a core",
          [(what, lambda n, w=what: cpu(n)[w]) for what in cpu(4)]
          + by_pages(sieve, "sieve", "sieve, beyond a small one", sizes=most)
          + by_pages(sieve, "all", "all", sizes=ends))

    table("Between agents, for each of them", [
        ("packets a page, sent", lambda n: traffic(n)["packets"]),
        ("links in a packet to an owner", lambda n: traffic(n)["links"]),
        ("others that a commit waits for, per cent", lambda n: traffic(n)["waits"] * 100),
        ("Mbit/s from the web", lambda n: PAGE_BYTES * PAGES_A_SECOND * 8 / 1e6),
        ("Mbit/s of packets, sent", lambda n: traffic(n)["bytes"] * PAGES_A_SECOND * 8 / 1e6),
        ("peer leases a second, in all", lambda n: n * (n - 1)),
        ("connections", lambda n: 4 * (n - 1)),
        ("MB of quiet connections", lambda n: 4 * (n - 1) * CONNECTION_BYTES / 1e6),
        ("MB that queues to and from others may hold", lambda n: 4 * (n - 1) * QUEUE_BYTES / 1e6),
    ])

    table("The coordinator", [
        ("CPU of heartbeats, per cent of a core",
            lambda n: n / BEAT_S * (3 * n * CLONE_AGENT_US + CALL_END_US) / 1e4),
        (f"page quota: syncs a second, of {1 / SYNC_S:.0f}", lambda n: n / BEAT_S),
        ("page quota: seconds for a heartbeat", heartbeat),
        ("a new view to all, MB", lambda n: n * n * VIEW_AGENT_BYTES / 1e6),
        ("the same, seconds of CPU", lambda n: n * n * CLONE_AGENT_US * 2 / 1e6),
        ("the same, seconds at 1 Gbit/s", lambda n: n * n * VIEW_AGENT_BYTES * 8 / LINK_BITS_S),
    ])

    table("A change of view", [
        ("messages, reports and streams, s of CPU of each", lambda n: change(n, 1)["messages"]),
    ] + by_pages(change, "scan", "scans of all groups, s", sizes=most)
      + by_pages(change, "moved", "to one that joins, GB", 1e9, most)
      + by_pages(change, "waiting", "of it in its memory, at most, MB", 1e6, most)
      + by_pages(change, "join", "until it has all, s", sizes=ends)
      + by_pages(change, "death", "a death: until fully replicated again, s", sizes=most) + [
        ("hours between two deaths", lambda n: change(n, 1)["between"]),
        ("dead at any time", lambda n: n * REPAIR_DAYS / MTBF_DAYS),
    ] + by_pages(change, "share", "share of time in which one is filled", sizes=most))

    print("\n## From how many agents on\n")
    for what, breaks in [
        ("page quota: the coordinator's disk is always busy", lambda n: n / BEAT_S > 1 / SYNC_S),
        ("rows to one that joins may take 400 MB there", lambda n: change(n, 10**10)["waiting"] > 400e6),
        ("two are dead at any time", lambda n: n * REPAIR_DAYS / MTBF_DAYS >= REPLICATION),
        ("packets cost what a page does", lambda n: traffic(n)["packets"] * 2 * PACKET_END_US > PAGE_US),
        ("page quota: heartbeats time out", lambda n: heartbeat(n) > BEAT_TIMEOUT_S),
        ("peer leases cost what the pages do", lambda n: cpu(n)["peer leases"] * 1e4 > PAGE_US * PAGES_A_SECOND),
        ("a new view takes a second at 1 Gbit/s", lambda n: n * n * VIEW_AGENT_BYTES * 8 > LINK_BITS_S),
        ("quiet connections take 400 MB", lambda n: 4 * (n - 1) * CONNECTION_BYTES > 400e6),
    ]:
        print(f"* {what}: {next(n for n in range(2, 100_000) if breaks(n)):,}")


main()
