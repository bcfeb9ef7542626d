#!/usr/bin/env python3
"""The hook of out-of-memory errors, on real PyTorch: what it writes, when, and that it never gets in the way."""
import json
import pickle
import unittest

import programs

EAT = """
    torch = no_math_libraries()
    held = []

    def eat(step=1 << 24):
        while True:
            held.append(torch.empty(step, dtype=torch.uint8, device="cuda"))

    def fails(act, *arguments):
        try:
            act(*arguments)
        except torch.cuda.OutOfMemoryError as error:
            return type(error).__name__
"""


def files(folder, ending):
    return sorted(folder.glob(f"oom-*.{ending}"))


class OutOfMemory(programs.TorchTest):
    def test_the_first_failure_writes_snapshot_report_and_figures(self):
        done = self.run_torch("""
            import tidegauge.torch
            assert "torch" not in sys.modules
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, max_delay_s=90)
            """, EAT, """
            assert not torch.cuda.is_initialized()
            give(error=fails(eat), blocks=len(held), files=0)
        """)
        self.assertEqual(done["error"], "OutOfMemoryError")
        path, = files(self.out, "pickle")
        device = self.report(path)["devices"][0]
        self.assertEqual(len(device["ooms"]), 1)
        self.assertEqual(device["ooms"][0]["requested_bytes"], 1 << 24)
        self.assertEqual(device["holders_at_oom"]["rows"][0]["blocks"], done["blocks"])
        self.assertIn("eat", device["holders_at_oom"]["rows"][0]["label"])
        figures = json.loads(path.with_suffix(".json").read_text())
        self.assertEqual(figures["requested_bytes"], 1 << 24)
        self.assertEqual(figures["stack"][0][2], "eat")
        self.assertEqual(figures["missing"], [])
        self.assertIn("What helps", path.with_suffix(".txt").read_text())
        self.assertEqual(list(self.out.glob(".*.tmp")), [])

    def test_five_lines_on_stderr(self):
        done = self.run_torch("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, max_delay_s=90)
        """, EAT, "eat()", code=1)
        lines = [line for line in done.err.splitlines() if line.startswith("tidegauge: ")]
        self.assertEqual(len(lines), 5, done.err)
        self.assertIn("cuda:0 is out of memory (rank 0, process ", lines[0])
        self.assertIn("requested 16.0 MiB", lines[0])
        self.assertIn("eat", lines[1])
        self.assertIn("Capacity", lines[2])
        self.assertIn(str(self.out), lines[4])
        self.assertIn("OutOfMemoryError: CUDA out of memory", done.err)

    def test_the_lines_name_the_request_and_not_its_segment(self):
        for history, text, requested in ((1000, "requested 4.00 MiB in a segment of 20.0 MiB, the driver", 4 << 20),
                                         (0, "requested a segment of 20.0 MiB, the driver", None)):
            with self.subTest(history=history):
                done = self.run_torch(f"""
                    import tidegauge.torch
                    FOLDER = OUT / "{history}"
                    tidegauge.torch.on_oom(FOLDER, history={history}, keep_free_bytes=0, max_delay_s=90)
                """, EAT, "fails(eat, 4 << 20)")
                self.assertIn(text, done.err)
                path, = files(self.out / str(history), "pickle")
                figures = json.loads(path.with_suffix(".json").read_text())
                self.assertEqual((figures["requested_bytes"], figures["segment_bytes"]), (requested, 20 << 20))
                if history:
                    self.assertEqual(self.report(path)["devices"][0]["ooms"][0]["requested_bytes"], requested)

    def test_one_block_is_singular(self):
        done = self.run_torch("""
            import tidegauge.torch
            hook = tidegauge.torch.on_oom(OUT, keep_free_bytes=0, report=False)
            """, EAT, """
            one = torch.empty(4 << 20, dtype=torch.uint8, device="cuda")
            fails(lambda: torch.empty(1 << 40, dtype=torch.uint8, device="cuda"))
            give(text=repr(hook))
        """)
        self.assertIn("largest holder: 4.00 MiB in 1 block, ", done.err)
        self.assertIn("2 files in", done["text"])

    def test_worse_is_judged_by_the_request(self):
        """24 MiB above 236 is worse than 3 MiB above 240, although the segment of the 3 MiB has 20."""
        programs_of = {"small_first": "small(); large()", "large_first": "large(); small()"}
        for history in (0, 1000):
            for name, calls in programs_of.items():
                with self.subTest(name, history=history):
                    done = self.run_torch(f"""
                        import tidegauge.torch
                        FOLDER = OUT / f"{name}{history}"
                        hook = tidegauge.torch.on_oom(FOLDER, history={history}, keep_free_bytes=0, report=False)
                        """, EAT, f"""
                        def fill(mib):
                            held.clear()
                            torch.cuda.empty_cache()
                            held.append(torch.empty(mib << 20, dtype=torch.uint8, device="cuda"))
                        def small():
                            fill(240)
                            fails(lambda: torch.empty(3 << 20, dtype=torch.uint8, device="cuda"))
                        def large():
                            fill(236)
                            fails(lambda: torch.empty(24 << 20, dtype=torch.uint8, device="cuda"))
                        {calls}
                        give(ooms=hook.ooms)
                    """)
                    self.assertEqual(done["ooms"], 2)
                    self.assertEqual(len(files(self.out / f"{name}{history}", "pickle")), 2 if name == "small_first" else 1)

    def test_the_same_stack_writes_once_and_a_worse_one_again(self):
        done = self.run_torch("""
            import tidegauge.torch
            hook = tidegauge.torch.on_oom(OUT, keep_free_bytes=0, report=False)
            """, EAT, """
            fails(eat)
            counts = []
            def small():
                torch.empty(1 << 23, dtype=torch.uint8, device="cuda")
                torch.empty(1 << 25, dtype=torch.uint8, device="cuda")
            def large():
                torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
            held.pop()
            def retry(act):
                for _ in range(50):
                    fails(act)
                counts.append(len(list(OUT.glob("*.pickle"))))
            retry(small); retry(large); retry(small)
            give(counts=counts, ooms=hook.ooms)
        """)
        self.assertEqual(done["counts"], [1, 2, 2])
        self.assertEqual(done["ooms"], 151)

    def test_the_error_that_ends_the_program_is_written(self):
        """An earlier one that was caught, and asked for more, was written before: as a search for the batch size does."""
        done = self.run_torch("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, history=1000, max_files=1, keep_free_bytes=0)
            """, EAT, """
            fails(lambda: torch.empty(1 << 31, dtype=torch.uint8, device="cuda"))
            eat()
        """, code=1)
        first, last = (json.loads(path.read_text()) for path in files(self.out, "json"))
        self.assertEqual((first["requested_bytes"], last["requested_bytes"]), (1 << 31, 1 << 24))
        self.assertTrue([frame for frame in last["stack"] if frame[2] == "eat"])
        self.assertEqual(len(files(self.out, "pickle")), 2)
        self.assertRegex(done.err, r"requested 16.0 MiB, the driver had (.|\n)*Traceback(.|\n)*OutOfMemoryError")

    def test_an_error_that_ends_the_program_is_written_once(self):
        done = self.run_torch("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, keep_free_bytes=0, report=False)
            """, EAT, "eat()", code=1)
        self.assertEqual(len(files(self.out, "pickle")), 1)
        self.assertEqual(done.err.count("is out of memory"), 1)

    def test_an_error_that_no_allocator_saw_is_written(self):
        done = self.run_torch("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, keep_free_bytes=0, report=False)
            """, EAT, """
            kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
            raise torch.cuda.OutOfMemoryError("Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 256 MiB")
        """, code=1)
        self.assertEqual(len(files(self.out, "pickle")), 1)
        self.assertIn("2.00 GiB", done.err.splitlines()[0])

    def test_the_lines_are_about_this_failure_and_not_the_worst(self):
        done = self.run_torch("""
            import tidegauge.torch
            """, EAT, """
            torch.cuda.memory._record_memory_history()
            fails(lambda: torch.empty(1 << 34, dtype=torch.uint8, device="cuda"))  # before the hook, and larger than any card
            tidegauge.torch.on_oom(OUT, keep_free_bytes=0)
            fails(eat)
        """)
        lines = done.err.splitlines()
        self.assertIn("requested 16.0 MiB", lines[0])
        self.assertNotIn("16.0 GiB", "".join(lines))
        figures = json.loads(files(self.out, "json")[0].read_text())
        self.assertIn("16.0 MiB", figures["why"] + files(self.out, "txt")[0].read_text().splitlines()[2])
        self.assertIn("the last of 2 failed requests", files(self.out, "txt")[0].read_text())

    def test_the_holder_is_of_this_moment(self):
        done = self.run_torch("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0)
            """, EAT, """
            kept = torch.empty(1 << 27, dtype=torch.uint8, device="cuda")
            del kept
            torch.cuda.empty_cache()
            fails(lambda: torch.empty(1 << 42, dtype=torch.uint8, device="cuda"))
        """)
        self.assertEqual(done.err.splitlines()[1], "tidegauge: held: 0 B allocated, 0 B reserved")

    def test_the_number_of_files_is_bounded(self):
        done = self.run_torch("""
            import tidegauge.torch
            hook = tidegauge.torch.on_oom(OUT, max_files=2, keep_free_bytes=0, report=False)
            """, EAT, """
            for power in range(30, 40):
                namespace = {"torch": torch}
                body = f"  torch.empty(1 << {power}, dtype=torch.uint8, device='cuda')"
                exec("def ask():" + "\\n" * power + body, namespace)
                fails(namespace["ask"])
            give(ooms=hook.ooms)
        """)
        self.assertEqual(done["ooms"], 10)
        self.assertEqual(len(files(self.out, "pickle")), 2)

    def test_the_disk_is_asked_first(self):
        for options, text in (("keep_free_bytes=1 << 60", "room for 0 B"), ("max_folder_bytes=1000", "room for ")):
            with self.subTest(options):
                done = self.run_torch(f"import tidegauge.torch\ntidegauge.torch.on_oom(OUT, {options})",
                                      EAT, "give(error=fails(eat))\n")
                self.assertEqual(done["error"], "OutOfMemoryError")
                self.assertEqual(files(self.out, "pickle"), [])
                self.assertIn(text, done.err)
        self.assertEqual(len(files(self.out, "json")), 2)

    def test_a_disk_or_memory_that_is_full_in_the_middle_costs_that_file_alone(self):
        full = """
            def full(*arguments, **options): raise {error}
            before = tidegauge.torch._files.write_whole
            def write_whole(path, write):
                if path.suffix in {endings}: raise {error}
                return before(path, write)
            writing._files.write_whole = write_whole
        """
        for error, text in (("OSError(28, 'No space left on device')", "No space left on device"),
                            ("MemoryError()", "MemoryError")):
            for endings, left in (((".pickle",), {".json"}), ((".txt",), {".pickle", ".json"}),
                                  ((".json",), {".pickle", ".txt"}), ((".pickle", ".txt", ".json"), set())):
                with self.subTest(error=error, endings=endings):
                    done = self.run_torch("""
                        import tidegauge.torch, tidegauge.torch._write_oom as writing
                        FOLDER = OUT / str(os.getpid())
                        hook = tidegauge.torch.on_oom(FOLDER, history=100, keep_free_bytes=0, max_delay_s=90)
                        """, full.format(error=error, endings=endings), EAT, """
                        give(error=fails(eat), files=[path.name for path in hook.files],
                             left=[path.name for path in FOLDER.iterdir() if path.suffix != ".lock"])
                    """)
                    self.assertEqual(done["error"], "OutOfMemoryError")
                    lines = [line for line in done.err.splitlines() if line.startswith("tidegauge: ")]
                    self.assertEqual(len(lines), 5, done.err)
                    self.assertIn(text, done.err)
                    self.assertEqual({name[name.rindex("."):] for name in done["files"]}, left)
                    self.assertEqual(sorted(done["files"]), sorted(done["left"]))
                    if endings == (".pickle",):
                        figures = json.loads(next(self.out.rglob(done["files"][0])).read_text())
                        self.assertEqual(figures["taken"], "counters")
                        self.assertIn(text, figures["missing"][0])

    def test_a_folder_that_cannot_be_written_leaves_the_five_lines(self):
        done = self.run_torch("""
            import tidegauge.torch
            hook = tidegauge.torch.on_oom(OUT / "oom", history=100, keep_free_bytes=0)
            """, EAT, """
            torch.cuda.init()
            (OUT / "oom").rmdir(); (OUT / "oom").write_text("a file")
            give(error=fails(eat), files=len(hook.files))
        """)
        self.assertEqual((done["error"], done["files"]), ("OutOfMemoryError", 0))
        self.assertEqual(len([line for line in done.err.splitlines() if line.startswith("tidegauge: ")]), 5, done.err)

    def test_a_snapshot_of_a_run_that_died_is_not_overwritten(self):
        self.run_torch("""
            import tidegauge.torch
            from tidegauge.torch import _host
            left = OUT / f"oom-{_host.host_name()}-r{_host.rank()}-p{os.getpid()}-1.pickle"
            left.write_text("of an earlier run")
            tidegauge.torch.on_oom(OUT, keep_free_bytes=0, report=False)
            """, EAT, """
            fails(eat)
            assert left.read_text() == "of an earlier run"
        """)
        self.assertEqual(len(files(self.out, "pickle")), 2)

    def test_without_history_the_state_is_written_and_the_lines_say_what_is_missing(self):
        done = self.run_torch("import tidegauge.torch\ntidegauge.torch.on_oom(OUT, keep_free_bytes=0)",
                              EAT, "fails(eat)\ngive(blocks=len(held))\n")
        path, = files(self.out, "pickle")
        snapshot = pickle.loads(path.read_bytes())
        blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]
                  if block["state"] == "active_allocated"]
        self.assertEqual(len(blocks), done["blocks"])
        self.assertIn("history was off", done.err)
        self.assertIn("history was off", json.loads(path.with_suffix(".json").read_text())["missing"][0])

    def test_history_of_the_program_is_left_as_it_is(self):
        self.run_torch("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, history=10, keep_free_bytes=0)
            """, EAT, """
            torch.cuda.init()
            torch.cuda.memory._record_memory_history(max_entries=77)
            for _ in range(100):
                torch.empty(1000, device="cuda")
            fails(eat)
        """)
        path, = files(self.out, "pickle")
        self.assertEqual(len(pickle.loads(path.read_bytes())["device_traces"][0]), 77)

    def test_an_error_of_the_hook_does_not_replace_the_programs(self):
        for fault in ("tidegauge.torch._write_oom._live.take = None",
                      "tidegauge.torch._write_oom._live.stats = None",
                      "FOLDER.rmdir(); FOLDER.write_text('a file')",
                      "sys.stderr.close()", "sys.stderr = None"):
            with self.subTest(fault):
                done = self.run_torch("""
                    import tidegauge.torch, tidegauge.torch._write_oom
                    FOLDER = OUT / str(os.getpid())
                    tidegauge.torch.on_oom(FOLDER, keep_free_bytes=0)
                    """, EAT, f"""
                    torch.cuda.init()
                    {fault}
                    give(error=fails(eat))
                """)
                self.assertEqual(done["error"], "OutOfMemoryError")
                self.assertEqual(list(self.folder.glob("**/.*.tmp")), [])

    def test_a_command_that_hangs_or_is_missing_delays_no_more_than_allowed(self):
        slow = self.folder / "slow"
        slow.write_text("#!/bin/sh\nexec sleep 1000\n")
        slow.chmod(0o755)
        for command, text in ((slow, "took too long"), (self.folder / "none", "is missing")):
            done = self.run_torch("import tidegauge.torch\n"
                                  "tidegauge.torch.on_oom(OUT, keep_free_bytes=0, max_delay_s=1)",
                                  EAT, "give(error=fails(eat))\n",
                                  TIDEGAUGE_COMMAND=str(command))
            self.assertEqual(done["error"], "OutOfMemoryError")
            self.assertIn(text, done.err)
            self.assertIn("largest holder: 256 MiB in 16 blocks, no stack recorded", done.err)

    def test_host_memory_is_bounded(self):
        """The peak with the hook is at most 64 MiB + 60 bytes per event above that of PyTorch's own snapshot."""
        events = 60_000
        peaks = {}
        for mode in ("bare", "hook"):
            done = self.run_torch(f"""
                import tidegauge.torch, tidegauge.torch._live
                torch = no_math_libraries()
                torch.cuda.init()
                def peak():
                    lines = open("/proc/self/status").read().splitlines()
                    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
                if {mode!r} == "hook":
                    hook = tidegauge.torch.on_oom(OUT, history={events}, keep_free_bytes=0, max_delay_s=90)
                else:
                    torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries={events})
                for _ in range({events} // 3 + 10):
                    torch.empty(1000, device="cuda")
                pathlib.Path("/proc/self/clear_refs").write_text("5")
                before = peak()
                if {mode!r} == "hook":
                    try:
                        torch.empty(1 << 50, device="cuda")
                    except torch.cuda.OutOfMemoryError:
                        pass
                else:
                    snapshot = tidegauge.torch._live.take()
                give(peak=peak() - before)
            """)
            peaks[mode] = done["peak"]
        path, = files(self.out, "pickle")
        self.assertEqual(len(pickle.loads(path.read_bytes())["device_traces"][0]), events)
        self.assertGreater(peaks["bare"], 300 * events)  # the measure works
        self.assertLessEqual(peaks["hook"] - peaks["bare"], (64 << 20) + 60 * events)

    def test_in_the_backward_pass(self):
        self.run_torch("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, max_delay_s=90)
            """, EAT, """
            class Grows(torch.autograd.Function):
                @staticmethod
                def forward(context, x): return x * 1
                @staticmethod
                def backward(context, grad):
                    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
            x = torch.ones(10, device="cuda", requires_grad=True)
            give(error=fails(lambda: Grows.apply(x).sum().backward()))
            # PyTorch 2.15 alone, without the hook, aborts in 20 of 50 such programs on a busy machine when the
            # interpreter ends ("terminate called without an active exception"): its thread still holds Python.
            sys.stderr.flush()
            os._exit(0)
        """)
        path, = files(self.out, "pickle")
        self.assertEqual(json.loads(path.with_suffix(".json").read_text())["requested_bytes"], 1 << 40)

    def test_several_devices(self):
        done = self.run_torch("""
            import tidegauge.torch
            tidegauge.torch.on_oom(OUT, history=1000, keep_free_bytes=0, max_delay_s=90)
            """, EAT, """
            other = torch.empty(1 << 20, dtype=torch.uint8, device="cuda:0")
            def on_second():
                while True:
                    held.append(torch.empty(1 << 24, dtype=torch.uint8, device="cuda:1"))
            on_second()
        """, FAKE_GPU_COUNT="2", code=1)
        self.assertIn("OutOfMemoryError: ", done.err)
        path, = files(self.out, "pickle")
        figures = json.loads(path.with_suffix(".json").read_text())
        self.assertEqual(figures["device"], 1)
        self.assertEqual(sorted(figures["stats"]), ["0", "1"])
        self.assertIn("cuda:1 is out of memory", done.err)
        self.assertEqual([len(device["ooms"]) for device in self.report(path)["devices"]], [0, 1])

    def test_ctrl_c_while_it_writes_ends_the_program_after_its_own_error(self):
        done = self.run_torch("""
            import signal, time
            import tidegauge.torch, tidegauge.torch._write_oom as writing
            tidegauge.torch.on_oom(OUT, keep_free_bytes=0)
            """, EAT, """
            def take(events):
                signal.raise_signal(signal.SIGINT)
                time.sleep(60)
            writing._live.take = take
            try:
                give(error=fails(eat))
                time.sleep(60)
            except KeyboardInterrupt:
                give(interrupted=True)
        """)
        self.assertEqual(done["error"], "OutOfMemoryError")
        self.assertTrue(done["interrupted"])


if __name__ == "__main__":
    unittest.main()
