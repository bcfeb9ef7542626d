#!/usr/bin/env python3
"""%%tidegauge in a real IPython, with real PyTorch: what the cell took, and what stays as it was."""
import unittest

import programs

SHELL = """
    torch = no_math_libraries()
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()

    def cell(text):
        done = shell.run_cell(text)
        error = done.error_before_exec or done.error_in_exec
        return done.result, type(error).__name__ if error else ""

    cell("import torch")
    give(loaded=cell("%load_ext tidegauge")[1], again=cell("%load_ext tidegauge")[1])
"""


class Magic(programs.TorchTest):
    def test_the_cell_runs_and_is_shown(self):
        done = self.run_torch(SHELL, """
            torch.empty(7 << 20, dtype=torch.uint8, device="cuda")  # before the cell
            _, error = cell("%%tidegauge mine\\nkept = torch.empty(5 << 20, dtype=torch.uint8, device='cuda')\\nprint('in it')")
            trace = shell.user_ns["mine"]
            forms = shell.display_formatter.formatters
            give(error=error, kept=shell.user_ns["kept"].nbytes, is_on=torch._C._cuda_isHistoryEnabled(),
                 sizes=trace.sql("SELECT size_bytes FROM events WHERE action = 'alloc'")["size_bytes"],
                 peak=trace.peak().active_bytes, html=forms["text/html"](trace))
        """)
        self.assertEqual((done["loaded"], done["again"], done["error"]), ("", "", ""))
        self.assertEqual(done["kept"], 5 << 20)
        self.assertFalse(done["is_on"])  # as it was before
        self.assertEqual(done["sizes"], [5 << 20])  # of the cell alone
        self.assertGreaterEqual(done["peak"], 5 << 20)
        self.assertIn("in it", done.out)
        self.assertIn("<svg", done["html"])
        self.assertIn("Out[0]: <tidegauge.Trace ", done.out)

    def test_names_of_the_variable(self):
        done = self.run_torch(SHELL, """
            make = "x = torch.empty(1 << 20, dtype=torch.uint8, device='cuda')"
            cell("%%tidegauge\\n" + make)
            default = shell.user_ns["_trace"].events.num_rows
            errors = [cell(f"%%tidegauge {name}\\nnever = 1")[1] for name in ("two words", "1x", "a.b")]
            give(default=default, errors=errors, ran="never" in shell.user_ns)
        """)
        self.assertEqual(done["default"], 2)  # a segment, and its block
        self.assertEqual(done["errors"], ["UsageError"] * 3)
        self.assertFalse(done["ran"])

    def test_a_cell_that_fails_leaves_its_trace_and_its_error(self):
        done = self.run_torch(SHELL, """
            give(oom=cell("%%tidegauge full\\nheld = []\\nwhile True: held.append(torch.empty(1 << 24, dtype=torch.uint8, device='cuda'))")[1],
                 syntax=cell("%%tidegauge broken\\nif:")[1], zero=cell("%%tidegauge third\\n1 / 0")[1],
                 ooms=len(shell.user_ns["full"].oom()), held=len(shell.user_ns["held"]), is_on=torch._C._cuda_isHistoryEnabled(),
                 after=cell("%%tidegauge fourth\\ndel held[:]\\ny = 1")[1])
        """)
        self.assertEqual((done["oom"], done["zero"], done["after"]), ("OutOfMemoryError", "ZeroDivisionError", ""))
        self.assertIn(done["syntax"], ("SyntaxError", "IndentationError"))
        self.assertEqual(done["ooms"], 1)
        self.assertGreater(done["held"], 10)
        self.assertFalse(done["is_on"])

    def test_a_recording_of_the_program_stays_on(self):
        done = self.run_torch(SHELL, """
            torch.cuda.init()
            torch.cuda.memory._record_memory_history(max_entries=1000)
            torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
            _, error = cell("%%tidegauge\\nx = torch.empty(5 << 20, dtype=torch.uint8, device='cuda')")
            give(error=error, is_on=torch._C._cuda_isHistoryEnabled(), all=len(torch.cuda.memory._snapshot()["device_traces"][0]),
                 of_cell=shell.user_ns["_trace"].events.num_rows)
        """)
        self.assertEqual((done["error"], done["is_on"]), ("", True))
        self.assertLess(done["of_cell"], done["all"])

    def test_magics_and_waits_inside(self):
        done = self.run_torch(SHELL, """
            give(time=cell("%%tidegauge a\\n%time x = torch.empty(1 << 20, dtype=torch.uint8, device='cuda')")[1],
                 awaited=cell("%%tidegauge b\\nimport asyncio\\nawait asyncio.sleep(0)\\nz = torch.empty(2 << 20, dtype=torch.uint8, device='cuda')")[1],
                 events=[shell.user_ns[name].events.num_rows > 0 for name in "ab"])
        """)
        self.assertEqual((done["time"], done["awaited"], done["events"]), ("", "", [True, True]))


if __name__ == "__main__":
    unittest.main()
