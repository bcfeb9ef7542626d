"""What the live tests share: the stand-in and the programs, built once into a folder; a run under
`tidegauge record`, with everything that is known about it.

    run = record("plain", env={"FAKE_GPU_BYTES": "64m"}); run.twin, run.expected, run.logged
"""
import functools
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

import twin as twins

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "standin"))
import build as standin  # noqa: E402  # found beside this folder

BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")).resolve()
FOLDER = pathlib.Path(os.environ.get("TIDEGAUGE_LIVE", BINARY.parent / "live")).resolve()
LIMIT_S = 300


@functools.cache
def libraries():
    return standin.build(FOLDER / "standin")


def source_of(name):
    """The file of that name, in whichever folder of programs/ it lies."""
    found, = (HERE / "programs").rglob(name)
    return found


@functools.cache
def program(name, *words, source=None):
    """Builds NAME.c of programs/, dynamically unless `words` say otherwise."""
    source = source_of(f"{source or name}.c")
    path = FOLDER / name
    link = words or ("-l:libcudart.so.13", "-l:libcuda.so.1", f"-Wl,-rpath,{libraries()}")
    newest = max(p.stat().st_mtime for p in (source, source_of("expect.h"), libraries() / "built"))
    if not path.exists() or path.stat().st_mtime < newest:
        standin.run("gcc", "-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-I", HERE.parent / "standin",
                    "-I", HERE / "programs", "-o", path, source, "-L", libraries(), *link, "-lpthread", "-ldl")
    return path


@functools.cache
def why_not():
    """Why nothing can be recorded here; empty if it can."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([BINARY, "record", "-o", pathlib.Path(folder, "x.sqlite"), "--", "true"],
                             capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if run.returncode == 0:
        return ""
    if run.returncode != 4:
        raise AssertionError(f"record -- true: exit code {run.returncode}: {run.stderr}")
    return f"{run.stderr.strip()} (run as root on Linux 6.6 or later with CONFIG_BPF_SYSCALL and BTF)"


class Run:
    """A recording, what the program says of itself, and what the stand-in's driver did."""

    def __init__(self, folder, done):
        self.folder, self.code, self.err = folder, done.returncode, done.stderr
        self.path = folder / "run.sqlite"
        self.expected = twins.expectations(folder / "expected.json")
        self.logged = twins.logged_calls(folder / "calls.txt")

    @functools.cached_property
    def twin(self):
        return twins.Twin(self.path)


class LiveTest(unittest.TestCase):
    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        self.folders = []

    def tearDown(self):
        for folder in self.folders:
            folder.cleanup()

    def folder(self):
        self.folders.append(tempfile.TemporaryDirectory(dir=FOLDER))
        return pathlib.Path(self.folders[-1].name)

    def environment(self, folder, **more):
        return {**os.environ, "LD_LIBRARY_PATH": str(libraries()), "EXPECT": str(folder / "expected.json"),
                "FAKE_GPU_CALLS": str(folder / "calls.txt"), **more}

    def command(self, folder, *options):
        return [str(BINARY), "record", "-o", str(folder / "run.sqlite"), "--no-summary", *options]

    def record(self, *words, options=(), code=0, **env):
        """Runs a command under the recorder; `code` None: any exit code."""
        folder = self.folder()
        done = subprocess.run([*self.command(folder, *options), "--", *map(str, words)],
                              env=self.environment(folder, **env), capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        return Run(folder, done)

    def assertAsExpected(self, run, **options):
        """Every process: the recording's ledger is what the program counted, and the driver's calls
        are those that the stand-in did, call by call in each thread."""
        self.assertEqual(run.twin.losses(), {})
        self.assertEqual(run.twin.unwatched(), [])
        self.assertEqual([(c["name"], c["offset"]) for c in run.twin.calls
                          if c["offset"] and c["code"] == 0 and c["verb"] != "map"], [])
        self.assertGreater(len(run.expected), 0, "the program said nothing")
        for wanted in run.expected:
            with self.subTest(pid=wanted["pid"]):
                self.assertProcess(run.twin, run.twin.process(pid=wanted["pid"]), wanted)
        if options.get("calls", True):
            self.assertEqual(twins.driver_calls(run.twin), run.logged)

    def assertOnlyThoseStacksLost(self, run):
        """Where code lay is asked for after the call: a program that calls exec at once is another one by then.
        Each call that took memory and has no stack is counted, and nothing else was lost."""
        without = run.twin.rows("SELECT count(*) AS n FROM calls JOIN functions USING(function_id) WHERE stack_id IS "
                                "NULL AND name IN ('cudaMalloc', 'cuMemAlloc_v2')")[0]["n"]
        self.assertEqual(run.twin.losses(), {"no stack": without} if without else {})

    def assertProcess(self, twin, found, wanted):
        drop_zeros = lambda counts: {kind: n for kind, n in counts.items() if n}
        self.assertEqual(drop_zeros(found.live), drop_zeros(wanted["live"]))
        self.assertEqual(drop_zeros(found.allocations), drop_zeros(wanted["allocations"]))
        self.assertEqual(drop_zeros(found.frees), drop_zeros(wanted["frees"]))
        if wanted["peak_bytes"]:
            self.assertEqual(found.peak_bytes, wanted["peak_bytes"])
        self.assertEqual(found.failures, wanted["failures"])
        self.assertEqual(found.aliases, wanted["aliases"])
        self.assertEqual(twin.launches(found), wanted["launches"])
        self.assertEqual(twin.copied(found, "host to device"), wanted["to_device"])
        self.assertEqual(twin.copied(found, "device to host"), wanted["to_host"])


def main():
    """Exit code 77 if everything was skipped, so that CTest says so."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    ended = unittest.main(module="__main__", exit=False, verbosity=2).result
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time of the programs: {spent.ru_utime + spent.ru_stime:.0f} s")
    if not ended.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if ended.skipped and len(ended.skipped) == ended.testsRun else 0)
