# SPDX-License-Identifier: GPL-2.0
"""Percentiles, fairness, bins, and the link device's formats."""

import struct
import unittest

import context  # noqa: F401
from boltlab import charts, lablink, series, stats
from boltlab.guest import RunError


def flow(size, fct=None, start=0, slowdown=None, finite=True, stopped=None, kind="flow"):
    return {"kind": kind, "bytes": size, "fct_ns": fct, "start_ns": start, "end_ns": None if fct is None else start + fct,
            "stopped_ns": stopped, "finite": finite, "slowdown": slowdown}


class Percentiles(unittest.TestCase):
    def test_nearest_rank(self):
        values = list(range(1, 101))
        self.assertEqual([stats.percentile(values, p) for p in (0.5, 0.95, 0.99, 1.0)], [50, 95, 99, 100])
        self.assertEqual(stats.percentile([7], 0.99), 7)
        self.assertIsNone(stats.percentile([], 0.5))


class Fairness(unittest.TestCase):
    def test_jain(self):
        self.assertEqual(stats.jain([5, 5, 5]), 1)
        self.assertAlmostEqual(stats.jain([1, 0, 0, 0]), 0.25)
        self.assertIsNone(stats.jain([]))

    def test_rate_is_over_the_time_a_flow_was_there(self):
        flows = [flow(1000, start=0, finite=False), flow(500, start=500, finite=False), flow(250, start=0, stopped=250)]
        self.assertEqual(stats.goodput_jain(flows, 1000), 1)


class Fct(unittest.TestCase):
    def test_bins_and_unfinished(self):
        flows = [flow(500, 10, slowdown=1.0), flow(900, 20, slowdown=2.0), flow(5_000, 50, slowdown=4.0), flow(100)]
        result = stats.fct(flows)
        self.assertEqual((result["count"], result["unfinished"]), (3, 1))
        self.assertEqual([(b["max_bytes"], b["count"], b["p99"]) for b in result["bins"]], [(1000, 2, 2.0), (10000, 1, 4.0)])
        self.assertEqual(result["p50_ns"], 20)

    def test_sizes_on_an_edge_belong_below_it(self):
        self.assertEqual(stats.fct([flow(1000, 10, slowdown=1.0)])["bins"][0]["max_bytes"], 1000)

    def test_beyond_the_last_edge(self):
        self.assertEqual(stats.fct([flow(10**9, 10, slowdown=1.0)])["bins"][0]["max_bytes"], 10**9)

    def test_kinds_are_also_told_apart(self):
        result = stats.fct([flow(500, 10, slowdown=1.0, kind="incast"), flow(500, 30, slowdown=3.0, kind="workload")])
        self.assertEqual((result["count"], result["kinds"]["incast"]["p99"], result["kinds"]["workload"]["p99"]), (2, 1.0, 3.0))
        self.assertNotIn("kinds", stats.fct([flow(500, 10, slowdown=1.0)]))

    def test_empty(self):
        result = stats.fct([])
        self.assertEqual((result["count"], result["p50"], result["bins"]), (0, None, []))


class Series(unittest.TestCase):
    def test_thinning_keeps_the_peak(self):
        values = [0] * 10_000
        values[6789] = 55
        times, thin = series.thin(list(range(10_000)), values, 100)
        self.assertLessEqual(len(thin), 110)
        self.assertEqual(times[thin.index(55)], 6789)

    def test_throughput(self):
        self.assertEqual(series.throughput([0, 100, 200], [0, 1250, 1250], 100), ([50, 150], [100.0, 0.0]))
        # the last window is left out unless it is whole; slow links keep their digits
        self.assertEqual(series.throughput([0, 40, 80, 120, 160, 200], [0, 1, 2, 3, 4, 5], 100), ([60], [0.2]))
        self.assertEqual(series.throughput([0, 10**9], [0, 5000], 1), ([5 * 10**8], [0.00004]))
        self.assertEqual(series.throughput([], [], 100), ([], []))

    def test_stretches_of_time_have_units(self):
        self.assertEqual([charts.span(ns) for ns in (100, 1600, 16 * 10**6, 2 * 10**9)], ["100 ns", "1.6 us", "16 ms", "2 s"])


class LinkDevice(unittest.TestCase):
    def blob(self, columns, rows, interval=100):
        head = lablink.HEADER.pack(lablink.MAGIC, 1, lablink.HEADER.size, len(columns), 16 * len(columns), len(rows), 5000, interval)
        body = b"".join(lablink.COLUMN.pack(kind, ident, 2, 1, b"s0") for kind, ident in columns)
        return head + body + b"".join(struct.pack("=QII", *record) for row in rows for record in row)

    def test_columns_are_told_apart(self):
        blob = self.blob([(1, 3), (2, 40)], [[(10, 11, 1), (20, 21, 22)], [(100, 110, 2), (200, 210, 220)]])
        queues, socks = lablink.parse_samples(blob, {3: ("a", "b")})
        times, queue, tx = queues["a", "b"]
        self.assertEqual((list(times), queue, tx), ([0, 100], [11, 110], [10, 100]))
        self.assertEqual([list(c) for c in socks[40]], [[0, 100], [21, 210], [20, 200], [22, 220]])

    def test_another_format_is_refused(self):
        with self.assertRaises(RunError):
            lablink.parse_samples(b"\0" * 64, {})

    def test_truncated_rows_are_left_out(self):
        blob = self.blob([(1, 3)], [[(1, 2, 3)], [(4, 5, 6)]])
        queues, _ = lablink.parse_samples(blob[:-4], {3: ("a", "b")})
        self.assertEqual(list(queues["a", "b"][1]), [2])

    def test_text(self):
        totals, devices = lablink.parse_text("global state=done trace_hash=0012 max_lateness_ns=0 x=1.5\ndev name=10 id=0 tx_bytes=7\n")
        self.assertEqual((totals["trace_hash"], totals["max_lateness_ns"], totals["x"]), ("0012", 0, 1.5))
        self.assertEqual((devices[0]["name"], devices[0]["tx_bytes"]), ("10", 7))


if __name__ == "__main__":
    unittest.main()
