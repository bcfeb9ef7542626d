#!/usr/bin/env python3
"""The hook of out-of-memory errors in several processes: forked, spawned, torchrun; one writer; tight hosts."""
import json
import re
import unittest

import programs
from oom_test import EAT, files

WORKERS = """
    def work(share):
        torch = no_math_libraries()
        held = []
        try:
            while True:
                held.append(torch.empty(share, dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            give(process=os.getpid())
"""
PROCESSES = """
    def start(context):
        workers = [context.Process(target=work, args=(1 << 24,)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
            assert worker.exitcode == 0, worker.exitcode
"""


class Processes(programs.TorchTest):
    def assert_a_snapshot_of_each(self, done):
        processes = sorted(values["process"] for values in done.given if "process" in values)
        self.assertEqual(len(processes), 2)
        named = sorted(int(re.search(r"-p(\d+)-1", path.name)[1]) for path in files(self.out, "pickle"))
        self.assertEqual(named, processes)
        for path in files(self.out, "pickle"):
            self.assertEqual(self.report(path)["devices"][0]["ooms"][0]["requested_bytes"], 1 << 24)

    def test_forked_workers(self):
        done = self.run_torch("""
            import multiprocessing, tidegauge.torch
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, max_delay_s=90)
        """, WORKERS, PROCESSES, """
            import torch
            assert not torch.cuda.is_initialized()
            start(multiprocessing.get_context("fork"))
        """)
        self.assert_a_snapshot_of_each(done)

    def test_spawned_workers(self):
        done = self.run_torch("import multiprocessing", WORKERS, PROCESSES, """
            if __name__ == "__main__":
                import tidegauge.torch
                tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, max_delay_s=90)
                start(multiprocessing.get_context("spawn"))
        """)
        self.assert_a_snapshot_of_each(done)

    def test_spawned_workers_of_a_closed_hook_write_nothing(self):
        done = self.run_torch("import multiprocessing", WORKERS, PROCESSES, """
            if __name__ == "__main__":
                import tidegauge.torch
                tidegauge.torch.on_oom(OUT, keep_free_bytes=0).close()
                start(multiprocessing.get_context("spawn"))
        """)
        self.assertEqual(len(done.given), 2)
        self.assertEqual(files(self.out, "*"), [])

    def test_torchrun_of_two_ranks(self):
        program = self.program("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, max_delay_s=90)
            """, EAT, """
            def rank():
                torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
                eat()
            give(rank=os.environ["RANK"], process=os.getpid())
            import threading, time
            thread = threading.Thread(target=rank)
            thread.start()
            thread.join()
            end = time.monotonic() + 120  # torchrun ends all ranks when the first has ended
            while len(list(OUT.glob("*.json"))) < 2 and time.monotonic() < end:
                time.sleep(0.1)
        """)
        done = self.start(programs.PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone",
                          program, FAKE_GPU_COUNT="2", OMP_NUM_THREADS="1")
        self.assertEqual(sorted(values["rank"] for values in done.given), ["0", "1"])
        self.assertIn("OutOfMemoryError: ", done.err)
        for values in done.given:
            path, = files(self.out, "json")[int(values["rank"])::2]
            self.assertIn(f"-r{values['rank']}-p{values['process']}-1", path.name)
            figures = json.loads(path.read_text())
            self.assertEqual((figures["rank"], figures["device"]), (int(values["rank"]),) * 2)
            self.assertIn(f"(rank {values['rank']}, process {values['process']})", done.err)

    def test_one_process_of_a_host_writes_at_a_time(self):
        """Another holds the lock all the time: counters alone are written, and soon."""
        done = self.run_torch("""
            import tidegauge.torch, tidegauge.torch._files as files
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, max_delay_s=1)
            """, EAT, """
            with files.one_writer(OUT, 0) as alone:
                assert alone
                give(error=fails(eat))
        """)
        self.assertEqual(files(self.out, "pickle"), [])
        path, = files(self.out, "json")
        figures = json.loads(path.read_text())
        self.assertEqual(figures["taken"], "counters")
        self.assertEqual(figures["stats"]["0"]["num_ooms"], 1)
        self.assertIn("another process of this host was writing", done.err)

    def test_two_threads_at_once(self):
        done = self.run_torch("""
            import threading, tidegauge.torch
            hook = tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0)
            """, EAT, """
            torch.cuda.init()
            errors = []
            threads = [threading.Thread(target=lambda: errors.append(fails(eat))) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            give(errors=errors, ooms=hook.ooms)
        """)
        self.assertEqual(done["errors"], ["OutOfMemoryError"] * 4)
        self.assertEqual(done["ooms"], 4)
        self.assertIn(len(files(self.out, "pickle")), (1, 2, 3))

    def test_a_tight_host_gets_the_state_alone(self):
        """RLIMIT_AS stands for the cgroup's limit, which only root can set: both are one figure, headroom()."""
        done = self.run_torch("""
            import resource, tidegauge.torch, tidegauge.torch._live as live
            tidegauge.torch.on_oom(OUT, history=300_000, keep_free_bytes=0, max_delay_s=60)
            """, EAT, """
            for _ in range(100_000):
                torch.empty(1000, device="cuda")
            size = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize"))
            resource.setrlimit(resource.RLIMIT_AS, (size + (256 << 20), resource.RLIM_INFINITY))
            give(error=fails(eat), events=live.events_at_most(), can_skip=live.can_skip_events())
        """)
        self.assertEqual(done["error"], "OutOfMemoryError")
        self.assertGreaterEqual(done["events"], 300_000)
        self.assertIn("were left out: it needs up to" if done["can_skip"] else "was left out: it needs up to", done.err)
        self.assertIn("RLIMIT_AS of the process", done.err)
        if done["can_skip"]:
            path, = files(self.out, "pickle")
            device = self.report(path)["devices"][0]
            self.assertTrue(device["only_state"])
            self.assertGreater(device["final"]["active_bytes"], 1 << 26)
        else:
            self.assertEqual(files(self.out, "pickle"), [])

    def test_the_bound_of_events_holds(self):
        """What the plan rests on: never fewer than PyTorch hands out."""
        done = self.run_torch("""
            import tidegauge.torch._live as live
            torch = no_math_libraries()
            torch.cuda.init()
            live.start_history(5000)
            bounds = []
            for count in (0, 10, 1000, 4000):
                for _ in range(count):
                    kept = torch.empty(1000 + count, device="cuda")
                if count == 1000:
                    torch.cuda.empty_cache()
                    try:
                        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
                    except torch.cuda.OutOfMemoryError:
                        pass
                bounds.append((live.events_at_most(), len(live.take()["device_traces"][0])))
            give(bounds=bounds)
        """)
        # One entry "snapshot" of each earlier snapshot is in the trace as well.
        for at, (bound, taken) in enumerate(done["bounds"]):
            self.assertGreaterEqual(bound + at, taken)
        self.assertEqual(done["bounds"][-1], [5000, 5000])


if __name__ == "__main__":
    unittest.main()
