# SPDX-License-Identifier: GPL-2.0
"""lab new: a scenario to begin with. What is behind a # without a blank is a key as it would be set."""

from pathlib import Path

from .guest import RunError

TEXT = '''# Run it:	lab run {file}
# All keys:	Documentation/lab-scenarios.rst

name = "{name}"
about = "two flows meet at a link of 100 Gb/s"
duration = "1ms"		# measured, after everything is connected
cc = ["bolt", "cubic"]		# one run each; `lab list --cc`
#seed = 1
#sample = "100ns"		# of the time series
#capture = ["a-b"]		# packets of a link, for Wireshark

[topology]
kind = "dumbbell"		# s0.. - a - b - r0..; or star, leaf-spine, links
senders = 2
receivers = 2
rate = "100gbit"
rtt = "8us"			# without serialization
#mtu = 9000
#buffer = "16MB"		# per switch port
#core_rate = "40gbit"		# of the link a-b

[switch]
qdisc = "sfc"			# what follows `root` in tc; `lab list --qdisc`

#[host]
#sysctl = {{ "net.ipv4.tcp_sack" = 1 }}

# ---- traffic ----

[[flow]]
from = "s0"
to = "r0"			# endless, unless `bytes` sets a size

[[flow]]
from = "s1"
to = "r1"
start = "200us"
bytes = "2MB"

# messages with sizes of a distribution, at random times
#[workload]
#cdf = "websearch"
#load = 0.3
#to = "r0"

# incast
#[incast]
#degree = 8
#bytes = "50KB"
#to = "r1"

# programs of this machine, unmodified
#[[program]]
#node = "r0"
#command = "python3 -m http.server 80"
#start = "-1ms"

# ---- events ----

#[[event]]
#at = "800us"
#do = "stop"
#flow = 0

# faults
#[[fault]]
#link = "a-b"
#at = "500us"
#do = "loss"
#share = 0.1			# per cent

# ---- another qdisc for congestion controls that ignore sfc ----

[when."cubic,reno"]
switch.qdisc = "pfifo"

#[when.dctcp]
#switch.qdisc = "red min {{0.17*bdp}} max {{0.18*bdp}} avpkt {{0.1*bdp}} burst 2 bandwidth 10gbit probability 1 ecn"
'''


def main(name, shipped):
    """Writes NAME.toml, unless there is something of this name."""
    path = Path(name.removesuffix(".toml") + ".toml")
    if not path.stem.isprintable() or set(path.stem) & set("\"\\"):
        raise RunError(f"new: {name!r} is not a name")
    if (shipped / path.name).exists():
        raise RunError(f"new: {path.stem} is a scenario of the lab; choose another name")
    try:
        with open(path, "x", encoding="utf-8") as f:
            f.write(TEXT.format(name=path.stem, file=path))
    except FileExistsError:
        raise RunError(f"new: {path} exists already") from None
    print(path)
    return 0
