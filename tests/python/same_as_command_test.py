"""Every figure is the one that the command prints."""
import unittest

import tidegauge
from package import EXAMPLES, OOM, TWO_GPUS, said, said_json

GENERATED = "examples/generated.pickle.zst"


class SameAsCommand(unittest.TestCase):
    maxDiff = 2000

    def test_report(self):
        for path in EXAMPLES:
            with self.subTest(path):
                self.assertEqual(tidegauge.open(path).report().to_dict(), said_json("report", path, "--json"))

    def test_report_of_a_part(self):
        expected = said_json("report", TWO_GPUS, "--json", "--device", "1", "--from", "1", "--to", "5", "--capacity", "80GiB", "--no-replay")
        found = tidegauge.open(TWO_GPUS).report(device=1, begin="1", end="5", capacity="80GiB", replay="none")
        self.assertEqual(found.to_dict(), expected)

    def test_a_part_has_its_sentences(self):
        trace = tidegauge.open(OOM)
        part = trace.report(begin=100, end=20_000)
        self.assertEqual(part.headline, "cuda:0, steps 100 to 20,000: the peak was 5.02 GiB in use, after step 14,951, and 5.96 GiB reserved.")
        self.assertEqual(part.findings, ("Out of memory at step 14,967: the program requested 506 MiB; the driver had 376 MiB free.",))
        for sentence in part.findings:
            self.assertIn(sentence, str(part))  # the engine's own words
        self.assertEqual(part.advice, ())
        self.assertRegex(tidegauge.open(TWO_GPUS).report(begin=0, end=0).headline, "^cuda:0, step 0: ")

    def test_texts(self):
        for path in EXAMPLES:
            with self.subTest(path):
                trace = tidegauge.open(path)
                self.assertEqual(str(trace.report()), said("report", path))
        trace = tidegauge.open(OOM)
        frag = said("frag", OOM).split("\n", 2)[2]  # without the name of the file
        self.assertEqual(str(trace.fragmentation()), frag)

    def test_fragmentation(self):
        for path in EXAMPLES:
            for row in said_json("frag", path, "--json", "--samples", "50")["devices"]:
                with self.subTest(path=path, device=row["device"]):
                    found = tidegauge.open(path).fragmentation(device=row["device"], samples=50)
                    self.assertEqual(found.to_dict(), row)
                    self.assertEqual(found.free_bytes, row["now"]["free_bytes"])

    def test_request(self):
        row = said_json("frag", OOM, "--json", "--request", "512MiB", "--capacity", "8GiB", "--to", "36503")["devices"][0]
        found = tidegauge.open(OOM).fragmentation(request="512MiB", capacity=8 << 30, end="36503")
        self.assertEqual(found.to_dict(), row)
        self.assertEqual(found.to_dict()["fit"]["request_bytes"], 512 << 20)

    def test_what_if(self):
        cases = [([], {}), (["--capacity", "4GiB"], {"capacity": "4GiB"}),
                 (["--set", "max_split_size_mb:64", "--set", "expandable_segments:True", "--min-capacity"],
                  {"settings": ["max_split_size_mb:64", "expandable_segments:True"], "min_capacity": True}),
                 (["--drop", "workloads.py:39"], {"drop": ["workloads.py:39"]})]
        for words, options in cases:
            with self.subTest(words):
                expected = said_json("whatif", OOM, "--json", *words)["devices"][0]
                found = tidegauge.open(OOM).whatif(**options)
                self.assertEqual(found.to_dict(), expected)
                self.assertEqual([one.peak_reserved_bytes for one in found.candidates],
                                 [row["peak_reserved_bytes"] for row in expected["candidates"]])

    def test_verify(self):
        for path in EXAMPLES:
            for row in said_json("whatif", path, "--json", "--verify")["devices"]:
                with self.subTest(path=path, device=row["device"]):
                    found = tidegauge.open(path).verify(row["device"])
                    self.assertEqual(found.to_dict(), row["verify"])
                    self.assertEqual(found.is_exact, row["verify"]["events_exact"] == row["verify"]["events_checked"])

    def test_diff(self):
        a, b = tidegauge.open(OOM), tidegauge.open(GENERATED)
        for by in ("stack", "category", "size", "segment"):
            with self.subTest(by):
                found = tidegauge.diff(a, b, by=by)
                self.assertEqual(found.to_dict(), said_json("diff", OOM, GENERATED, "--json", "--by", by))
                self.assertEqual(str(found), said("diff", OOM, GENERATED, "--by", by))
        ranks = tidegauge.diff(a, b, tidegauge.open(TWO_GPUS))
        self.assertEqual(ranks.to_dict(), said_json("diff", OOM, GENERATED, TWO_GPUS, "--json"))
        points = tidegauge.diff(a, a, at_a="step:100", at_b="oom")
        self.assertEqual(points.to_dict()["total"], said_json("diff", OOM, "--json", "--at-a", "step:100", "--at-b", "oom")["total"])

    def test_small_answers(self):
        trace, report = tidegauge.open(OOM), said_json("report", OOM, "--json")["devices"][0]
        peak = trace.peak()
        self.assertEqual((peak.active_bytes, peak.active_step), (report["peak"]["active"]["bytes"], report["peak"]["active"]["step"]))
        self.assertEqual((peak.reserved_bytes, peak.requested_bytes),
                         (report["peak"]["reserved"]["bytes"], report["peak"]["requested"]["bytes"]))
        holders = trace.holders()
        for found, row in zip(holders, report["holders_at_peak"]["rows"]):
            self.assertEqual((found.stack_id, found.label, found.caller, found.bytes, found.requested_bytes, found.blocks, found.share),
                             (row["stack_id"], row["label"], row["caller"], row["bytes"], row["requested_bytes"], row["blocks"], row["share"]))
        self.assertEqual(sum(one.bytes for one in holders), peak.active_bytes)
        ooms = trace.oom()
        self.assertEqual([one.requested_bytes for one in ooms], [row["requested_bytes"] for row in report["ooms"]])
        self.assertEqual([[reason.text for reason in one.reasons] for one in ooms],
                         [[row["text"] for row in one["verdict"]["rows"]] for one in report["ooms"]])
        self.assertEqual(trace.growth().to_dict(), report["growth"])
        step = ooms[-1].step
        self.assertEqual(sum(trace.live_at(step)["block_bytes"]), ooms[-1].active_bytes)

    def test_curves_keep_the_peaks(self):
        trace = tidegauge.open(OOM)
        for columns in (1, 7, 800, 10**6):
            chart = trace.plot.timeline_chart(columns=columns)
            reserved, active = chart.curves
            self.assertEqual(max(reserved.ys), trace.peak().reserved_bytes)
            self.assertEqual(max(active.ys), trace.peak().active_bytes)
        exact = trace.plot.timeline_chart(columns=10**6)
        self.assertEqual(list(exact.curves[1].ys), trace.totals["active_bytes"])

    def test_several_devices_need_a_choice(self):
        trace = tidegauge.open(TWO_GPUS)
        with self.assertRaisesRegex(tidegauge.UsageError, "2 devices.*device=0"):
            trace.peak()
        self.assertNotEqual(trace.peak(0), trace.peak(1))
        for ask in (trace.peak, trace.oom, trace.growth, trace.verify, lambda device: trace.report(device=device),
                    lambda device: trace.fragmentation(device=device), lambda device: tidegauge.diff(trace, trace, device=device)):
            for device in (7, 1 << 32, (1 << 64) + 1, -2):  # no number wraps around
                with self.assertRaises(tidegauge.UsageError):
                    ask(device)
        for ask in (trace.live_at, trace.holders):
            for step in ("3", 1.9, None if ask is trace.live_at else "x"):
                with self.assertRaises(tidegauge.UsageError):
                    ask(step, 0)
        for bad in (None, "examples/oom.pickle.zst"):
            with self.assertRaisesRegex(tidegauge.UsageError, "not a trace"):
                tidegauge.diff(trace, bad)
        for bad in ({"begin": 1.5}, {"end": []}):
            with self.assertRaises(tidegauge.UsageError):
                trace.report(**bad)
        for bad in ({"settings": [3]}, {"drop": [None]}):
            with self.assertRaises(tidegauge.UsageError):
                trace.whatif(device=0, **bad)
        self.assertEqual(trace.report(begin=1, end=5).to_dict(), trace.report(begin="1", end="5").to_dict())

    def test_a_device_smaller_than_what_was_reserved_is_refused(self):
        with self.assertRaisesRegex(tidegauge.UsageError, "reserved"):
            tidegauge.open(OOM).report(capacity="1MiB")
        for bad in ("80 apples", "", -1, 0, True, 1.5, 1 << 60):
            with self.assertRaisesRegex(tidegauge.UsageError, "capacity is"):
                tidegauge.open(OOM).report(capacity=bad)


class Sizes(unittest.TestCase):
    def test_people_write_them(self):
        from tidegauge.sizes import bytes_of, human_bytes
        for text, size in (("512MiB", 512 << 20), ("1.5g", 3 << 29), ("4096", 4096), ("2 KB", 2048), ("1b", 1), ("1PiB", 1 << 50)):
            self.assertEqual(bytes_of(text), size)
        for size, text in ((0, "0 B"), (1023, "1,023 B"), (1 << 20, "1.00 MiB"), (6396313600, "5.96 GiB"), (None, "unknown")):
            self.assertEqual(human_bytes(size), text)


if __name__ == "__main__":
    unittest.main()
