# SPDX-License-Identifier: GPL-2.0
"""The driver of selftests/net/option_table refuses a word that it does not know, before anything happens."""

import os
import sys
import unittest
from pathlib import Path
from unittest import mock

NET = Path(__file__).resolve().parent.parent / "net"
with mock.patch.dict(os.environ, BOLT_PROGRAMS=""), mock.patch.object(sys, "path", [str(NET), *sys.path]):
    import option_table


class OptionTable(unittest.TestCase):
    def test_unknown_words(self):
        for row in ("<X", "<SRX", ">A length=1", "<A level=1", ">A ttl=1", "<A full=X", "!nothing", "!send 5", "= colour=red", "<A <<"):
            with self.subTest(row), self.assertRaisesRegex(ValueError, "what is that"):
                option_table.read(["a:", "\t" + row])
        with self.assertRaises(KeyError):
            option_table.read(["a:", "\t@nobody"])

    def test_rows(self):
        (line, text, row), (_, other, _) = option_table.read(
            ["let up = <S >SA*2 syn", "a: !nodelay", "\t@up {|+5ms} =X # comment", "\t\tY:2 cwnd=3"])["a"]
        self.assertEqual((line, text), (3, "!nodelay <S >SA*2 syn =X Y:2 cwnd=3"))
        self.assertEqual([(e.verb, e.word, e.repeat, e.words) for e in row],
                         [("!", "nodelay", 1, []), ("<", "S", 1, []), (">", "SA", 2, ["syn"]), ("=", "X", 1, ["X", "Y:2", "cwnd=3"])])
        self.assertEqual([e.wait for e in option_table.events(other)], [0, 0, 0, 5000000])

    def test_the_table(self):
        """Each row has something come out, or looks at counters"""
        for name, rows in option_table.read((NET / "option_table").read_text(encoding="ascii").splitlines()).items():
            self.assertTrue(rows, name)
            for line, text, row in rows:
                self.assertTrue({e.verb for e in row} & {">", "="}, f"line {line}: {text}")


if __name__ == "__main__":
    unittest.main()
