# SPDX-License-Identifier: GPL-2.0
"""Sizes, rates and times as people write them."""

import unittest

import context  # noqa: F401
from boltlab import units


class Units(unittest.TestCase):
    def test_sizes(self):
        for text, expected in (("0B", 0), ("1500B", 1500), ("16MB", 16_000_000), ("250KB", 250_000), ("1KiB", 1024),
                               ("2MiB", 2_097_152), ("1.5KB", 1500), (1500, 1500), ("1GB", 10**9)):
            self.assertEqual(units.size(text), expected, text)

    def test_rates(self):
        for text, expected in (("100gbit", 10**11), ("1.6tbit", 1_600_000_000_000), ("40Gbit", 4 * 10**10), ("10mbit", 10**7)):
            self.assertEqual(units.rate(text), expected, text)

    def test_times_are_exact(self):
        for text, expected in (("8us", 8000), ("0.1us", 100), ("1.3us", 1300), ("5ms", 5_000_000), ("0us", 0), (0, 0),
                               ("2s", 2 * 10**9), ("12.345us", 12345)):
            self.assertEqual(units.time(text), expected, text)

    def test_refusals(self):
        for parse, text in ((units.size, "16"), (units.size, "16mb"), (units.size, "-1B"), (units.size, "0.5B"), (units.size, "x"),
                            (units.size, True), (units.size, None), (units.rate, 100), (units.rate, "100"), (units.rate, "8us"),
                            (units.time, 8), (units.time, "8"), (units.time, "8m"), (units.time, "0.5ns"), (units.time, "-1us"),
                            (units.time, 1.5), (units.time, "1e3us")):
            with self.assertRaises(ValueError, msg=repr(text)):
                parse(text)

    def test_signed_time(self):
        self.assertEqual(units.signed_time("-2ms"), -2_000_000)

    def test_format(self):
        self.assertEqual(units.format_time(8000), "8 us")
        self.assertEqual(units.format_rate(10**11), "100gbit")
        for n, text in ((999, "999 B"), (64_500, "64.5 KB"), (999_499, "999 KB"), (999_600, "1 MB"), (999_999_999, "1 GB"), (2 * 10**12, "2 TB")):
            self.assertEqual(units.format_size(n), text)


if __name__ == "__main__":
    unittest.main()
