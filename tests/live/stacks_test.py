#!/usr/bin/env python3
"""Whole call stacks of code without frame pointers: the recorded frames beside what the program is
known to call, for programs of all kinds; Python's own functions, and through its perf trampoline."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import live

DEEP = ["cudaMalloc", "two_last", "one_large", "two_saved", "one_aligned", "two_variable", "one_plain", "ask"]
FLAGS = ("-std=gnu17", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-Wall", "-Wextra",
         "-I", live.HERE.parent / "standin", live.source_of("deep.c"))


class Stacks(live.LiveTest):
    def build(self, folder, *link, libraries=True):
        """The program with its two libraries, or all in one."""
        gpu = ["-L", live.libraries(), "-l:libcudart.so.13", "-l:libcuda.so.1"]
        run = live.standin.run
        if not libraries:
            objects = []
            for part in ("PROGRAM", "ONE", "TWO"):
                objects.append(folder / f"{part}.o")
                run("gcc", *FLAGS, f"-D{part}", "-c", "-o", objects[-1])
            run("gcc", "-o", folder / "deep", *objects, *link, "-lpthread")
            return folder / "deep"
        for name in ("ONE", "TWO"):
            run("gcc", *FLAGS, f"-D{name}", "-shared", "-fPIC", "-o", folder / f"lib{name}.so")
        run("gcc", *FLAGS, "-DPROGRAM", *link, "-o", folder / "deep", "-L", folder, "-lONE", "-lTWO", *gpu,
            "-lpthread", f"-Wl,-rpath,{folder}:{live.libraries()}", "-Wl,--allow-shlib-undefined")
        return folder / "deep"

    def stacks(self, run, function="cudaMalloc"):
        """The frames of each call of a function, in order: [(name or module+offset, …)]."""
        self.assertEqual(run.twin.losses(), {})
        frames = {}
        for row in run.twin.rows("SELECT stack_id, place, f.function, m.path, f.\"offset\" AS at FROM stack_frames "
                                 "JOIN frames f USING(frame_id) LEFT JOIN modules m USING(module_id) "
                                 "ORDER BY stack_id, place"):
            where = pathlib.PurePath(row["path"]).name if row["path"] else "none"
            frames.setdefault(row["stack_id"], []).append(row["function"] or f"{where}+{row['at']:#x}")
        return [frames[row["stack_id"]] for row in
                run.twin.rows(f"SELECT stack_id FROM calls JOIN functions USING(function_id) "
                              f"WHERE name = '{function}' ORDER BY call_id")]

    def assert_whole(self, stack, *outer):
        """`outer` is what called ask(); then the C library's start."""
        self.assertEqual(stack[:len(DEEP) + len(outer)], DEEP + list(outer))
        self.assertEqual(stack[-1], "_start")
        for frame in stack[len(DEEP) + len(outer):-1]:
            self.assertRegex(frame, r"libc\.so|__libc_start")

    def test_every_frame_of_every_kind_of_program(self):
        for name, link in (("pie", ["-pie", "-fPIE"]), ("fixed", ["-no-pie"])):
            with self.subTest(name):
                program = self.build(self.folder(), *link)
                for stack in self.stacks(self.record(program, "x", 3)):
                    self.assert_whole(stack, "main")

    def test_of_a_program_with_hundreds_of_libraries(self):
        """Python with its packages has as many; each has rules of its own, in a file that is kept open."""
        folder = self.folder()
        first = folder / "0.so"
        live.standin.run("gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-o",
                         first, "-I", live.HERE.parent / "standin", "-L", live.libraries(), live.source_of("plugin.c"),
                         "-l:libcudart.so.13", f"-Wl,-rpath,{live.libraries()}")
        for number in range(1, 400):
            shutil.copy(first, folder / f"{number}.so")
        run = self.record(live.program("loads"), *(folder / f"{number}.so" for number in range(400)))
        stacks = self.stacks(run)
        self.assertEqual(len(stacks), 2 * 400)
        for stack in stacks:
            self.assertEqual(stack[:3], ["cudaMalloc", "plugin_run", "main"])
        self.assertEqual(self.cut(run), 0)

    def cut(self, run):
        return int(run.twin.rows("SELECT value FROM meta WHERE key = 'stacks_cut'")[0]["value"])

    def test_a_static_program(self):
        """GCC leaves the index of the tables (.eh_frame_hdr) out of static programs unless an option
        requests it: then the recorder makes one."""
        for index in (True, False):
            with self.subTest(index=index):
                words = ["-Wl,--eh-frame-hdr"] if index else []
                program = self.build(self.folder(), "-static", *words, "-L", live.libraries(),
                                     "-l:libgpu_static.a", "-lstdc++", libraries=False)
                headers = subprocess.run(["readelf", "-lW", program], check=True, capture_output=True, text=True)
                self.assertEqual("GNU_EH_FRAME" in headers.stdout, index)
                run = self.record(program, "x", 3)
                self.assertEqual(self.cut(run), 0)
                for stack in self.stacks(run):
                    self.assertEqual(stack[:len(DEEP) + 1], [*DEEP, "main"])
                    self.assertEqual(stack[-1], "_start")

    def test_stripped_files_give_the_same_places(self):
        folder = self.folder()
        program = self.build(folder)
        for file in (program, folder / "libONE.so", folder / "libTWO.so"):
            shutil.copy(file, f"{file}.whole")
            subprocess.run(["strip", "-s", file], check=True)
        stripped = self.stacks(self.record(program, "x", 1))[0]
        # Exported functions keep their names; main and ask are places in the program.
        self.assertEqual(stripped[:len(DEEP) - 1], DEEP[:-1])
        names = []
        for frame in stripped[len(DEEP) - 1:len(DEEP) + 1]:
            at = re.fullmatch(r"deep\+(0x[0-9a-f]+)", frame)[1]
            address = hex(int(at, 16) - 1)
            names.append(subprocess.run(["addr2line", "-fe", f"{program}.whole", address], check=True,
                                        capture_output=True, text=True).stdout.split()[0])
        self.assertEqual(names, ["ask", "main"])

    def test_threads_signals_and_recursion(self):
        program = self.build(self.folder())
        thread = self.stacks(self.record(program, "thread"))[0]
        self.assertEqual(thread[:len(DEEP) + 1], [*DEEP, "work"])
        self.assertRegex(" ".join(thread[len(DEEP) + 1:]), r"^libc\.so\S+ (libc\.so\S+|__?clone3?)$")

        signal = self.stacks(self.record(program, "signal"))[0]
        self.assertEqual(signal[:len(DEEP) + 1], [*DEEP, "handler"])
        self.assertIn("main", signal)  # through the kernel's frame
        self.assertEqual(signal[-1], "_start")

        for depth in (20, 200):
            stack = self.stacks(self.record(program, "recursion", depth))[0]
            self.assert_whole(stack, *["recurse"] * (depth + 1), "main")
        deep = self.stacks(self.record(program, "recursion", 1000))[0]
        self.assertEqual(deep, DEEP + ["recurse"] * (256 - len(DEEP)))

    def test_a_thousand_threads_at_new_places(self):
        """All come to the same new places at once, before there are rules for them; at the worst the
        recorder gets no processor until all have been there."""
        for words in ((), ("stopped",)):
            with self.subTest(words=words):
                run = self.record(live.program("threads"), 1000, 4, *words)
                self.assertEqual(self.cut(run), 0)
                for function, times in (("cudaMalloc", 1000), ("cudaMallocAsync", 4000)):
                    stacks = self.stacks(run, function)
                    inner = [stack[:2] for stack in stacks if stack[1] != "main"]
                    self.assertEqual(inner, [[function, "work"]] * times)

    def test_the_same_stack_is_sent_once(self):
        run = self.record(self.build(self.folder()), "x", 4000)
        stacks = self.stacks(run)
        self.assertEqual(len(stacks), 4000)
        self.assertEqual(len(set(map(tuple, stacks))), 1)
        self.assertEqual(run.twin.rows("SELECT count(*) AS n FROM stacks JOIN stack_frames USING(stack_id) "
                                       "JOIN frames f USING(frame_id) WHERE f.function = 'two_last'")[0]["n"], 1)


def python_with_names(test, *prefixes):
    """Any CPython from 3.12 on, that TIDEGAUGE_PYTHON names, the system's or of pyenv, that can be run after one
    of `prefixes`, the first one preferred; and that prefix."""
    names = (os.environ.get("TIDEGAUGE_PYTHON"), sys.executable, *(f"python3.{i}" for i in range(20, 11, -1)),
             *sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))))
    for prefix in prefixes or ([],):
        for path in filter(None, (name and shutil.which(name) for name in names)):
            if subprocess.run([*prefix, path, "-c", "import sys; sys.activate_stack_trampoline('perf')"],
                              capture_output=True, check=False).returncode == 0:
                return path, prefix
    return test.skipTest("no CPython 3.12 or newer with the perf trampoline: install one, or set TIDEGAUGE_PYTHON")


def python_functions(run):
    """Of the first cudaMalloc: all functions of its stack, and those of Python with their files."""
    rows = run.twin.rows("SELECT stack_id, f.function, f.file FROM stack_frames JOIN frames f USING(frame_id) "
                         "WHERE stack_id = (SELECT stack_id FROM calls JOIN functions USING(function_id) "
                         "WHERE name = 'cudaMalloc' ORDER BY call_id LIMIT 1) ORDER BY place")
    return [row["function"] for row in rows], [(row["function"], row["file"]) for row in rows
                                               if row["file"] and row["file"].endswith(".py")]


class Python(live.LiveTest):
    CODE = """
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
def inner(held):
    return runtime.cudaMalloc(ctypes.byref(held), ctypes.c_size_t(4096))
class Model:
    def outer(self):
        return inner(ctypes.c_void_p())
def train():
    return [Model().outer() for _ in range(3)]
train()
"""

    def test_functions_of_python_stand_in_the_stack(self):
        script = self.folder() / "work.py"
        script.write_text(self.CODE)
        python, _ = python_with_names(self)
        run = self.record(python, script)
        names, frames = python_functions(run)
        comprehension = [("train.<locals>.<listcomp>", str(script))] if len(frames) == 5 else []
        self.assertEqual(frames, [("inner", str(script)), ("Model.outer", str(script)), *comprehension,
                                  ("train", str(script)), ("<module>", str(script))])
        self.assertEqual(names[-1], "_start")
        pid = run.twin.rows("SELECT pid FROM processes")[0]["pid"]
        self.assertFalse(pathlib.Path(f"/tmp/perf-{pid}.map").exists(), "a file was left behind")

        names, frames = python_functions(self.record(python, script, options=["--no-python"]))
        self.assertEqual(frames, [])
        self.assertEqual(names[-1], "_start")


if __name__ == "__main__":
    live.main()
