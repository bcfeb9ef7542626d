"""Part 1: the recorder's ledger against cudaMemGetInfo, NVML and PyTorch's statistics.

A training run notes at 100 moments what each of them says (programs/moments.py), under `record`.
Then `tidegauge query` gives what the recording had at those times. Twice: as PyTorch is, and with
expandable segments.

* Each segment that PyTorch names must be driver memory of the same size at the same place, and what
  its blocks hold must be what it says was requested: to the byte, at each moment.
* What the driver and NVML say includes the context and the code, and other programs on the card.
  The difference to the ledger is given with its least and its most; where it does not change, every
  allocation and free of the run was counted.
"""
import bisect
import json
import os
import shutil
import subprocess

from outcome import last_line, program_error

SETTINGS = {"default": "", "expandable": "expandable_segments:True"}
HERE = os.path.dirname(os.path.abspath(__file__))
END_S = 30  # for the recorder to end, and for the queries


class Recorded:
    """The state of one process's memory by time, from `tidegauge query`."""

    def __init__(self, totals, pieces):
        """totals: [(time_us, step, requested, reserved)]; pieces: [(address, size, first, last)]."""
        self.totals, self.pieces = sorted(totals), pieces
        self.times = [row[0] for row in self.totals]

    @classmethod
    def of_file(cls, tools, path, pid):
        def rows(sql):
            done = subprocess.run([tools.binary, "query", "--pid", str(pid), "--format", "json", path, sql],
                                  capture_output=True, text=True, timeout=END_S, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"tidegauge query: {last_line(done.stderr)}")
            return [tuple(row.values()) for row in json.loads(done.stdout)]
        return cls(rows("SELECT time_us, step, requested_bytes, reserved_bytes FROM totals WHERE device = 0"),
                   rows("SELECT address, size_bytes, first_step, last_step FROM pieces WHERE device = 0"))

    def at(self, time_ns):
        """(requested, reserved, [(address, size)]) at that time."""
        place = bisect.bisect_right(self.times, time_ns / 1000) - 1
        if place < 0:
            return 0, 0, []
        _, step, requested, reserved = self.totals[place]
        return requested, reserved, [(address, size) for address, size, first, last in self.pieces
                                     if first <= step < last]


def compare(moment, recorded, has_blocks):
    """What differs at one moment, in bytes. `segments`, `blocks`: 0 unless the ledger is wrong."""
    requested, reserved, pieces = recorded.at(moment["at_ns"])
    wrong = 0
    for address, size in moment["segments"]:
        found = sum(held for at, held in pieces if address <= at < address + size)
        wrong += abs(found - size)
    outside = reserved - moment["reserved_bytes"]
    differs = {"segments": wrong, "outside": outside - moment["beside_bytes"],
               "blocks": requested - outside - moment["requested_bytes"] if has_blocks else None}
    for name in ("driver_used", "nvml_device", "nvml_process"):
        said = moment[f"{name}_bytes"]
        differs[name] = None if said is None else said - reserved
    return differs


def summary(moments, recorded, has_blocks):
    """The figures of one run."""
    compared = [compare(moment, recorded, has_blocks) for moment in moments]
    exact = [it for it in compared if it["segments"] == 0 and it["blocks"] in (0, None)]
    figures = {"moments": len(compared), "exact_moments": len(exact), "blocks_compared": has_blocks,
               "reserved_at_most_bytes": max((it["reserved_bytes"] for it in moments), default=0)}
    for name in ("segments", "blocks", "outside", "driver_used", "nvml_device", "nvml_process"):
        known = [it[name] for it in compared if it[name] is not None]
        figures[name] = {"least": min(known), "most": max(known)} if known else None
    return figures


def run(tools, folder, moments, seconds):
    """{"default": figures, "expandable": figures, "left_out": […]}."""
    result = {"left_out": []}
    share = max(1.0, (seconds - 2 * END_S / 3) / len(SETTINGS))
    for name, setting in SETTINGS.items():
        out, file = os.path.join(folder, f"{name}.json"), os.path.join(folder, f"{name}.sqlite")
        environment = {**tools.environment, "PYTORCH_CUDA_ALLOC_CONF": setting}
        if "STANDIN_NVML" in environment:  # the program writes into it what the stand-in has in use
            environment["STANDIN_NVML"] = shutil.copy(environment["STANDIN_NVML"], f"{file}.nvml")
        done = subprocess.run(
            [tools.binary, "record", *tools.record, "--no-summary", "-o", file, "--", tools.python,
             os.path.join(HERE, "programs", "moments.py"), out, str(moments), str(share)],
            env=environment, capture_output=True, text=True, timeout=share + 4 * END_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the training run ended with {done.returncode}: {program_error(done.stderr)}")
        with open(out, encoding="utf-8") as stream:
            said = json.load(stream)
        result[name] = summary(said["moments"], Recorded.of_file(tools, file, said["pid"]), tools.has_blocks)
        if len(said["moments"]) < moments:
            result["left_out"].append(f"{moments - len(said['moments'])} of {moments} moments ({name}): no time")
    return result


def problems(result):
    """What is wrong, in words."""
    for name in SETTINGS:
        figures = result[name]
        if figures["exact_moments"] < figures["moments"]:
            yield (f"ledger ({name}): at {figures['moments'] - figures['exact_moments']} of {figures['moments']} "
                   f"moments it is not what PyTorch says: segments {figures['segments']}, blocks {figures['blocks']}")
        if figures["moments"] == 0:
            yield f"ledger ({name}): no moment was reached within the time"
