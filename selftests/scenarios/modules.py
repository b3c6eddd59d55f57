# SPDX-License-Identifier: GPL-2.0
"""--module: a congestion control from outside this tree runs as any other; one that cannot is told in a line."""

import json
import os
import shutil

from lab_runs import LAB

EXAMPLE = os.path.join(os.path.dirname(LAB), "examples", "aimd")
LOSSY = ("--set", "switch.qdisc=pfifo", "--set", "topology.core_rate=50gbit", "--set", "topology.buffer=100KB", "--set", "duration=5ms")


def example(lab, j):
    """AIMD(1, 1/8) of the examples gives up less on a loss than reno: more of the queue is used, and lost"""
    runs, out = lab.run("flow-join", "--module", EXAMPLE, "--cc", "aimd,reno", *LOSSY)
    aimd, reno = (runs[cc].link("a-b").link for cc in ("aimd", "reno"))
    j.must(aimd["utilization"] > 0.99 and reno["utilization"] > 0.99, f"utilization {aimd['utilization']:.2%}, reno {reno['utilization']:.2%}")
    j.must(aimd["queue_bytes"]["p50"] > 1.1 * reno["queue_bytes"]["p50"], f"p50 queue {aimd['queue_bytes']['p50']}, reno {reno['queue_bytes']['p50']}")
    j.must(aimd["drops"] > 1.5 * reno["drops"] > 0, f"drops {aimd['drops']}, reno {reno['drops']}")
    with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
        result = json.load(f)
    j.must(list(result["versions"]["modules"]) == ["tcp_aimd"] and " --module " in result["command"], f"{result['versions']}, {result['command']}")
    runs, _ = lab.run("flow-join", "--module", f"{EXAMPLE}:decrease=2", "--cc", "aimd", *LOSSY)
    halves = runs["aimd"].link("a-b").link
    j.must(0.95 < halves["queue_bytes"]["p50"] / reno["queue_bytes"]["p50"] < 1.05, f"with decrease=2 p50 queue {halves['queue_bytes']['p50']}")
    j.must(set(os.listdir(EXAMPLE)) == {"Kbuild", "tcp_aimd.c"}, "nothing was written beside the source")


QDISC = """
#include <linux/module.h>
#include <net/pkt_sched.h>

static int short_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return sch->q.qlen >= 20 ? qdisc_drop(skb, sch, to_free) : qdisc_enqueue_tail(skb, sch);
}

static struct Qdisc_ops ops = {
	.id = "short", .enqueue = short_enqueue, .dequeue = qdisc_dequeue_head,
	.peek = qdisc_peek_head, .reset = qdisc_reset_queue, .owner = THIS_MODULE,
};

static int __init short_init(void)
{
	return register_qdisc(&ops);
}

module_init(short_init);
MODULE_LICENSE("GPL");
"""


def qdisc(lab, j):
    """A FIFO of 20 packets from outside this tree, and a congestion control beside it"""
    source = os.path.join(lab.out, "qdisc")
    os.makedirs(source)
    for name, text in (("Makefile", "obj-m := sch_short.o\n"), ("sch_short.c", QDISC)):
        with open(os.path.join(source, name), "w", encoding="utf-8") as f:
            f.write(text)
    args = ("flow-join", "--module", source, "--module", EXAMPLE, "--cc", "aimd")
    runs, _ = lab.run(*args, "--set", "switch.qdisc=short")
    link = runs["aimd"].link("a-b").link
    j.must(link["queue_bytes"]["max"] == 20 * 1514 and link["drops"] > 0, f"max queue {link['queue_bytes']['max']}, drops {link['drops']}")
    proc = lab.run(*args, "--set", "switch.qdisc=short limit 3", expect_failure=True)
    j.must("tc knows no options of it" in proc.stderr, proc.stderr.strip())


# what is replaced in the example, and by what; what is said
BROKEN = (
    ("u32 cwnd = ", "u32 cwnd = nonesuch + ", "does not build for 6.12.", "tcp_aimd.c:22:20: error: ", "nonesuch"),
    ("return tcp_register", "extern void nonesuch(void); nonesuch(); return tcp_register", "does not build for 6.12.", "\"nonesuch\" ["),
    ("return tcp_register_congestion_control(&aimd)", "return -EINVAL", "--module: tcp_aimd; ", "Invalid argument"),
    ("return tcp_register_congestion_control(&aimd)", "return *(volatile int *)8", "--module: tcp_aimd; ", "Kernel panic"),
    ("\"aimd\"", "\"other\"", "--cc aimd: ", "it has bbr, bolt, cubic, dctcp, other, reno, "),
)


def refused(lab, j):
    """One line, before anything runs, with the compiler's first error"""
    for n, (before, after, *words) in enumerate(BROKEN):
        source = os.path.join(lab.out, f"broken-{n}")
        shutil.copytree(EXAMPLE, source)
        path = os.path.join(source, "tcp_aimd.c")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(before, after))
        proc = lab.run("flow-join", "--module", source, "--cc", "aimd", expect_failure=True)
        lines = [l for l in proc.stderr.strip().splitlines() if not l.startswith("lab: building ")]
        j.must(proc.returncode == 1 and len(lines) == 1 and all(word in lines[0] for word in words), f"{after}: {lines}")


CHECKS = {
    "a congestion control of one's own": example,
    "a qdisc of one's own": qdisc,
    "modules that cannot be loaded": refused,
}
