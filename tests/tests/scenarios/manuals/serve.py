"""Serves directories by the static file server of Python, each as a host of its own, with the names of the hosts.

Usage: serve.py NAME=DIR…   Prints the port of the sites and that of the name server.
"""
import functools
import http.server
import socket
import struct
import sys
import threading


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def answer(query, addresses):
    """Returns the answer to a query for one name: its address, or that there is no such name."""
    end = query.index(b"\0", 12) + 1
    name, at = [], 12
    while query[at]:
        name.append(query[at + 1 : at + 1 + query[at]].decode().lower())
        at += query[at] + 1
    address = addresses.get(".".join(name))
    is_a = struct.unpack(">H", query[end : end + 2])[0] == 1
    records = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(address) if address and is_a else b""
    flags = 0x8180 if address else 0x8183
    return query[:2] + struct.pack(">HHHHH", flags, 1, 1 if records else 0, 0, 0) + query[12 : end + 4] + records


addresses, port = {}, 0
for n, site in enumerate(sys.argv[1:]):
    name, directory = site.split("=", 1)
    addresses[name] = f"127.0.0.{n + 2}"
    handler = functools.partial(Quiet, directory=directory)
    server = http.server.ThreadingHTTPServer((addresses[name], port), handler)
    port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 0))
print(port, names.getsockname()[1], flush=True)
while True:
    query, sender = names.recvfrom(512)
    names.sendto(answer(query, addresses), sender)
