# SPDX-License-Identifier: GPL-2.0
"""An emulated machine that died of its emulator is tried again; one that failed is not."""

import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
AGAIN = os.path.join(HERE, "..", "..", "tools", "lab", "qemu", "again")


class Again(unittest.TestCase):
    def run_with(self, *statuses):
        """What again makes of a command that ends so, one try after the other, and how many there were."""
        with tempfile.TemporaryDirectory() as tmp:
            tries = os.path.join(tmp, "tries")
            script = (f'echo x >>{tries}; n=$(wc -l <{tries}); set -- {" ".join(map(str, statuses))}; '
                      'echo "1..$n"; echo "lab qemu: why $n" >&2; exit "${!n}"')
            done = subprocess.run([AGAIN, "bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, check=False)
            with open(tries, encoding="utf-8") as f:
                return done, len(f.readlines())

    def test_emulators_fault(self):
        done, tries = self.run_with(126, 0)
        self.assertEqual((done.returncode, tries), (0, 2))
        self.assertEqual(done.stdout, "# progress: try 1 of 3: lab qemu: why 1\n1..2\nlab qemu: why 2\n")

    def test_three_times(self):
        done, tries = self.run_with(126, 126, 126, 0)
        self.assertEqual((done.returncode, tries), (126, 3))

    def test_a_failure_stays_one(self):
        for status in (1, 124, 125):
            done, tries = self.run_with(status, 0)
            self.assertEqual((done.returncode, tries), (status, 1))
            self.assertEqual(done.stdout, "1..1\nlab qemu: why 1\n")


if __name__ == "__main__":
    unittest.main()
