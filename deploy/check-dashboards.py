#!/usr/bin/env python3
"""Runs every query of the Grafana dashboards with a real Prometheus on a real cluster.

    deploy/check-dashboards.py        with target/release/crivello (or CRIVELLO_BINARY)

Starts a simulated web, a coordinator, three agents and Prometheus (Debian: apt-get install
prometheus), all on loopback, and crawls for a while. Fails if Prometheus cannot read the metrics of a
node, or if a query of deploy/grafana/dashboards/ has an error or an empty result. Takes a minute and a
half. Without Prometheus the check is skipped with a message (with CRIVELLO_TEST_NO_SKIP: fails). All
started processes are ended.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AGENTS = ["a", "b", "c"]
SCRAPE = "1s"
# Replaces Grafana's $__rate_interval: at least four scrapes, so that a missed scrape does not matter.
RATE_INTERVAL = "8s"
CRAWL_SECONDS = 25
PATIENCE_SECONDS = 60
WEB = {
    "seed": 7,
    "domains": 40,
    "hosts_per_domain": 1,
    "ips": 20,
    "pages_per_host": 60,
    "links_per_page": 12,
    "latency_ms_min": 2,
    "latency_ms_max": 60,
    "variety": [
        {"kind": {"redirect": 302}, "share": 0.05},
        {"kind": {"status": 404}, "share": 0.05},
        {"kind": "duplicate", "share": 0.05},
    ],
}


class Failed(Exception):
    """A check failed."""


def skip(why):
    if os.environ.get("CRIVELLO_TEST_NO_SKIP"):
        raise Failed(why)
    print(f"check-dashboards: SKIPPED: {why}")
    sys.exit(0)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Stage:
    """Processes with logs in a directory. `end` ends all of them."""

    def __init__(self, work):
        self.work = Path(work)
        self.running = {}

    def start(self, name, *command, **more):
        log = open(self.work / f"{name}.log", "wb")
        self.running[name] = subprocess.Popen(
            [str(word) for word in command], stderr=log, stdout=more.get("stdout", log)
        )
        return self.running[name]

    def log(self, name):
        return (self.work / f"{name}.log").read_text(errors="replace")

    def until(self, what, is_so):
        end = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            for name, process in self.running.items():
                if process.poll() is not None:
                    raise Failed(f"{name} has ended:\n{self.log(name)[-2000:]}")
            if time.monotonic() > end:
                raise Failed(f"timeout after {PATIENCE_SECONDS} s: {what}")
            time.sleep(0.2)

    def end(self):
        for process in reversed(self.running.values()):
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def start_web(stage, binary):
    spec = stage.work / "web.json"
    spec.write_text(json.dumps(WEB))
    web = stage.start("web", binary, "simweb", "--spec", spec, stdout=subprocess.PIPE)
    line = web.stdout.readline()
    if not line:
        raise Failed(f"the simulated web does not start:\n{stage.log('web')}")
    return json.loads(line)


def start_cluster(stage, binary, web):
    """Returns the URL of the coordinator, and the port of each node's metrics."""
    grpc, http = free_port(), free_port()
    settings = [f"--dns={web['dns']}", "--delay=500ms", "--ip-delay=50ms"]
    settings += [f"--allow-network={network}" for network in web["networks"]]
    stage.start(
        "coordinator", binary, "coordinator", "--data", stage.work / "coordinator",
        "--listen", f"127.0.0.1:{grpc}", "--http", f"127.0.0.1:{http}",
        "--contact", "https://crivello.invalid/check", "--set", "cluster.lease=5s", *settings,
    )
    url, places = f"http://127.0.0.1:{grpc}", {"coordinator": http}
    for name in AGENTS:
        places[name] = free_port()
        stage.start(
            f"agent-{name}", binary, "agent", "--data", stage.work / name, "--name", name,
            "--coordinator", url, "--http", f"127.0.0.1:{places[name]}",
        )
    return url, places


def start_prometheus(stage, prometheus, places):
    """Starts Prometheus with the jobs of deploy/prometheus.yml and the addresses of these nodes."""
    jobs = {"agents": [places[name] for name in AGENTS], "coordinator": [places["coordinator"]]}
    lines = [f"global: {{ scrape_interval: {SCRAPE} }}", "scrape_configs:"]
    for job, ports in jobs.items():
        targets = ", ".join(f"'127.0.0.1:{port}'" for port in ports)
        lines += [f"  - job_name: {job}", "    static_configs:", f"      - targets: [{targets}]"]
    config = stage.work / "prometheus.yml"
    config.write_text("\n".join(lines) + "\n")
    port = free_port()
    stage.start(
        "prometheus", prometheus, f"--config.file={config}",
        f"--storage.tsdb.path={stage.work / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}",
    )
    return f"http://127.0.0.1:{port}"


def api(prometheus, path, **parameters):
    url = f"{prometheus}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def is_up(prometheus):
    try:
        with urllib.request.urlopen(f"{prometheus}/-/ready", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def targets(prometheus):
    return api(prometheus, "targets")["data"]["activeTargets"]


def expressions(json_part, panel=""):
    """Yields each query with the title of its panel."""
    if isinstance(json_part, dict):
        if "gridPos" in json_part:
            panel = json_part.get("title", "")
        if isinstance(json_part.get("expr"), str):
            yield panel, json_part["expr"]
        for value in json_part.values():
            yield from expressions(value, panel)
    elif isinstance(json_part, list):
        for value in json_part:
            yield from expressions(value, panel)


def ask(prometheus, dashboard, panel, expression, agent):
    """Runs a query. Returns a description of the problem, or None."""
    asked = expression.replace("$__rate_interval", RATE_INTERVAL).replace("$agent", agent)
    left = re.search(r"\$\w+", asked)
    if left:
        return f"{dashboard}, {panel}: unknown variable {left.group()}"
    answer = api(prometheus, "query", query=asked)
    if answer["status"] != "success":
        return f"{dashboard}, {panel}: {answer.get('error')}: {asked}"
    if not answer["data"]["result"]:
        return f"{dashboard}, {panel}: empty: {asked}"
    return None


def check(prometheus):
    problems, n_queries = [], 0
    for path in sorted((ROOT / "deploy/grafana/dashboards").glob("*.json")):
        for panel, expression in expressions(json.loads(path.read_text())):
            for agent in AGENTS if "$agent" in expression else [""]:
                n_queries += 1
                problems.append(ask(prometheus, path.name, panel, expression, agent))
    # A query for a metric that does not exist must fail, else this check finds nothing.
    made_up = "sum(rate(crivello_made_up_total[$__rate_interval]))"
    if not ask(prometheus, "none", "none", made_up, ""):
        raise Failed("a metric that does not exist has a result")
    return n_queries, [problem for problem in problems if problem]


def run(stage, binary, prometheus):
    web = start_web(stage, binary)
    url, places = start_cluster(stage, binary, web)

    def crivello(*words):
        return subprocess.run(
            [str(binary), *words, "--coordinator", url], capture_output=True, text=True
        )

    def are_members():
        listed = crivello("agents", "--json")
        if listed.returncode != 0:
            return False
        agents = json.loads(listed.stdout)["agents"]
        return sum(agent["state"] == "active" for agent in agents) == len(AGENTS)

    stage.until("all agents are members", are_members)
    at = start_prometheus(stage, prometheus, places)
    stage.until("Prometheus is ready", lambda: is_up(at))
    seeded = crivello("seed", *web["seeds"])
    if seeded.returncode != 0:
        raise Failed(f"the seeds were not accepted: {seeded.stderr}")
    stage.until(
        "Prometheus reads all nodes",
        lambda: len(targets(at)) == 4 and all(t["health"] == "up" for t in targets(at)),
    )
    time.sleep(CRAWL_SECONDS)
    for target in targets(at):
        took = 1000 * target["lastScrapeDuration"]
        print(f"{target['labels']['job']} {target['scrapeUrl']}: {target['health']}, {took:.0f} ms")
        if target["health"] != "up":
            raise Failed(f"{target['scrapeUrl']}: {target['lastError']}")
    pages = api(at, "query", query="sum(crivello_pages_fetched_total)")["data"]["result"]
    series = api(at, "query", query='count({__name__=~"crivello_.*"})')["data"]["result"]
    print(f"{pages[0]['value'][1]} pages, {series[0]['value'][1]} series")
    n_queries, problems = check(at)
    if problems:
        raise Failed("\n".join([f"{len(problems)} of {n_queries} queries:", *problems]))
    print(f"check-dashboards: passed: all {n_queries} queries have results")


def main():
    binary = Path(os.environ.get("CRIVELLO_BINARY", ROOT / "target/release/crivello"))
    try:
        prometheus = shutil.which("prometheus")
        if prometheus is None:
            skip("no prometheus (Debian: apt-get install prometheus)")
        if not os.access(binary, os.X_OK):
            raise Failed(f"no program at {binary}: run `make build` or set CRIVELLO_BINARY")
        with tempfile.TemporaryDirectory() as work:
            stage = Stage(work)
            try:
                run(stage, binary.resolve(), prometheus)
            finally:
                stage.end()
    except Failed as failure:
        print(f"check-dashboards: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
