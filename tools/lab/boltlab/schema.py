# SPDX-License-Identifier: GPL-2.0
"""What a scenario file may say: every table, key, unit, default and range.

A table is a dataclass; each field carries its parser and its documentation.
Nothing runs before the whole scenario, for each congestion control, has passed
here.  A refusal is one line that names file, key and what is allowed.
"""

import copy
import dataclasses
import re
import shlex
import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from . import cpu, programs, stats, units


class ScenarioError(Exception):
    """One line for the user: where, which key, what is allowed."""


NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,11}")
RESERVED = ("all", "default", "lo", "localhost")
KINDS = ("dumbbell", "star", "leaf-spine", "links")
SHARED = ("loss", "corrupt", "duplicate", "reorder")      # faults that hit a share of the packets
ON_LINKS = (*SHARED, "down", "up")
OF_HOSTS = ("stop", "go")
MAX_BYTES = 10**13
LAST_SEED = 2**32 - 1
MOST_SEEDS = 10**4       # that a number alone asks for


# ---- parsers: raise ValueError saying what is allowed ----

def text(value):
    if not isinstance(value, str) or not value.strip():
        raise ValueError("is not a string")
    if "\n" in value:
        raise ValueError("has more than one line")
    value.encode()      # what is not UTF-8 on the command line is not text either: a ValueError
    if "\0" in value:
        raise ValueError("has a NUL character")
    return value.strip()


def one_of(*choices):
    def parse(value):
        if value not in choices:
            raise ValueError(f"is not one of {', '.join(map(str, choices))}")
        return value
    return parse


def integer(low, high):
    def parse(value):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"is not a whole number from {low} to {high}")
        return value
    return parse


def number(low, high):
    def parse(value):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise ValueError(f"is not a number from {low} to {high}")
        return float(value)
    return parse


def positive(parser, limit=None, show=str):
    def parse(value):
        result = parser(value)
        if result <= 0:
            raise ValueError("must be more than 0")
        if limit is not None and result > limit:
            raise ValueError(f"must be at most {show(limit)}")
        return result
    return parse


def bounded(parser, low, high, show):
    def parse(value):
        result = parser(value)
        if not low <= result <= high:
            raise ValueError(f"must be from {show(low)} to {show(high)}")
        return result
    return parse


link_rate = bounded(units.rate, 10**6, 8 * 10**12, units.format_rate)
run_duration = bounded(units.time, 1000, 3600 * 10**9, units.format_time)
small_time = bounded(units.time, 0, 10 * 10**9, units.format_time)
wall_time = bounded(units.time, 10**9, 3600 * 10**9, units.format_time)
sample_time = bounded(units.time, 10, 10**9, units.format_time)
coalesce_time = bounded(units.time, 0, 10**9, units.format_time)
offset = bounded(units.signed_time, -100 * 10**9, 3600 * 10**9, units.format_time)
message_size = bounded(units.size, 1, MAX_BYTES, units.format_size)


def transfer(value):
    """A size, or "forever" (None)."""
    return None if value == "forever" else message_size(value)


def whole_ms(value):
    result = units.time(value)
    if result % 10**6 or not 10**6 <= result <= 10**11:
        raise ValueError("is not a time in whole milliseconds (the route's metric), 1ms to 100s")
    return result


def name(value):
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError("is not a name: a letter, then up to 11 letters, digits or _")
    if value in RESERVED:
        raise ValueError(f"is reserved: {', '.join(RESERVED)} mean something else to Linux")
    return value


def names(value):
    if not isinstance(value, list) or not value:
        raise ValueError("is not a list of names, such as [\"bolt\", \"cubic\"]")
    result = [congestion_control(v) for v in value]
    if len(set(result)) != len(result):
        raise ValueError("has a name twice")
    return result


def congestion_control(value):
    if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-z0-9_-]{0,14}", value):
        raise ValueError("is not the name of a congestion control, such as bolt, cubic or dctcp")
    return value


def flat(table, prefix=""):
    """(dotted key, value) of a table and of the tables in it."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def sysctls(value):
    if not isinstance(value, dict):
        raise ValueError("is not a table of sysctls")
    result = {}
    for path, val in flat(value):
        if not isinstance(val, (int, str)) or isinstance(val, bool):
            raise ValueError(f"has {path} = {val!r}, which is not a number or string")
        if not re.fullmatch(r"[A-Za-z0-9_./-]+", path):
            raise ValueError(f"has {path}, which is not the name of a sysctl")
        result[path] = str(val)
        if "\n" in result[path]:
            raise ValueError(f"has {path} with more than one line")
    return result


def sizes(value):
    if not isinstance(value, list) or not value:
        raise ValueError("is not a list of sizes, such as [\"1KB\", \"1MB\"]")
    result = [message_size(v) for v in value]
    if sorted(set(result)) != result:
        raise ValueError("is not in ascending order")
    return result


def flag(value):
    if not isinstance(value, bool):
        raise ValueError("is not true or false")
    return value


def times(value):
    if not isinstance(value, list):
        raise ValueError("is not a list of times, such as [\"200us\", \"10ms\"]")
    return [run_duration(v) for v in value]


def links(value):
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ValueError("is not a list of links, such as [\"a-b\"]")
    return value


def link_or_links(value):
    return links([value] if isinstance(value, str) else value)


def explained(value):
    """Numbers of messages, or "all"."""
    if value == "all":
        return value
    if not isinstance(value, list) or not all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in value):
        raise ValueError("is not \"all\" or a list of messages by number, such as [0, 2]")
    return value


def command(value):
    """A list of arguments, or a line of them; there is no shell between."""
    try:
        words = shlex.split(value) if isinstance(value, str) else value
        bare = list(shlex.shlex(value, posix=True, punctuation_chars=True)) if isinstance(value, str) else []
    except ValueError as e:
        raise ValueError(f"cannot be parsed: {e}") from None
    if not isinstance(words, list) or not all(isinstance(w, str) and "\0" not in w for w in words) or not "".join(words[:1]):
        raise ValueError("is not a command: \"iperf3 -s\", or a list of arguments, [\"iperf3\", \"-s\"]")
    special = next((w for w in bare if w and set(w) <= set("();<>|&")), None)
    if special and special in words:
        raise ValueError(f"has a {special}, but no shell interprets it; write [\"sh\", \"-c\", \"...\"]")
    return words


def environment(value):
    if not isinstance(value, dict) or not all(isinstance(v, (str, int)) and not isinstance(v, bool) for v in value.values()):
        raise ValueError("is not a table of strings, such as { OMP_NUM_THREADS = \"1\" }")
    if any("=" in k or "\0" in f"{k}{v}" for k, v in value.items()):
        raise ValueError("has a name that contains =")
    if programs.MARK in value:
        raise ValueError(f"has {programs.MARK}, which the lab sets")
    return {k: str(v) for k, v in value.items()}


def key(parse, default=dataclasses.MISSING, doc="", beside=None):
    """A key of a table; one without a default is required.

    `beside`: {another key of the table: what it must be for this one to have an effect}: one of these values, given (True) or not given (False).
    """
    metadata = {"parse": parse, "doc": doc, "beside": beside or {}}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: copy.copy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


# ---- tables ----

class Table:
    given = frozenset()     # the fields that the scenario has, of whatever value


@dataclass(kw_only=True)
class Topology(Table):
    kind: str = key(one_of(*KINDS), doc="shape: " + ", ".join(KINDS))
    senders: int = key(integer(1, 2000), 2, "dumbbell: hosts s0.. on switch a", beside={"kind": ("dumbbell",)})
    receivers: int = key(integer(1, 2000), None, "dumbbell: hosts r0.. on switch b; absent: as many as senders", beside={"kind": ("dumbbell",)})
    hosts: int = key(integer(2, 2000), 3, "star: hosts h0.. on switch sw", beside={"kind": ("star",)})
    leaves: int = key(integer(1, 64), 2, "leaf-spine: switches l0..", beside={"kind": ("leaf-spine",)})
    spines: int = key(integer(1, 64), 2, "leaf-spine: switches p0.., each joined to every leaf", beside={"kind": ("leaf-spine",)})
    hosts_per_leaf: int = key(integer(1, 512), 4, "leaf-spine: hosts h0.., leaf by leaf", beside={"kind": ("leaf-spine",)})
    paths: int = key(integer(1, 8), None, "dumbbell: parallel links between a and b, the first carries all until a reroute; absent: 1, or 2 with a reroute", beside={"kind": ("dumbbell",)})
    rate: int = key(link_rate, 100 * 10**9, "every link")
    core_rate: int = key(link_rate, None, "links between switches; absent: rate", beside={"kind": ("dumbbell", "leaf-spine", "links")})
    rtt: int = key(small_time, None, "between the far ends, without serialization; spread evenly over the links; absent: 8us, with kind links as their delays have it", beside={"kind": ("dumbbell", "star", "leaf-spine")})
    edge_delay: int = key(small_time, None, "dumbbell, leaf-spine: one way between host and switch; absent: as the other links", beside={"kind": ("dumbbell", "leaf-spine")})
    mtu: int = key(integer(576, 65521), 1500, "bytes of IP packet")
    buffer: int = key(positive(units.size, 10**12, units.format_size), 16 * 10**6, "per switch port, drop-tail beyond")
    ring: int = key(integer(1, 4096), 1, "packets in a port's transmit ring, below the qdisc")
    bql: bool = key(flag, False, "byte queue limits on every port")
    coalesce: int = key(coalesce_time, 0, "completions are reported at most so late; 0: at once")
    ip: int = key(one_of(4, 6), 4, "IP version of the hosts' traffic")


@dataclass(kw_only=True)
class Link(Table):
    a: str = key(name, doc="one end; h.., s.., r.. or any name: a node with one link is a host, others are switches")
    b: str = key(name, doc="other end")
    rate: int = key(link_rate, None, "absent: topology.rate")
    delay: int = key(small_time, 1000, "one way")


@dataclass(kw_only=True)
class Switch(Table):
    qdisc: str = key(text, "sfc", "what follows `root` in tc on every switch port")
    edge_qdisc: str = key(text, None, "the same on ports that lead to a host; absent: qdisc")
    sysctl: dict = key(sysctls, {}, "set in every switch namespace")


@dataclass(kw_only=True)
class Host(Table):
    qdisc: str = key(text, "pfifo", "what follows `root` in tc on every host's port")
    sysctl: dict = key(sysctls, {}, "set in every host namespace")
    rto_min: int = key(whole_ms, None, "least retransmission timeout, by route; absent: the kernel's, 200ms")
    initcwnd: int = key(integer(0, 10**6), 0, "initial window in packets, by route; 0: the congestion control's own")
    cwnd: int = key(integer(0, 10**6), 0, "largest window in packets, locked by route; 0: none")
    gso_segs: int = key(integer(0, 65535), 0, "most segments the stack sends as one burst; 0: as the device allows")
    sndbuf: int = key(positive(units.size, 10**9, units.format_size), None, "send buffer; absent: shared out of memory")
    cpu_cost: cpu.Cost = key(cpu.model, None, "processor time of programs in virtual time, such as \"500ns\" for each system call; absent: free")
    rcvbuf: int = key(positive(units.size, 10**9, units.format_size), None, "receive buffer; absent: well above the BDP")


@dataclass(kw_only=True)
class Flow(Table):
    from_: str = key(name, doc="sending host")
    to: str = key(name, doc="receiving host")
    start: int = key(offset, 0, "against the start of the measurement; negative: before it")
    bytes: int = key(transfer, None, "\"forever\", or a size")
    connect: str = key(one_of("before", "fresh"), "before", "before: connected and warm; fresh: SYN at start")
    cc: str = key(congestion_control, None, "another congestion control than the run's")
    dscp: int = key(integer(0, 63), 0, "of its data, for switches with bands")
    count: int = key(integer(0, 4096), 1, "so many flows, each from the next host; 0: until the hosts run out")
    apart: int = key(small_time, 0, "count: each starts so long after the one before", beside={"count": True})
    to_next: bool = key(flag, False, "count: each goes to the next host, too", beside={"count": True})


@dataclass(kw_only=True)
class Event(Table):
    at: int = key(offset, doc="against the start of the measurement")
    do: str = key(one_of("stop", "reroute", "set"), doc="stop, reroute, or set (a command)")
    flow: int = key(integer(0, 10**6), None, "stop, reroute: which [[flow]], from 0", beside={"do": ("stop", "reroute")})
    path: int = key(integer(0, 63), 1, "reroute: which of the equal paths, from 0; the flow is on path 0 before", beside={"do": ("reroute",)})
    node: str = key(name, None, "set: the node whose namespace the command runs in", beside={"do": ("set",)})
    command: str = key(text, None, "set: tc, ip, sysctl -w or ethtool command", beside={"do": ("set",)})
    count: int = key(integer(1, 4096), 1, "stop, reroute: so many, each of the next flow")
    apart: int = key(small_time, 0, "count: each so long after the one before", beside={"count": True})


@dataclass(kw_only=True)
class Fault(Table):
    do: str = key(one_of(*ON_LINKS, *OF_HOSTS), doc="loss, corrupt, duplicate, reorder, down, up, stop or go")
    at: int = key(offset, doc="against the start of the measurement")
    link: list = key(link_or_links, None, "one direction, such as \"a-b\", or a list of them", beside={"do": ON_LINKS})
    node: str = key(name, None, "stop, go: a host", beside={"do": OF_HOSTS})
    share: float = key(number(0, 100), None, "loss, corrupt, duplicate, reorder: per cent of the packets; 0 ends it", beside={"do": SHARED})
    late: int = key(small_time, None, "reorder: so much later; absent: as ten full packets take", beside={"do": ("reorder",)})


@dataclass(kw_only=True)
class Program(Table):
    node: str = key(name, doc="where it runs")
    command: list = key(command, doc="a line without a shell, or a list of arguments")
    start: int = key(offset, 0, "against the start of the measurement; negative: before it")
    stop: int = key(offset, None, "SIGTERM then; absent: it ends by itself, or with the run")
    ends_run: bool = key(flag, False, "the run ends when all of these have ended (at most duration)")
    expect: int = key(integer(0, 255), 0, "exit status; another is an error of the run")
    env: dict = key(environment, {}, "environment beside PATH, HOME and LANG")
    cwd: str = key(text, None, "working directory; absent: that of the scenario")
    stdin: str = key(text, None, "a file; absent: empty")
    privileged: bool = key(flag, False, "as root of its node")
    cpu_cost: cpu.Cost = key(cpu.model, None, "another than host.cpu_cost, or \"free\"")
    count: int = key(integer(1, 4096), 1, "so many, each on the next node")


@dataclass(kw_only=True)
class Workload(Table):
    cdf: str = key(text, None, "distribution of message sizes: a name under workloads/, or a file", beside={"trace": False})
    load: float = key(number(0.001, 2), 0.5, "of the receiver's (to=) or the slowest host's link, headers counted", beside={"trace": False})
    to: str = key(name, None, "one receiver; absent: all to all", beside={"trace": False})
    messages: int = key(integer(1, 10**7), None, "how many; absent: until the duration ends", beside={"trace": False})
    connections: int = key(integer(1, 256), 4, "opened beforehand between each two hosts; a message takes an idle one")
    trace: str = key(text, None, "HPCC flow list instead of a generator")


@dataclass(kw_only=True)
class Incast(Table):
    degree: int = key(integer(1, 20000), None, "messages per incast", beside={"trace": False})
    bytes: int = key(message_size, None, "of each message", beside={"trace": False})
    to: str = key(name, None, "receiver; absent: with load, any host, another for each", beside={"trace": False})
    sync: int = key(small_time, 0, "starts are uniform in this window; 0us is perfectly synchronized", beside={"trace": False})
    load: float = key(number(0.0001, 2), None, "repeat at this share of the receiver's (to) or the slowest host's link; absent: once", beside={"trace": False})
    start: int = key(offset, 0, "of the first", beside={"trace": False})
    connections: int = key(integer(1, 256), None, "opened beforehand per sender; absent: one for each message at a time")
    trace: str = key(text, None, "HPCC flow list instead of a generator")


@dataclass(kw_only=True)
class Scenario(Table):
    name: str = key(text, doc="as shown in results")
    about: str = key(text, "", "one line for `lab list`")
    duration: int = key(run_duration, doc="measured virtual time, after everything is connected and warm")
    drain: int = key(small_time, 500 * 10**6, "how long after it transfers may still complete (not measured)")
    sample: int = key(sample_time, None, "interval of the time series; absent: 100ns, with programs a hundred-thousandth of the duration if that is longer")
    patience: int = key(wall_time, 20 * 10**9, "processor time that programs or the kernel may use while virtual time stands still")
    sample_ports: list = key(links, [], "ports whose queue is measured, such as \"sw-h0\"; absent: every switch port, in a large network those on the way of traffic, so many as 32 MB of samples hold and at least 64")
    epochs: list = key(times, [], "for each, Jain's index of the flows over any stretch so long, where no flow came or went")
    settle: int = key(small_time, 10**6, "epochs begin so long after a flow has come or gone", beside={"epochs": True})
    bins: list = key(sizes, list(stats.BIN_EDGES), "upper ends of the bins that completion times are reported in; larger messages have a bin of their own")
    sample_flows: int = key(integer(0, 4096), 16, "flows with a time series, the first so many")
    seed: int = key(integer(0, LAST_SEED), 1, "of the generator and the kernel's randomness")
    cc: list = key(names, ["bolt"], "congestion controls, one run each")
    capture: list = key(links, [], "links to capture both ways, packet by packet: names of ports, such as \"a-b\"")
    capture_bytes: int = key(integer(64, 65535), 256, "of each packet, from its Ethernet header on; 65535: all of it", beside={"capture": True})
    capture_mb: int = key(integer(1, 4096), 256, "for all captured links together; what comes after is counted as lost", beside={"capture": True})
    explain: list = key(explained, [], "messages whose time is to be explained, by number (flows come first), or \"all\"")
    explain_mb: int = key(integer(1, 4096), 64, "for what that records; messages that end after it is full are not explained", beside={"explain": True})
    memory: str = key(text, None, "of the lab's kernel, such as \"2G\"; absent: by the number of hosts and buffers")
    topology: Topology = field(metadata={"table": Topology})
    link: list = field(default_factory=list, metadata={"tables": Link})
    switch: Switch = field(default_factory=Switch, metadata={"table": Switch})
    host: Host = field(default_factory=Host, metadata={"table": Host})
    flow: list = field(default_factory=list, metadata={"tables": Flow})
    event: list = field(default_factory=list, metadata={"tables": Event})
    fault: list = field(default_factory=list, metadata={"tables": Fault})
    program: list = field(default_factory=list, metadata={"tables": Program})
    workload: Workload = field(default=None, metadata={"table": Workload})
    incast: Incast = field(default=None, metadata={"table": Incast})


# ---- reading ----

def toml_name(fieldname):
    return fieldname.rstrip("_")


def _quote(value):
    shown = repr(value) if not isinstance(value, str) else f'"{value}"'
    return shown if len(shown) < 60 else shown[:57] + "..."


def parse_table(cls, data, where, path):
    """`data` as an instance of `cls`; `path` is the dotted key so far."""
    if not isinstance(data, dict):
        raise ScenarioError(f"{where}: {path}: is not a table")
    fields = {toml_name(f.name): f for f in dataclasses.fields(cls)}
    prefix = f"{path}." if path else ""
    for k in data:
        if k not in fields:
            raise ScenarioError(f"{where}: {prefix}{k}: unknown key; allowed here: {', '.join(fields)}")
    values = {}
    for k, f in fields.items():
        full = f"{prefix}{k}"
        if k not in data:
            if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
                doc = f.metadata.get("doc")
                raise ScenarioError(f"{where}: {full}: is missing" + (f" ({doc})" if doc else ""))
            continue
        raw = data[k]
        if "table" in f.metadata:
            values[f.name] = parse_table(f.metadata["table"], raw, where, full)
        elif "tables" in f.metadata:
            if not isinstance(raw, list):
                raise ScenarioError(f"{where}: {full}: is not a list; write [[{k}]]")
            values[f.name] = [parse_table(f.metadata["tables"], item, where, f"{full}.{i}")
                              for i, item in enumerate(raw)]
        else:
            try:
                values[f.name] = f.metadata["parse"](raw)
            except ValueError as e:
                raise ScenarioError(f"{where}: {full}: {_quote(raw)} {e}") from None
    table = cls(**values)
    table.given = frozenset(values)
    return table


def is_index(part):
    """Digits as int() and people read them; no list has a million items."""
    return part.isascii() and part.isdigit() and len(part) < 7


def set_path(data, assignment, option="--set"):
    """Carries out KEY.PATH=VALUE on parsed TOML; list items by index, one past the end appends."""
    path, eq, text_value = assignment.partition("=")
    path = path.strip()
    if not eq or not path:
        raise ScenarioError(f"{option} {assignment}: is not KEY.PATH=VALUE")
    try:
        value = tomllib.loads(f"v = {text_value}")["v"]
    except ValueError:      # not TOML, or a number of more digits than Python reads
        value = text_value
    parts = path.split(".")
    # a sysctl's name has dots of its own
    if "sysctl" in parts[:-1]:
        i = parts.index("sysctl")
        parts = parts[:i + 1] + [".".join(parts[i + 1:])]
    node = data
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        shown = ".".join(parts[:i + 1])
        if isinstance(node, list):
            if not is_index(part) or int(part) > len(node):
                raise ScenarioError(f"{option} {assignment}: {shown}: the list has items 0 to {len(node) - 1}")
            index = int(part)
            if index == len(node):
                node.append({})
            if last:
                node[index] = value
            else:
                node = node[index]
        elif isinstance(node, dict):
            if last:
                node[part] = value
            else:
                following = parts[i + 1]
                node = node.setdefault(part, [] if is_index(following) else {})
        else:
            raise ScenarioError(f"{option} {assignment}: {'.'.join(parts[:i])} has no keys below it")
    flatten_sysctls(data)


def flatten_sysctls(data):
    """One spelling for each sysctl, or [when] and --set would not replace what is written in another: net.ipv4.tcp_ecn."""
    when = data.get("when")
    for table in (data, *(when.values() if isinstance(when, dict) else ())):
        for part in ("host", "switch") if isinstance(table, dict) else ():
            holder = table.get(part)
            if isinstance(holder, dict) and isinstance(holder.get("sysctl"), dict):
                holder["sysctl"] = {k if "." in k else k.replace("/", "."): v for k, v in flat(holder["sysctl"])}


def merge(base, over):
    """Tables merge key by key, anything else replaces."""
    for k, v in over.items():
        if isinstance(v, dict) and isinstance(base.get(k), dict):
            merge(base[k], v)
        else:
            base[k] = copy.deepcopy(v)


def read(path):
    """The bytes of a file."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise ScenarioError(f"{path}: no such file; `lab list` shows the scenarios that come with the lab") from None
    except OSError as e:
        raise ScenarioError(f"{path}: {e.strerror}") from None


def parse_toml(path, text):
    """`text`: the bytes of the file."""
    try:
        return tomllib.loads(text.decode())
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: is not text in UTF-8") from None
    except (ValueError, RecursionError) as e:       # also a number of more digits than Python reads
        raise ScenarioError(f"{path}: is not TOML: {e}") from None


def load(path, cc=None, sets=(), seed=None, idle=False, text=None):
    """The scenario once for each congestion control: [(cc, Scenario)]. `idle`: nothing has to send. `text`: what is in the file, where it has been read.

    The order in which a key is decided: the file, its [when.CC] table, --set.
    """
    path = Path(path)
    data = parse_toml(path, read(path) if text is None else text)
    flatten_sysctls(data)
    where = path.name
    plain_sets = [s for s in sets if not s.startswith("when.")]
    for s in sets:
        if s not in plain_sets:
            set_path(data, s)
    when = data.pop("when", {})
    if not isinstance(when, dict):
        raise ScenarioError(f"{where}: when: is not a table; write [when.CC]")
    for ccs, table in when.items():
        if not isinstance(table, dict):
            raise ScenarioError(f"{where}: when.{ccs}: is not a table")
        for k in ("name", "cc", "seed"):
            if k in table:
                raise ScenarioError(f"{where}: when.{ccs}.{k}: cannot depend on the congestion control")

    chosen = copy.deepcopy(data)
    for s in plain_sets:
        set_path(chosen, s)
    if cc:
        try:
            chosen["cc"] = names(cc)
        except ValueError as e:
            raise ScenarioError(f"--cc {','.join(cc)}: {e}") from None
    base = parse_table(Scenario, chosen, where, "")
    named = [*base.cc, *(data["cc"] if isinstance(data.get("cc"), list) else ())]
    unnamed = [one for ccs in when for one in map(str.strip, ccs.split(",")) if one not in named]

    result = []
    for one in base.cc:
        merged = copy.deepcopy(data)
        for ccs, table in when.items():
            if one in [c.strip() for c in ccs.split(",")]:
                merge(merged, table)
        for s in plain_sets:
            set_path(merged, s)
        merged["cc"] = [one]
        if seed is not None:
            merged["seed"] = seed
        scenario = parse_table(Scenario, merged, where, "")
        scenario.file, scenario.when = path, unnamed        # which ask.py looks for in the kernel
        check(scenario, where, idle)
        result.append((one, scenario))
    # a [when] table nobody asked for is checked too: a typing error must not wait for its run
    for ccs, table in when.items():
        merged = copy.deepcopy(data)
        merge(merged, table)
        parse_table(Scenario, merged, f"{where}: when.{ccs}", "")
    return result


# ---- the same, slower ----

TIMES = (run_duration, small_time, sample_time, coalesce_time, offset, whole_ms)
SLOWEST_RATE = 10**6
# settings of hosts that are times: default, largest
TIME_SYSCTLS = {
    "net.bolt.base_rtt_ns": (0, 10**9),
    "net.bolt.max_pause_us": (10**4, 10**6),
    "net.bolt.watchdog_interval_us": (2 * 10**5, 6 * 10**7),
    "net.bolt.watchdog_recovery_us": (2 * 10**5, 6 * 10**7),
    "net.bolt.swift_base_ns": (10**4, 10**9),
    "net.bolt.swift_hop_ns": (10**3, 10**7),
    "net.bolt.swift_fs_range_ns": (10**5, 10**9),
}


# times of sfc and sfc_hold that hold where the line names none: (the word they belong to, name, default)
SFC_TIMES = (("sfc", "rtt", 10**4), ("pause", "maxpause", 10**7), ("sfc_hold", "maxpause", 10**7), ("pfc", "watchdog", 2 * 10**8), ("pfc", "ignore", 2 * 10**8))
SFC_LONGEST = 2**32 - 2       # tc takes less than 4.29 s
# shorter ones: what the kernel takes, of maxpause what hosts do not refuse
SFC_MOST = {"rtt": 10**8, "srcc_delay": 10**8, "maxpause": 10**9, "estimator": 10**9} | dict.fromkeys(("suppress", "watchdog", "ignore", "srcc_window"), SFC_LONGEST)
TC_TIMES = {"s": 10**9, "m": 10**6, "u": 10**3, "n": 1}


def slower_line(line, n):
    """The line of a qdisc, or a command, with its times multiplied."""
    def slower(found):
        value, before = Decimal(found[1]) * n, line[:found.start()].split()
        most = SFC_MOST.get(before[-1]) if {"sfc", "sfc_hold"} & set(before) else None
        if most is not None and value * TC_TIMES[found[2][0].lower()] > most:
            return f"{most}ns"
        return f"{value:f}{found[2]}"

    line = re.sub(r"(?i)(?<!\S)(\d+(?:\.\d*)?|\.\d+)([num]?s(?:ecs?)?)(?![^\s;&|])", slower, line)
    return "".join(add_sfc_times(part, n) for part in re.split(r"(\s*(?:;|&&|\|\|)\s*)", line))


def add_sfc_times(command, n):
    """The command, or the line of a qdisc, with the times that sfc would take if they are not named; `tc qdisc change` takes none."""
    words = command.split()
    kind = next((i for i, word in enumerate(words) if word in ("sfc", "sfc_hold")), None)
    if kind is None or kind and not {"add", "replace"} & set(words[:kind]):
        return command
    for wants, name, default in SFC_TIMES:
        if wants in words[kind:] and name not in words:
            words.append(name)
            command += f" {name} {min(default * n, SFC_MOST[name])}ns"
    return command


def slow_down(s, n, where):
    """Every rate of the scenario divided by n, every time multiplied: the same in packets per round trip."""
    if s.program:
        raise ScenarioError(f"{where}: program: has times of its own and cannot be slowed down")
    for table in (s.workload, s.incast):
        if table is not None and table.trace is not None:
            raise ScenarioError(f"{where}: a trace has times of its own and cannot be slowed down")
    for table in (s, s.topology, s.host, s.switch, *s.link, *s.flow, *s.event, *s.fault, s.workload, s.incast):
        for f in dataclasses.fields(table) if table is not None else ():
            value, parse = getattr(table, f.name), f.metadata.get("parse")
            if value is None:
                continue
            if parse is link_rate:
                if value < SLOWEST_RATE * n:
                    raise ScenarioError(f"{where}: {f.name}: {units.format_rate(value)} is too small to be slowed down {n} times")
                setattr(table, f.name, value // n)
            elif parse in TIMES:
                setattr(table, f.name, value * n)
            elif parse is times:
                setattr(table, f.name, [one * n for one in value])
            elif f.name in ("qdisc", "edge_qdisc", "command"):
                setattr(table, f.name, slower_line(value, n))
    s.host.sysctl = dict(s.host.sysctl)
    for setting, (default, most) in TIME_SYSCTLS.items():
        value = str(s.host.sysctl.get(setting, default))
        if value.isdigit() and int(value):
            s.host.sysctl[setting] = str(min(int(value) * n, most))


# ---- sense beyond single keys ----

def numbered(k, value, n, bad):
    """The node that comes n after this one."""
    stem = value.rstrip("0123456789")
    if stem == value:
        bad(k, f"\"{value}\" has no number, so there is no next host")
    return f"{stem}{int(value[len(stem):]) + n}"


def each_program(p, i, nodes, bad):
    """The `count` programs that a table stands for."""
    if p.count == 1:
        return [p]
    result = [dataclasses.replace(p, node=numbered(f"program.{i}.node", p.node, n, bad), count=1) for n in range(p.count)]
    there = sum(one.node in nodes for one in result)
    if there < p.count:
        bad(f"program.{i}.count", f"there are {there} nodes from {p.node} on")
    return result


def each_flow(f, i, hosts, bad):
    """The `count` flows that a table stands for."""
    def further(k, value, n):
        return numbered(f"flow.{i}.{k}", value, n, bad)

    if f.count == 1:
        return [f]
    result = []
    while not f.count or len(result) < f.count:
        n = len(result)
        one = dataclasses.replace(f, from_=further("from", f.from_, n), to=further("to", f.to, n) if f.to_next else f.to,
                                  start=f.start + n * f.apart, count=1)
        if n and not f.count and not {one.from_, one.to} <= set(hosts):
            break
        if n and one.from_ not in hosts:
            bad(f"flow.{i}.count", f"there are {n} hosts from {f.from_} on")
        result.append(one)
    return result


def check_beside(s, bad):
    """Refuses a key that another one of its table leaves without effect."""
    tables = [("", s)]
    for f in dataclasses.fields(s):
        value = getattr(s, f.name)
        if "tables" in f.metadata:
            tables += [(f"{f.name}.{i}.", one) for i, one in enumerate(value)]
        elif "table" in f.metadata and value is not None:
            tables.append((f"{f.name}.", value))
    for path, table in tables:
        for f in dataclasses.fields(table):
            for other, wanted in f.metadata.get("beside", {}).items() if f.name in table.given else ():
                value = getattr(table, other)
                if isinstance(wanted, tuple) and value not in wanted:
                    choices = " or ".join(f"\"{one}\"" for one in wanted)
                    bad(f"{path}{f.name}", f"belongs to {path}{other} {choices}, which is \"{value}\" here")
                if isinstance(wanted, bool) and wanted != (other in table.given and value not in (None, [])):
                    bad(f"{path}{f.name}", f"has no effect {'without' if wanted else 'beside'} {path}{other}")


def check_parts(s, net, load, bad):
    """Refuses a key that acts on what the scenario does not have, or that another table's decides."""
    t, h = s.topology, s.host
    ends = any(m.bytes is not None for m in load.messages), "no flow has an end, and there is neither a workload nor an incast"
    sampled = [m.kind for m in load.messages if load.pairs[m.pair].sample_id >= 0 and not load.pairs[m.pair].fresh]
    without = "time series (sample_flows; connect = \"fresh\" and hosts with several connections have none)"
    flows = bool(load.pairs), "there is no flow, workload or incast, and a program sets its own sockets"
    cores = [link for link in s.link if link.rate is None and {link.a, link.b} <= set(net.switches)]
    edges = [link for link in s.link if link.rate is None and link not in cores]
    for path, given, keys, (acts, why) in (
            ("", s.given, ("drain", "bins"), ends),
            ("", s.given if s.explain == "all" else (), ("explain",), ends),
            ("", s.given if s.sample_flows else (), ("sample_flows",), (sampled, f"no flow has a {without}")),
            ("", s.given if s.epochs else (), ("epochs",), (sampled.count("flow") > 1, f"no two [[flow]] have a {without}")),
            ("topology.", t.given, ("rate",), (t.kind != "links" or edges or cores and not t.core_rate, "every link has a rate of its own")),
            ("topology.", t.given, ("core_rate",), (t.kind != "links" or cores, "no link between switches is without a rate of its own")),
            ("switch.", s.switch.given, ("qdisc", "edge_qdisc", "sysctl"), (net.switches, "there is no switch")),
            ("host.", h.given, ("sndbuf", "rcvbuf"), flows),
            ("host.sysctl.", h.sysctl, ("net.ipv4.tcp_congestion_control",), (s.program, "cc, --cc and flow.N.cc choose it")),
            ("host.sysctl.", h.sysctl, ("net.ipv4.tcp_wmem",), (s.program, "host.sndbuf sets the buffers of flows")),
            ("host.sysctl.", h.sysctl, ("net.ipv4.tcp_rmem",), (s.program, "host.rcvbuf sets the buffers of flows")),
            ("host.sysctl.", h.sysctl, ("net.ipv4.tcp_rto_min_us",), (h.rto_min is None, "host.rto_min is given, and a route's has the last word")),
            ("host.sysctl.", h.sysctl, ("net.ipv4.tcp_no_metrics_save",), (not h.cwnd, "host.cwnd is given, which sets it"))):
        for k in keys:
            if k in given and not acts:
                bad(path + k, f"has no effect: {why}")
    if h.cwnd and h.initcwnd > h.cwnd:
        bad("host.initcwnd", f"has no effect beyond host.cwnd, which is {h.cwnd}")
    if load.pairs and not s.program and s.cc[0] not in {p.cc for p in load.pairs}:
        bad("cc", f"{s.cc[0]}: has no effect: every flow has a cc of its own")


def check(s, where, idle=False):
    from . import explain, faults, plan, topology, traffic  # they use this module's errors

    def bad(k, why):
        raise ScenarioError(f"{where}: {k}: {why}")

    check_beside(s, bad)
    t = s.topology
    if s.sample is None:
        s.sample = max(100, s.duration // 100_000) if s.program else 100
    if t.receivers is None:
        t.receivers = t.senders
    if t.paths is None:
        t.paths = 2 if any(e.do == "reroute" for e in s.event) else 1
    if t.ip == 6 and t.mtu < 1280:
        bad("topology.mtu", f"must be at least 1280 where topology.ip is 6, not {t.mtu}")
    if t.kind == "links" and not s.link:
        bad("link", "topology.kind is \"links\": write at least one [[link]] with a= and b=")
    if t.kind != "links" and s.link:
        bad("link", f"belongs to topology.kind \"links\", which is \"{t.kind}\" here")
    if t.rtt is None:
        t.rtt = 8000
    if t.edge_delay is not None and 4 * t.edge_delay > t.rtt:
        bad("topology.edge_delay", f"twice there and back is more than topology.rtt ({units.format_time(t.rtt)})")
    net = topology.build(s, where)
    hosts = net.hosts

    def host(k, value):
        if value not in hosts:
            bad(k, f"\"{value}\" is not a host; the hosts are {units.some(hosts)}")

    s.flow = [one for i, f in enumerate(s.flow) for one in each_flow(f, i, hosts, bad)]
    s.event = [dataclasses.replace(e, at=e.at + n * e.apart, flow=None if e.flow is None else e.flow + n, count=1)
               for e in s.event for n in range(e.count)]
    for i, f in enumerate(s.flow):
        host(f"flow.{i}.from", f.from_)
        host(f"flow.{i}.to", f.to)
        if f.from_ == f.to:
            bad(f"flow.{i}.to", "is the sender itself")
        if f.start >= s.duration:
            bad(f"flow.{i}.start", f"is not before the duration ends ({units.format_time(s.duration)})")
    for i, e in enumerate(s.event):
        k = f"event.{i}"
        if e.at > s.duration:
            bad(f"{k}.at", f"is after the duration ends ({units.format_time(s.duration)})")
        if e.do in ("stop", "reroute"):
            if e.flow is None:
                bad(f"{k}.flow", f"is missing: which [[flow]] to {e.do}, from 0")
            if e.flow >= len(s.flow):
                bad(f"{k}.flow", f"{e.flow} is not a flow; there are {len(s.flow)}, from 0")
            if e.do == "stop" and e.at < s.flow[e.flow].start:
                bad(f"{k}.at", f"is before flow {e.flow} starts ({units.format_time(s.flow[e.flow].start)})")
        else:
            if e.command is None or e.node is None:
                bad(f"{k}.{'command' if e.command is None else 'node'}", "is missing for do = \"set\"")
            if e.node not in net.nodes:
                bad(f"{k}.node", f"\"{e.node}\" is not a node; the switches are {', '.join(net.switches)}")
            if e.command.split()[0] not in ("tc", "ip", "sysctl", "ethtool"):
                bad(f"{k}.command", "must start with tc, ip, sysctl or ethtool")
        if e.do == "reroute":
            f = s.flow[e.flow]
            choices = net.alternatives(f.from_, f.to)
            if len(choices) < 2:
                bad(f"{k}.do", f"there is one path only from {f.from_} to {f.to}; a dumbbell has more with topology.paths")
            if e.path >= len(choices):
                bad(f"{k}.path", f"must be below {len(choices)}")
    for k, g in (("workload", s.workload), ("incast", s.incast)):
        if g is None:
            continue
        if g.to is not None:
            host(f"{k}.to", g.to)
        if g.trace is not None:
            continue
        wanted = {"workload": ("cdf",), "incast": ("degree", "bytes") + (("to",) if s.incast and s.incast.load is None else ())}
        for need in wanted[k]:
            if getattr(g, need) is None:
                bad(f"{k}.{need}", "is missing (or give trace)")
    if s.incast and s.incast.trace is None and s.incast.start >= s.duration:
        bad("incast.start", "is not before the duration ends")
    s.program = [one for i, p in enumerate(s.program) for one in each_program(p, i, net.nodes, bad)]
    programs.check(s, net, bad)
    faults.check(s, net, bad)
    if not idle and not s.flow and not s.workload and not s.incast and not s.program:
        bad("flow", "nothing sends: write a [[flow]], a [workload], an [incast] or a [[program]]")
    known = [port.name for link in net.links for port in link]
    for k, ports in (("capture", s.capture), ("sample_ports", s.sample_ports)):
        for i, one in enumerate(ports):
            if one not in known:
                bad(f"{k}.{i}", f"\"{one}\" is not a link; the links are {units.some(known)}")
    if s.memory is not None and not re.fullmatch(r"[1-9]\d*[MG]", s.memory):
        bad("memory", f"\"{s.memory}\" is not a size such as \"512M\" or \"2G\"")
    for i, epoch in enumerate(s.epochs):
        if epoch % s.sample:
            bad(f"epochs.{i}", f"{units.format_time(epoch)} is not a multiple of sample, which is {units.format_time(s.sample)}")
    if s.duration // s.sample > 20_000_000:
        bad("sample", f"would take {s.duration // s.sample} samples per port; at most 20000000")
    load = traffic.build(s, net, where)
    if not idle:
        check_parts(s, net, load, bad)
    if t.kind == "links":
        t.rtt = plan.base_rtt(s, net, load)
        for link, (end, _) in zip(s.link, net.links):
            link.rate = end.rate
    topology.expand_qdisc(s.switch.qdisc, s, where, "switch.qdisc")
    if s.switch.edge_qdisc:
        topology.expand_qdisc(s.switch.edge_qdisc, s, where, "switch.edge_qdisc")
    topology.expand_qdisc(s.host.qdisc, s, where, "host.qdisc")
    for i, e in enumerate(s.event):
        topology.fill_in(e.command or "", s, where, f"event.{i}.command")
    s.event.sort(key=lambda e: e.at)        # of two reroutes of a flow, the later one counts (plan.py)
    if not idle:
        plan.check_samples(s, net, load, bad)
    explain.check(s, load, bad)
