# SPDX-License-Identifier: GPL-2.0
"""--cpu-cost: system calls take virtual time, so that a program that polls ends and a server saturates at the rate that the model implies."""

import filecmp
import json
import os

from lab_itself import without_wall

CALL_NS = 1000
BYTE_NS = 2
CORES = 2
BYTES = 500                         # of a request, and of its answer
WINDOW = 64                         # requests on their way to a server
SERVED_NS = 2 * 10**6               # counted so long, and as long polled
REQUEST_CALLS = 2                   # of a server: recvfrom, sendto
SLACK = 0.01                        # of a rate: how a window begins and ends

SERVER = """
import os, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7))
for _ in range(int(sys.argv[1]) - 1):
    if not os.fork(): break
while True:
    s.sendto(*s.recvfrom(2048))
"""
CLIENT = f"""
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 7))
request = bytes({BYTES})
def served(n):
    for _ in range(n): s.send(s.recv(2048))
for _ in range({WINDOW}): s.send(request)
served(500)
begin, n = time.monotonic_ns(), 0
while time.monotonic_ns() - begin < {SERVED_NS}:
    served(10)
    n += 10
print(n)
"""
POLLS = f"""
import time
begin, n = time.monotonic_ns(), 0
while time.monotonic_ns() < begin + {SERVED_NS}:
    n += 1
print(n)
"""

# how many processes serve, the server's own cost if it has one, and what a request takes of it in ns
SERVERS = (
    (1, None, REQUEST_CALLS * CALL_NS),
    (3, None, REQUEST_CALLS * CALL_NS / CORES),
    (1, f"call={CALL_NS}ns,byte={BYTE_NS}ns", REQUEST_CALLS * (CALL_NS + BYTES * BYTE_NS)),
)


def scenario(lab):
    """The servers, a node each with a client of its own that pays nothing; and the one that polls."""
    n = len(SERVERS)
    lines = ['name = "processor-time"', 'duration = "20ms"', 'sample = "100us"', 'switch.qdisc = "pfifo"', "[topology]", 'kind = "star"', f"hosts = {2 * n + 1}"]

    def program(node, command, **keys):
        lines.extend(["[[program]]", f'node = "h{node}"', f"command = {json.dumps(['python3', '-c', *command])}", *(f"{k} = {json.dumps(v)}" for k, v in keys.items())])

    for i, (processes, cost, _) in enumerate(SERVERS):
        program(i, (SERVER, str(processes)), start="-20ms", **({"cpu_cost": cost} if cost else {}))
    for i in range(n):
        program(n + i, (CLIENT, f"h{i}"), cpu_cost="free", ends_run=True)
    program(2 * n, (POLLS,), ends_run=True)
    os.makedirs(lab.out, exist_ok=True)
    path = os.path.join(lab.out, "processor-time.toml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


def charged(lab, j):
    """One server for each row of SERVERS, and a program that polls a clock; twice the same"""
    path, n, results = scenario(lab), len(SERVERS), []
    for _ in range(2):
        _, out = lab.run(path, "--cc", "cubic", "--cpu-cost", f"call={CALL_NS}ns,cores={CORES}")
        with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
            results.append((without_wall(json.load(f)), os.path.join(out, "cubic")))
    (first, a), (second, b) = results
    outputs = [f"program-{i}.out" for i in range(2 * n + 1)]
    _, differ, errors = filecmp.cmpfiles(a, b, outputs, shallow=False)
    j.must(first == second and not differ and not errors, f"result.json but for wall_s, and what programs print, is the same {differ + errors or ''}")
    said = []
    for name in outputs[n:]:
        with open(os.path.join(a, name), encoding="utf-8") as f:
            said.append(int(f.read()))
    for (processes, cost, each_ns), served in zip(SERVERS, said):
        want = SERVED_NS / each_ns
        j.must(abs(served / want - 1) <= SLACK, f"{processes} processes, {cost or 'of the host'}: {served} requests in {SERVED_NS // 10**6} ms, {want:.0f} by the model")
    j.must(abs(said[n] * CALL_NS / SERVED_NS - 1) <= SLACK, f"{said[n]} readings of a clock in {SERVED_NS // 10**6} ms, {SERVED_NS // CALL_NS} by the model")
    paid = [p["cpu_ns"] for p in first["runs"][0]["programs"]]
    j.must(paid[n:2 * n] == [None] * n and SERVED_NS <= paid[2 * n] < 2 * SERVED_NS, f"processor time paid: {paid} ns")


CHECKS = {"programs that pay for their system calls": charged}
