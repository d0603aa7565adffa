"""Model of the cost of a crawl with 4 to 1,000 agents and 10^8 to 10^10 pages; see scaling.md.

It multiplies unit costs by the number of occurrences. Run: python3 docs/scaling.py
Sources of the constants: "B" is docs/benchmarks.md, "code" the source code, "assumed" a guess.
"""

AGENTS = [4, 16, 64, 250, 1_000]
PAGES = [10**8, 10**9, 10**10]

# The web, all assumed except the page of B: 17 KB, 30 links, a fifth of them new.
PAGE_BYTES = 17_000
LINKS = 30
NEW_SHARE = 0.2
OFFSITE_LINKS_SENT = 4.5      # links per page to other groups, without those recently sent to the owner
SENT_NEW_SHARE = 0.4          # share of these that are new to their owner
PAGES_A_HOST = 100
HOSTS_A_GROUP = 2             # a group is a registrable domain
PAGES_A_SECOND = 500          # of one agent; limited by delays and slow sites, not by CPU
ARCHIVE_BYTES = 6_000         # a page, compressed
MTBF_DAYS = 60                # of one agent, whatever the cause
REPAIR_DAYS = 1               # until it returns or is removed
LINK_BITS_S = 1e9             # of any machine

# CPU, in microseconds.
PAGE_US = 135                 # B: one crawler, on a quiet machine
SHARED_US = 67                # B: 8 agents compared with 8 independent crawlers; batches are large there
HTTPS_US = 297                # B: a new connection with TLS for each page, compared with kept-alive ones without TLS
CALL_END_US = 50              # assumed: a gRPC call, at one of its ends (25 to 100)
PACKET_END_US = 40            # assumed: a packet with its acknowledgement and outbox row, at one end (20 to 80)
FENCE_LOOK_US = 0.04          # assumed: look-up of one peer lease; code: each check looks up all of them
FENCE_LOOKS_A_PAGE = 2        # code: before a visit, and in the writer's loop
ROLE_US = 1.0                 # B: a million groups scanned a second
ROLE_PEER_US = 0.001           # assumed: the code searches agents in a list
SCANS = 3                     # code: scan, handoff, replicas; more follow after 1, 2, 4 .. 300 s
CLONE_AGENT_US = 0.2          # assumed: copying or encoding one agent of a view

# The sieve: checks per CPU-second, and their decrease with the number of rows (B: 696,000 at 2 million URLs).
SIEVE_SMALL, SIEVE_ROWS, SIEVE_RATE = 696_000, 20e6, 303_000
SIEVE_POWER = 0.53            # B: fitted from 10 to 100 million; extrapolated beyond

# Rows on disk, in bytes, all column families, in a cluster.
FILTER_BYTES = 1.25           # code: ten bits per row of `seen`, in a block cache of 67 MB by default
QUEUED_BYTES = 22 + 45        # assumed: `seen` has the queue position (B: 14 for one agent); and `frontier`
FETCHED_BYTES = 14 + 70       # B: and the data for fetching the page again
CONTENT_BYTES = 80            # assumed: the digest, on the agent that fetched the page
HOST_BYTES = 400              # assumed: host, robots.txt, schedule
REPLICATION = 2               # code: default

# Between agents.
COMMIT_S = 0.25               # code: default
PACKET_BYTES = 250            # assumed: frames, TLS, TCP and the acknowledgement, beside the facts
FACT_BYTES = 100              # B: 196 bytes for a URL that is sent to its owner and replicated
CONNECTION_BYTES = 40_000     # assumed: TLS and HTTP/2 of an idle connection, at one end
QUEUE_BYTES = 4 << 20         # code: packets to one agent, on each of two streams
MOVE_ROWS_S = 1_000_000 / 13.4  # B: 1,000,000 URLs to an agent that joins, 18.4 s, including 5 s of waiting
MOVE_GROUPS_S = 20_000 / 3.5  # B: 100,000 URLs in as many groups, 8.5 s
MOVE_BYTES = 66               # B: 66 MB
NEWCOMER_WAIT_S, LEASE_S = 5, 30  # code
LEASES_A_VISIT = 10 / 40      # code: renewed after 40 s, visits every 10 s; assumed: no other agent visits the address

# The coordinator.
BEAT_S = 5                    # code: lease / 4, at most 5 s; a page quota lasts as long
SYNC_S = 0.0077               # B: a megabyte appended and synced; 2 to 10 ms
VIEW_AGENT_BYTES = 64         # counted: name of 12 bytes, address of 20


def bins_hit(bins, items):
    """Expected number of bins that get at least one item."""
    return bins * (1 - (1 - 1 / bins) ** items)


def state(agents, pages):
    """State of one agent once `pages` have been fetched."""
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
    """Traffic from one agent to others, per page."""
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
    """CPU of one agent, in per cent of a core, by purpose."""
    peers, rate = agents - 1, PAGES_A_SECOND / 1e4
    return {
        "page, as measured": PAGE_US * rate,
        "connections, TLS": HTTPS_US * rate,
        "routing, replicas, in large batches": SHARED_US * rate,
        "packets, because batches become small": traffic(agents)["packets"] * 2 * PACKET_END_US * rate,
        "IP leases: a call each way before a fourth of the visits":
            peers / agents * 4 * CALL_END_US * rate * LEASES_A_VISIT,
        "peer leases": peers * 2 * CALL_END_US / 1e4,
        "checking all peer leases": peers * FENCE_LOOKS_A_PAGE * FENCE_LOOK_US * rate,
    }


def change(agents, pages):
    """Costs of a change of view: for each agent, for an agent that joins, and after a death."""
    peers, has = agents - 1, state(agents, pages)
    # Two new streams, two messages and two reports with replies, sent and received, for each peer.
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


def heartbeat(_agents):
    """Seconds until a heartbeat with a quota request gets its reply: after the sync that is going on, and its own."""
    return 2 * SYNC_S


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
    table("State of one agent at the end", by_pages(state, "hours", "hours for the whole crawl")
          + by_pages(state, "rows", "rows of `seen`", sizes=most)
          + by_pages(state, "filters", "filters of these rows, MB", 1e6, most)
          + by_pages(state, "disk", "state, GB", 1e9) + by_pages(state, "archive", "archive, GB", 1e9, most))

    def sieve(n, p):
        percent = state(n, p)["sieve_us"] * PAGES_A_SECOND / 1e4
        return {"sieve": percent, "all": percent + sum(cpu(n).values())}
    table("CPU of one agent, per cent of a core",
          [(what, lambda n, w=what: cpu(n)[w]) for what in cpu(4)]
          + by_pages(sieve, "sieve", "sieve, beyond the cost of a small one", sizes=most)
          + by_pages(sieve, "all", "sum", sizes=ends))

    table("Traffic between agents, for each agent", [
        ("packets sent per page", lambda n: traffic(n)["packets"]),
        ("links in a packet to an owner", lambda n: traffic(n)["links"]),
        ("other agents that a commit waits for, per cent", lambda n: traffic(n)["waits"] * 100),
        ("Mbit/s from the web", lambda n: PAGE_BYTES * PAGES_A_SECOND * 8 / 1e6),
        ("Mbit/s of packets sent", lambda n: traffic(n)["bytes"] * PAGES_A_SECOND * 8 / 1e6),
        ("peer leases a second in the cluster", lambda n: n * (n - 1)),
        ("connections", lambda n: 4 * (n - 1)),
        ("MB of idle connections", lambda n: 4 * (n - 1) * CONNECTION_BYTES / 1e6),
        ("maximum MB in queues to and from others", lambda n: 4 * (n - 1) * QUEUE_BYTES / 1e6),
    ])

    table("The coordinator", [
        ("CPU of heartbeats, per cent of a core",
            lambda n: n / BEAT_S * (3 * n * CLONE_AGENT_US + CALL_END_US) / 1e4),
        (f"page quota: syncs a second (at most {1 / SYNC_S:.0f})", lambda n: min(n / BEAT_S, 1 / SYNC_S)),
        ("page quota: seconds for a heartbeat", heartbeat),
        ("a new view for all agents, MB", lambda n: n * n * VIEW_AGENT_BYTES / 1e6),
        ("a new view, seconds of CPU", lambda n: n * n * CLONE_AGENT_US * 2 / 1e6),
        ("a new view, seconds at 1 Gbit/s", lambda n: n * n * VIEW_AGENT_BYTES * 8 / LINK_BITS_S),
    ])

    table("A change of view", [
        ("messages, reports and streams, s of CPU of each agent", lambda n: change(n, 1)["messages"]),
    ] + by_pages(change, "scan", "scans of all groups, s", sizes=most)
      + by_pages(change, "moved", "rows for an agent that joins, GB", 1e9, most)
      + by_pages(change, "waiting", "of these, in its memory at most, MB", 1e6, most)
      + by_pages(change, "join", "until it has all rows, s", sizes=ends)
      + by_pages(change, "death", "a death: until fully replicated again, s", sizes=most) + [
        ("hours between two deaths", lambda n: change(n, 1)["between"]),
        ("agents dead at any time", lambda n: n * REPAIR_DAYS / MTBF_DAYS),
    ] + by_pages(change, "share", "share of time in which an agent receives its rows", sizes=most))

    print("\n## Number of agents at which each limit is reached\n")
    for what, breaks in [
        ("rows in transit may take 400 MB of memory at an agent that joins", lambda n: change(n, 10**10)["waiting"] > 400e6),
        ("two agents are dead at any time", lambda n: n * REPAIR_DAYS / MTBF_DAYS >= REPLICATION),
        ("packets cost as much CPU as the page", lambda n: traffic(n)["packets"] * 2 * PACKET_END_US > PAGE_US),
        ("peer leases cost as much CPU as the pages", lambda n: cpu(n)["peer leases"] * 1e4 > PAGE_US * PAGES_A_SECOND),
        ("a new view takes a second at 1 Gbit/s", lambda n: n * n * VIEW_AGENT_BYTES * 8 > LINK_BITS_S),
        ("idle connections take 400 MB", lambda n: 4 * (n - 1) * CONNECTION_BYTES > 400e6),
    ]:
        print(f"* {what}: {next(n for n in range(2, 100_000) if breaks(n)):,}")


main()
