#!/usr/bin/env python3
"""Tests of the golden runner itself: that it can fail, skip and update. Uses a stand-in program."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).with_name("run.py")

# Prints its arguments, its input's size, or a given text.
PROGRAM = f"""#!{sys.executable}
import json, sys
command, arguments = sys.argv[1], sys.argv[2:]
if command == "say":
    print("\\n".join(arguments))
elif command == "size":
    print(arguments[0], len(open(arguments[0], "rb").read()))
elif command == "stdin":
    print(len(sys.stdin.buffer.read()))
elif command == "json":
    print(json.dumps({{"peak": {{"bytes": 5, "step": 7}}, "top": [1, 2, 3]}}))
elif command == "fail":
    print("no such file: " + arguments[0], file=sys.stderr)
    sys.exit(3)
"""


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = pathlib.Path(self.folder.name, "case.golden")
        self.program = pathlib.Path(self.folder.name, "program")
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def run_cases(self, text, *arguments, shared=None):
        self.file.write_text(text)
        environment = dict(os.environ, TIDEGAUGE_SHARED=str(shared or self.folder.name))
        done = subprocess.run([sys.executable, RUNNER, "--binary", self.program, *arguments,
                               self.file], capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout.splitlines()[-1] if done.stdout else "", done

    def expect(self, text, summary, **keywords):
        code, last, done = self.run_cases(text, **keywords)
        self.assertEqual((last, code), (summary, 1 if " 0 failed" not in summary else 0),
                         done.stdout + done.stderr)
        return done.stdout

    def test_passes_and_fails(self):
        ok = "NAME a\nRUN tidegauge say 'x y' z\nEXPECT\n  x y\n  z\n"
        self.expect(ok, "1 passed, 0 failed, 0 skipped")
        self.expect(ok + "\nNAME b\nRUN tidegauge say q\nEXPECT\n  r\n",
                    "1 passed, 1 failed, 0 skipped")
        self.expect("NAME a\nRUN tidegauge say x\nEXPECT\n", "0 passed, 1 failed, 0 skipped")

    def test_blank_lines_inside_a_block_count(self):
        case = "NAME a\nRUN tidegauge say x '' y\nEXPECT\n  x\n\n  y\n"
        self.expect(case, "1 passed, 0 failed, 0 skipped")
        self.expect(case.replace("\n\n", "\n"), "0 passed, 1 failed, 0 skipped")

    def test_exit_code_and_standard_error(self):
        case = "NAME a\nINPUT bytes 80 04\nRUN tidegauge fail $IN\nEXIT 3\nSTDERR\n" \
               "  no such file: $IN\n"
        self.expect(case, "1 passed, 0 failed, 0 skipped")
        self.expect(case.replace("EXIT 3\n", ""), "0 passed, 1 failed, 0 skipped")
        self.expect(case.replace("such", "more"), "0 passed, 1 failed, 0 skipped")

    def test_json_subset(self):
        case = 'NAME a\nRUN tidegauge json\nEXPECT_JSON\n  {"peak": {"bytes": 5},' \
               ' "top": [1, "..."]}\n'
        self.expect(case, "1 passed, 0 failed, 0 skipped")
        self.expect(case.replace("5", "6"), "0 passed, 1 failed, 0 skipped")
        self.expect(case.replace(', "..."', ""), "0 passed, 1 failed, 0 skipped")
        self.expect(case.replace("bytes", "absent"), "0 passed, 1 failed, 0 skipped")
        self.expect(case.replace("json\n", "say x\n"), "0 passed, 1 failed, 0 skipped")

    def test_inputs(self):
        self.expect("NAME a\nINPUT bytes 80 04 2e\nRUN tidegauge size $IN\nEXPECT\n  $IN 3\n"
                    "NAME b\nINPUT bytes 80 04\nSTDIN $IN\nRUN tidegauge stdin\nEXPECT\n  2\n"
                    "NAME c\nINPUT make_snapshot --events 9\nINPUT bytes 00\n"
                    "RUN tidegauge size $IN2\nEXPECT\n  $IN2 1\n",
                    "3 passed, 0 failed, 0 skipped")

    def test_masks(self):
        case = "NAME a\nMASK [0-9.]+ ms => TIME\nRUN tidegauge say 'took 12.5 ms'\nEXPECT\n" \
               "  took TIME\n"
        self.expect(case, "1 passed, 0 failed, 0 skipped")

    def test_skips_say_why(self):
        case = "NAME a\nREQUIRES shared\nRUN tidegauge say x\nEXPECT\n  x\n"
        self.expect(case, "1 passed, 0 failed, 0 skipped")
        out = self.expect(case, "0 passed, 0 failed, 1 skipped",
                          shared=pathlib.Path(self.folder.name, "absent"))
        self.assertIn("TIDEGAUGE_SHARED", out)

    def test_update_rewrites_only_what_differs(self):
        text = "# words\nNAME a\nRUN tidegauge say x '' y\nEXPECT\n  old\n\n\n  older\n\n" \
               "NAME ab\nRUN tidegauge say z\nEXPECT\n  z\n\n" \
               'NAME c\nRUN tidegauge json\nEXPECT_JSON\n  {"peak": {"bytes": 9}}\n'
        self.assertEqual(self.run_cases(text, "--update")[0], 0)
        updated = self.file.read_text()
        self.assertIn("EXPECT\n  x\n\n  y\n\nNAME ab\nRUN tidegauge say z\nEXPECT\n  z\n", updated)
        self.assertTrue(updated.startswith("# words\nNAME a\n"))
        self.expect(updated, "3 passed, 0 failed, 0 skipped")

    def test_malformed_files_are_refused(self):
        for text in ("RUN tidegauge say x\n", "NAME a\nwhat\n", "NAME a\nRUN rm -r x\n"):
            code, _, done = self.run_cases(text)
            self.assertEqual(code, 1, done.stdout)
            self.assertNotIn("passed", done.stdout)


if __name__ == "__main__":
    unittest.main()
