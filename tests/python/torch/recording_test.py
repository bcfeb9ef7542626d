#!/usr/bin/env python3
"""record(), snapshot(), save(), phase() and step() on real PyTorch."""
import json
import pickle
import unittest

import programs


class Recording(programs.TorchTest):
    def test_record_as_a_context_manager(self):
        done = self.run_torch("""
            import tidegauge.torch
            torch = no_math_libraries()
            with tidegauge.torch.record() as r:
                kept = [torch.empty(1 << 20, dtype=torch.uint8, device="cuda") for _ in range(7)]
                del kept[3:]
            try:
                with tidegauge.torch.record() as unfinished:
                    unfinished.trace
            except tidegauge.UsageError as error:
                give(refusal=str(error))
            report = r.trace.report().to_dict()["devices"][0]
            give(peak=report["peak"]["allocated"]["bytes"], final=report["final"]["allocated_bytes"],
                 allocations=report["allocations"], text=str(r.trace.report()), still=torch._C._cuda_isHistoryEnabled(),
                 same=r.trace is r.trace)
        """)
        self.assertEqual((done["peak"], done["final"], done["allocations"]), (7 << 20, 3 << 20, 7))
        self.assertIn("program.py", done["text"])
        self.assertFalse(done["still"])
        self.assertTrue(done["same"])
        self.assertIn("has not ended", done["refusal"])

    def test_record_as_a_decorator(self):
        done = self.run_torch("""
            import tidegauge.torch
            torch = no_math_libraries()

            @tidegauge.torch.record
            def plain(count): return [torch.empty(1 << 20, dtype=torch.uint8, device="cuda") for _ in range(count)]

            @tidegauge.torch.record(max_events=5)
            def bounded(count): return plain.__wrapped__(count)

            kept = plain(2), bounded(9)
            give(length=len(kept[0]), name=plain.__name__,
                 events=[len(f.recording.snapshot["device_traces"][0]) for f in (plain, bounded)])
        """)
        self.assertEqual((done["length"], done["name"]), (2, "plain"))
        self.assertGreaterEqual(done["events"][0], 2)
        self.assertEqual(done["events"][1], 5)

    def test_a_recording_of_the_program_goes_unharmed(self):
        done = self.run_torch("""
            import tidegauge.torch
            torch = no_math_libraries()
            torch.cuda.init()
            torch.cuda.memory._record_memory_history()
            first = torch.empty(1000, device="cuda")
            try:
                with tidegauge.torch.record() as r:
                    raise KeyError("of the program")
            except KeyError:
                whole = torch.cuda.memory._snapshot()["device_traces"][0]
                give(events=len(r.snapshot["device_traces"][0]), whole=len(whole), on=torch._C._cuda_isHistoryEnabled())
        """)
        self.assertEqual(done["events"], 0)  # the block allocated nothing
        self.assertGreaterEqual(done["whole"], 1)
        self.assertTrue(done["on"])

    def test_only_the_block_counts_if_history_was_on(self):
        done = self.run_torch("""
            torch = no_math_libraries()
            import tidegauge.torch
            torch.cuda.memory._record_memory_history(max_entries=10_000)
            before = [torch.empty(1 << 20, device="cuda") for _ in range(30)]
            del before
            with tidegauge.torch.record() as outer:
                with tidegauge.torch.record(max_events=2) as inner:
                    kept = [torch.empty(1 << 10, device="cuda") for _ in range(5)]
            sizes = [event["size"] for event in outer.snapshot["device_traces"][0] if event["action"] == "alloc"]
            give(outer=sizes, inner=[event["action"] for event in inner.snapshot["device_traces"][0]],
                 live=outer.trace.holders()[0].blocks, history=tidegauge.torch._live.history_on())
        """)
        self.assertEqual(done["outer"], [4096] * 5)
        self.assertEqual(done["inner"], ["alloc"] * 2)
        self.assertTrue(done["history"])

    def test_phases_from_before_the_block_are_left_out(self):
        done = self.run_torch("""
            import tidegauge.torch
            torch = no_math_libraries()
            T = tidegauge.torch
            for _ in range(3):
                with T.phase("before"): torch.empty(1 << 20, device="cuda")
                T.step()
            with T.phase("around"):
                with T.record() as r:
                    with T.phase("inside"): kept = torch.empty(1 << 20, device="cuda")
            give(names=sorted(row[0] for row in r.trace.sql("SELECT name FROM annotations")))
        """)
        self.assertEqual(done["names"], ["around", "inside"])

    def test_a_ring_that_was_too_short_and_history_that_was_switched_off_are_said(self):
        done = self.run_torch("""
            import warnings, tidegauge.torch
            torch = no_math_libraries()
            torch.cuda.init()
            warnings.simplefilter("always")
            torch.cuda.memory._record_memory_history(max_entries=50)
            with warnings.catch_warnings(record=True) as said:
                with tidegauge.torch.record(): kept = [torch.empty(1 << 20, device="cuda") for _ in range(60)]
                del kept
                with tidegauge.torch.record(): kept = torch.empty(1 << 20, device="cuda")
            torch.cuda.memory._record_memory_history(None)
            with warnings.catch_warnings(record=True) as off:
                with tidegauge.torch.record(): torch.cuda.memory._record_memory_history(None)
            give(said=[str(one.message) for one in said], off=[str(one.message) for one in off])
        """, FAKE_GPU_BYTES="1g")
        self.assertEqual(len(done["said"]), 1, done["said"])
        self.assertRegex(done["said"][0], r"kept \d+ of the 60 allocations of this block on cuda:0")
        self.assertEqual(len(done["off"]), 1, done["off"])
        self.assertIn("switched off inside record()", done["off"][0])

    def test_arguments_are_checked(self):
        self.run_torch("""
            import tidegauge.torch
            for options in ({"max_events": 0}, {"max_events": "many"}, {"stacks": "c"}):
                try:
                    tidegauge.torch.record(**options)
                except tidegauge.UsageError:
                    continue
                sys.exit(f"{options} was taken")
        """)

    def test_a_saved_snapshot_is_pytorchs_own(self):
        self.run_torch("""
            import pickle, tidegauge.torch
            torch = no_math_libraries()
            torch.cuda.init()
            torch.cuda.memory._record_memory_history(stacks="python")
            kept = [torch.empty(10 * at + 1, device="cuda") for at in range(1500)]
            pickle.dump(torch.cuda.memory._snapshot(), open(OUT / "theirs", "wb"))
            tidegauge.torch.save(OUT / "mine.pickle")
            tidegauge.torch.save(OUT / "state.pickle", events=False)
        """)
        theirs, mine, state = (pickle.loads((self.out / name).read_bytes())
                               for name in ("theirs", "mine.pickle", "state.pickle"))
        own = mine.pop("tidegauge")
        self.assertEqual(own, {"version": 1, "tensors": []})
        entry = mine["device_traces"][0].pop()
        self.assertEqual(entry["action"], "snapshot")  # of theirs
        # PyTorch takes its times from the processor's clock, and compares that with the system's anew for each snapshot.
        for one, other in zip(mine["device_traces"][0], theirs["device_traces"][0]):
            self.assertLessEqual(abs(one["time_us"] - other["time_us"]), 5)
            one["time_us"] = other["time_us"]
        self.assertEqual(mine, theirs)
        self.assertEqual(state["segments"], theirs["segments"])

    def test_a_snapshot_does_not_import_the_compiler(self):
        done = self.run_torch("""
            import tidegauge.torch, tidegauge.torch._live as live
            torch = no_math_libraries()
            with tidegauge.torch.record() as r:
                torch.empty(1000, device="cuda")
            give(imported="torch._inductor" in sys.modules, left="_inductor" in torch.__dict__,
                 frames=len(r.snapshot["device_traces"][0][-1]["frames"]))
            with live.without_imports():
                give(asked=hasattr(torch._inductor, "codecache"), real=torch._inductor.__name__)
        """)
        self.assertEqual((done["imported"], done["left"], done["asked"]), (False, False, False))
        self.assertGreater(done["frames"], 0)

    def test_phases_nest_and_belong_to_their_threads(self):
        done = self.run_torch("""
            import threading, tidegauge.torch
            torch = no_math_libraries()

            @tidegauge.torch.phase("decorated")
            def decorated(depth):
                return torch.empty(1000, device="cuda") if depth == 0 else decorated(depth - 1)

            def other():
                with tidegauge.torch.phase("in a thread"):
                    torch.empty(1000, device="cuda")

            with tidegauge.torch.record() as r:
                with tidegauge.torch.phase("outer"), tidegauge.torch.phase("inner"):
                    decorated(2)
                try:
                    with tidegauge.torch.phase("fails"):
                        raise KeyError
                except KeyError:
                    pass
                thread = threading.Thread(target=other); thread.start(); thread.join()
                for _ in range(3):
                    tidegauge.torch.step()
            marks = sorted(r.snapshot["external_annotations"], key=lambda mark: mark["time_us"])
            give(marks=[(mark["name"], mark["stage"]) for mark in marks],
                 times="time_us" in r.snapshot["device_traces"][0][0])
            pickle = __import__("pickle"); pickle.dump(r.snapshot, open(OUT / "marks.pickle", "wb"))
        """)
        steps = [mark for mark in done["marks"] if mark[0].startswith("step ")]
        rest = [mark for mark in done["marks"] if not mark[0].startswith("step ")]
        self.assertEqual(rest, [["outer", "START"], ["inner", "START"], *[["decorated", "START"]] * 3,
                                *[["decorated", "END"]] * 3, ["inner", "END"], ["outer", "END"], ["fails", "START"],
                                ["fails", "END"], ["in a thread", "START"], ["in a thread", "END"]])
        self.assertEqual(steps, [[f"step {at}", stage] for at in range(3) for stage in ("START", "END")])
        phases = self.report(self.out / "marks.pickle", "--full")["devices"][0]["phases"]
        if done["times"]:  # events of PyTorch 2.1 have no times, so phases have no place among them
            self.assertIn("outer", json.dumps(phases))

    def test_a_phase_without_torch_costs_no_import(self):
        self.run_torch("""
            import tidegauge.torch
            with tidegauge.torch.phase("early"):
                pass
            assert "torch" not in sys.modules
        """)


if __name__ == "__main__":
    unittest.main()
