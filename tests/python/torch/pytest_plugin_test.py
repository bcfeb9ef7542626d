#!/usr/bin/env python3
"""The pytest plugin on real PyTorch: limits, leaks, reports, and xdist."""
import os
import re
import textwrap
import unittest

import programs

TESTS = """
    import gc, pytest, torch
    MIB = 1 << 20
    kept = []
    def take(mib): return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")

    @pytest.fixture(scope="session")
    def model(): return take(50)

    @pytest.mark.limit_gpu_memory("4MiB")
    def test_below_its_limit(model): take(3)

    @pytest.mark.limit_gpu_memory("4MiB")
    def test_above_its_limit(model): take(5)

    @pytest.mark.limit_gpu_memory("4MiB")
    @pytest.mark.no_gpu_leak
    def test_fails_itself(): kept.append(take(9)); assert False, "of the test"

    @pytest.mark.no_gpu_leak
    def test_leaks(): kept.append(take(2))

    @pytest.mark.no_gpu_leak
    def test_cycle():
        cycle = [take(2)]; cycle.append(cycle)

    @pytest.mark.no_gpu_leak(allowed_bytes="1MiB")
    def test_allowed(): kept.append(take(1))

    @pytest.mark.parametrize("mib", [7, 30])
    def test_unmarked(mib): take(mib)

    def test_without_gpu(): pass
"""


class Plugin(programs.TorchTest):
    def pytest(self, tests, *options, code=1, **env):
        path = self.folder / "test_sample.py"
        path.write_text(textwrap.dedent(tests))
        done = self.start(programs.PYTHON, "-m", "pytest", "-p", "tidegauge.pytest_plugin", "-p", "no:cacheprovider",
                          "-rA", "--tb=short", *options, path, code=None, **env)
        if "No module named pytest" in done.err:
            self.skipTest("this Python has no pytest")
        self.assertEqual(done.code, code, done.out + done.err)
        return done

    def assert_results(self, out):
        results = dict((name, result) for result, name in re.findall(r"^(PASSED|FAILED) \S*::(\S+)", out, re.M))
        self.assertEqual({name for name, result in results.items() if result == "FAILED"},
                         {"test_above_its_limit", "test_fails_itself", "test_leaks"})
        self.assertEqual(len(results), 9)
        self.assertIn("the test allocated 5.00 MiB on cuda:0, more than its limit of 4.00 MiB", out)
        self.assertIn("test_sample.py:5 take", out)
        self.assertIn("2.00 MiB that the test allocated on cuda:0 stayed", out)
        self.assertIn("of the test", out)

    def test_limits_and_leaks(self):
        done = self.pytest(TESTS)
        self.assert_results(done.out)
        self.assertNotIn("GPU memory (tidegauge)", done.out)
        self.assertEqual([path.name for path in self.folder.glob("tidegauge-report")], [])

    def test_reports_and_summary(self):
        done = self.pytest(TESTS, "--tidegauge-folder", self.out)
        self.assert_results(done.out)
        summary = done.out.split("GPU memory (tidegauge)")[1]
        sizes = re.findall(r"^ *([\d.]+) MiB +\S+::(\S+)  (\S+)$", summary, re.M)
        self.assertEqual([(size, name) for size, name, _ in sizes[:3]],
                         [("30.0", "test_unmarked[30]"), ("9.00", "test_fails_itself"), ("7.00", "test_unmarked[7]")])
        self.assertEqual(len(sizes), 8)  # not the one without a GPU
        texts = sorted(self.out.glob("*.txt"))
        self.assertEqual(len(texts), 8)
        for path in texts:
            self.assertIn("cuda:0: ", path.read_text())
        pickle, = self.out.glob("*test_unmarked-30*.pickle")
        self.assertEqual(self.report(pickle)["devices"][0]["allocations_by_provenance"]["traced"], 1)

    def test_under_xdist(self):
        done = self.pytest(TESTS, "--tidegauge-folder", self.out, "-n", "2")
        self.assert_results(done.out)
        self.assertEqual(len(re.findall(r"MiB +\S+::\S+  \S+$", done.out.split("GPU memory (tidegauge)")[1], re.M)), 8)
        self.assertEqual(len(list(self.out.glob("*.txt"))), 8)

    def test_a_wrong_marker_is_an_error_of_its_test(self):
        done = self.pytest("""
            import pytest
            @pytest.mark.limit_gpu_memory("4 gigs")
            def test_a(): pass
            @pytest.mark.limit_gpu_memory
            def test_b(): pass
            @pytest.mark.limit_gpu_memory(True)
            def test_c(): pass
            @pytest.mark.no_gpu_leak(allowed="1MiB")
            def test_d(): pass
            @pytest.mark.no_gpu_leak("much")
            def test_e(): pass
            @pytest.mark.limit_gpu_memory(0)
            @pytest.mark.no_gpu_leak(0)
            def test_f(): pass
        """, "--strict-markers")
        self.assertIn("the size of limit_gpu_memory is '4 gigs'", done.out)
        self.assertIn("limit_gpu_memory needs one size", done.out)
        self.assertIn("the size of limit_gpu_memory is True", done.out)
        self.assertIn("no_gpu_leak needs at most a size", done.out)
        self.assertIn("the size of no_gpu_leak is 'much'", done.out)
        self.assertIn("5 failed, 1 passed", done.out)

    def test_arguments_of_markers_by_place(self):
        done = self.pytest("""
            import pytest, torch
            kept = []
            def take(mib): kept.append(torch.empty(mib << 20, dtype=torch.uint8, device="cuda"))

            @pytest.mark.no_gpu_leak("2MiB")
            def test_allowed(): take(2)
            @pytest.mark.no_gpu_leak("1MiB")
            def test_leaks(): take(2)
            @pytest.mark.limit_gpu_memory("1MiB", 1)
            def test_another_device(): take(2)
            @pytest.mark.limit_gpu_memory("1MiB", "cuda:0")
            def test_this_device(): take(2)
            @pytest.mark.limit_gpu_memory("1MiB", device=9)
            def test_no_device(): take(2)
            @pytest.mark.limit_gpu_memory(size="1MiB")
            def test_by_name(): take(2)
        """, FAKE_GPU_COUNT="2")
        results = dict((name, result) for result, name in re.findall(r"^(PASSED|FAILED) \S*::(\S+)", done.out, re.M))
        self.assertEqual(results, {"test_allowed": "PASSED", "test_leaks": "FAILED", "test_another_device": "PASSED",
                                   "test_this_device": "FAILED", "test_no_device": "FAILED", "test_by_name": "FAILED"})
        self.assertIn("there is no cuda:9. PyTorch has 2 devices", done.out)

    def test_with_the_oldest_pytest(self):
        """That of pluggy 0.13: it knows old wrappers alone, and an error of one ends the others early."""
        folder = os.environ.get("TIDEGAUGE_OLDEST_PYTEST")
        if not folder:
            self.skipTest("TIDEGAUGE_OLDEST_PYTEST names no folder with requirements_oldest.txt; run.py makes it")
        path = os.pathsep.join([str(programs.PACKAGE), folder])
        done = self.pytest(TESTS, "-s", "--tidegauge-folder", self.out, PYTHONPATH=path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        self.assert_results(done.out)
        self.assertEqual(len(list(self.out.glob("*.txt"))), 8)
        self.assertNotIn("INTERNALERROR", done.out + done.err)

    def test_a_failed_limit_lets_other_wrappers_end(self):
        (self.folder / "conftest.py").write_text(textwrap.dedent("""
            import pytest
            @pytest.hookimpl(hookwrapper=True, tryfirst=True)
            def pytest_runtest_call(item):
                outcome = yield
                print("the other wrapper saw", type(outcome.excinfo[1]).__name__)
        """))
        oldest = os.environ.get("TIDEGAUGE_OLDEST_PYTEST")
        for path in filter(None, [os.environ.get("PYTHONPATH"), oldest]):
            with self.subTest(path):
                done = self.pytest("""
                    import pytest, torch
                    @pytest.mark.limit_gpu_memory("1MiB")
                    def test_a(): torch.empty(2 << 20, dtype=torch.uint8, device="cuda")
                """, "-s", PYTHONPATH=os.pathsep.join([str(programs.PACKAGE), path]))
                self.assertIn("the other wrapper saw Failed", done.out)
                self.assertNotIn("PluggyTeardownRaisedWarning", done.out + done.err)

    def test_without_torch_nothing_happens(self):
        done = self.pytest("""
            import sys
            def test_a(): assert "torch" not in sys.modules
        """, code=0)
        self.assertIn("1 passed", done.out)


if __name__ == "__main__":
    unittest.main()
