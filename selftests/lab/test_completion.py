# SPDX-License-Identifier: GPL-2.0
"""Tab completion of bash has every command and option, and no other."""

import argparse
import subprocess
import unittest

import context
from boltlab import cli

FILE = context.TREE / "tools" / "lab" / "completion.bash"
LAB = context.TREE / "tools" / "lab" / "lab"


def completed(*words):
    """What bash would offer for the last of them."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _subrtt_lab; printf "%s\\n" "${COMPREPLY[@]}"'
    said = subprocess.run(["bash", "-c", script, "bash", FILE, LAB, *words], capture_output=True, text=True, check=True, cwd=FILE.parent)
    return said.stdout.split()


class Completion(unittest.TestCase):
    def test_every_command_and_option(self):
        parser = cli.parser()
        commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
        self.assertEqual(set(completed("")), set(commands) | {"--version", "-V", "--help", "-h"})
        for name, of in commands.items():
            options = {o for a in of._actions for o in a.option_strings} | ({"--"} if name == "sweep" else set())
            self.assertEqual({w for w in completed(name, "-") if w.startswith("-")}, options, name)
            for a in of._actions:
                if a.choices:
                    self.assertEqual(completed(name, a.option_strings[0], ""), list(a.choices), (name, a.option_strings))

    def test_scenarios_and_files(self):
        self.assertIn("flow-join", completed("run", "flow"))
        self.assertEqual(completed("sweep", "idle-p"), ["idle-path"])
        self.assertEqual(completed("show", "scenar"), ["scenarios"])

    def test_values(self):
        self.assertEqual(completed("run", "x", "--backend", "q"), ["qemu"])
        self.assertEqual(completed("run", "x", "--cc", "bolt,cu"), ["bolt,cubic"])
        self.assertEqual(completed("run", "x", "--seed", ""), [])


if __name__ == "__main__":
    unittest.main()
