"""Which files are asked about.

    files = Inputs(quick=False, folder=scratch)
    files.snapshots      every snapshot: examples, and of ../shared/data snapshots, oracle, field
    files.some           a few of every sort: text output, what-if, the server

What is not there is skipped with the reason. Real files may lie elsewhere: TIDEGAUGE_SHARED.
"""

import itertools
import lzma
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared")).resolve() / "data"
SNAPSHOT_ENDINGS = (".pickle", ".pickle.zst", ".pt", ".pickle.xz", ".html", ".json")
# Files of `wss -o` that the fuzzer of their reader begins with: every course, and broken ones.
WORKING_SETS = ROOT / "tests" / "fuzz" / "corpus" / "measurement_fuzz"

# In ../shared/data; the README.md of each folder says what its files show.
SOME_SHARED = ("snapshots/three-gpus-expandable-oom.pickle.zst",
               "snapshots/training-midrun-torch211.pickle.zst",
               "snapshots/fsdp-oom-rank0.pickle.zst", "snapshots/ten-streams-torch21.pickle.zst",
               "snapshots/inconsistent-synthetic.pickle.zst",
               "oracle/F_oom_train__default.pickle.zst", "oracle/extra/pinned_host.pickle.zst",
               "field/30-mempool/mempool.pickle", "field/11-sleep-mode/asleep.pickle")
PAIRS_SHARED = (("snapshots/fsdp-oom-rank0.pickle.zst", "snapshots/fsdp-oom-rank1.pickle.zst"),
                ("oracle/B_train_varlen__default.pickle.zst",
                 "oracle/B_train_varlen__expandable.pickle.zst"),
                ("oracle/F_oom_train__default.pickle.zst", "oracle/F_oom_train__roundup8.pickle.zst"),
                ("oracle/D_multistream__default.pickle.zst",
                 "oracle/torch24/D_multistream__default.pickle.zst"),
                ("field/02-ring-resized/grown.pickle", "field/02-ring-resized/shrunk.pickle"),
                ("field/01-skip-actions/full.pickle", "field/01-skip-actions/skip-alloc.pickle"),
                ("snapshots/empty.pickle.zst", "snapshots/tiny-complete.pickle.zst"))


class Inputs:
    def __init__(self, quick, folder, shared=SHARED):
        self.folder, self.shared, self.skips = pathlib.Path(folder), shared, []
        self.examples = sorted((ROOT / "examples").glob("*.zst"))
        self.snapshots = self.examples + ([] if quick else self._shared())
        self.some = self.examples + ([] if quick else self._named(SOME_SHARED))
        example = {path.name.split(".")[0]: path for path in self.examples}
        self.pairs = [(example["oom"], example["fragmented"]),
                      (example["two_gpus"], example["annotated"])]
        if not quick:
            self.pairs += [pair for names in PAIRS_SHARED if len(pair := self._named(names)) == 2]
        self.working_sets = sorted(WORKING_SETS.glob("*"))
        if not self.working_sets:
            self.skips.append(f"files of wss -o: none in {WORKING_SETS}")

    @classmethod
    def of_files(cls, files, folder):
        """Only these snapshots; those that follow one another are pairs."""
        its = cls(True, folder)
        its.examples = its.snapshots = its.some = [pathlib.Path(file).resolve() for file in files]
        its.pairs, its.working_sets, its.skips = list(itertools.pairwise(its.some)), [], []
        return its

    def _named(self, names):
        return [path for name in names if (path := self.shared / name).is_file()]

    def _shared(self):
        """Every snapshot of the real files."""
        found = []
        for part in ("snapshots", "oracle", "field"):
            if not (self.shared / part).is_dir():
                self.skips.append(f"{part}: there is no folder {self.shared / part} "
                                  "(TIDEGAUGE_SHARED names another place)")
                continue
            files = [path for path in sorted((self.shared / part).rglob("*"))
                     if path.name.endswith(SNAPSHOT_ENDINGS)]
            # Beside each oracle stands what PyTorch says of it: no snapshot.
            found += [path for path in files if part != "oracle" or path.suffix != ".json"]
        return found + [self._unpacked(path) for path in found if path.suffix == ".xz"]

    def _unpacked(self, path):
        """xz is refused; what is inside is asked for as well."""
        target = self.folder / path.name.removesuffix(".xz")
        target.write_bytes(lzma.decompress(path.read_bytes()))
        return target


def shown(path):
    """A path as short as it can be named."""
    for base in (ROOT, SHARED):
        try:
            return str(pathlib.Path(path).relative_to(base))
        except ValueError:
            continue
    return str(path)
