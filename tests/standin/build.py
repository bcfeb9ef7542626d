#!/usr/bin/env python3
"""Builds the stand-in GPU with g++ alone, in seconds: build.py OUT_DIR

  OUT/libcuda.so.1          every export begins as in the real library: cmpl, je, jmp *slot
  OUT/plain/libcuda.so.1    the same functions without that shape: push, mov, pop, jmp
  OUT/locked/libcuda.so.1   cuMemAlloc_v2 begins with a lock prefix, where the kernel puts no probe
  OUT/libcudart.so.13       the runtime; loads libcuda.so.1 when it is first used
  OUT/libcudart_static.a    the runtime as nvcc links it by default; needs -ldl -lstdc++
  OUT/libgpu_static.a       runtime and driver, for programs without any shared library

A build is kept as long as the sources are no newer. build_torch.py makes what PyTorch needs."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DRIVER = ["device.cpp", "call_log.cpp", "driver_memory.cpp", "driver_work.cpp"]
COMMON = ["-std=c++20", "-O1", "-g", "-fPIC", "-Wall", "-Wextra", "-fvisibility=hidden",
          "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
          "-fno-shrink-wrap", "-fcf-protection=none"]
NO_CPP_NEEDED = ["-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL"]

# The first instructions of an export. The real ones compare a flag with a number, and jump to the
# slot of the function: 81 3D <flag> <number>, 74 <where>, jmp *slot.
SHAPES = {
    "real": "  cmpl $0x321cba00, fake_gpu_flag(%rip)\n  je 1f\n  jmp *slot_{0}(%rip)\n1: ud2\n",
    "locked": "  lock orl $0, fake_gpu_flag(%rip)\n  jmp *slot_{0}(%rip)\n",
    "plain": "  push %rbp\n  mov %rsp, %rbp\n  pop %rbp\n  jmp *slot_{0}(%rip)\n",
}

LOCKED = {"cuMemAlloc_v2"}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in words)}\n{done.stderr}")
    return done.stdout


def stubs(names, shape):
    """Assembly of the exports, and the list that cuGetProcAddress() looks through."""
    text = [".text"]
    for name in names:
        text += [".p2align 5", f".globl {name}", f".type {name}, @function", f"{name}:",
                 SHAPES[shape if shape != "locked" or name in LOCKED else "plain"].format(name)
                 .rstrip("\n"), f".size {name}, . - {name}"]
    text += [".data", ".p2align 3", "fake_gpu_flag: .quad 0"]
    text += [f"slot_{name}: .quad do_{name}" for name in names]
    text += [".section .rodata"] + [f'text_{name}: .string "{name}"' for name in names]
    text += [".section .data.rel.ro", ".p2align 3", ".globl fake_gpu_exports",
             ".hidden fake_gpu_exports", "fake_gpu_exports:"]
    text += [f"  .quad text_{name}, {name}" for name in names]
    return "\n".join(text + ["  .quad 0, 0", '.section .note.GNU-stack,"",@progbits', ""])


def build(out):
    out = pathlib.Path(out).resolve()
    newest = max(path.stat().st_mtime for path in HERE.iterdir() if path.is_file())
    stamp = out / "built"
    if stamp.exists() and stamp.stat().st_mtime >= newest:
        return out
    for folder in ("plain", "locked"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    objects = []
    for source in DRIVER:
        objects.append(out / (source + ".o"))
        run("g++", *COMMON, "-c", HERE / source, "-o", objects[-1])
    names = sorted(set(re.findall(r" T do_(\w+)", run("nm", *objects))))
    inject = out / "driver_injection.cpp.o"  # not in the static library
    run("g++", *COMMON, "-c", HERE / "driver_injection.cpp", "-o", inject)
    for shape, folder in (("real", out), ("plain", out / "plain"), ("locked", out / "locked")):
        (out / f"stubs_{shape}.s").write_text(stubs(names, shape))
        run("gcc", "-c", out / f"stubs_{shape}.s", "-o", out / f"stubs_{shape}.o")
        run("g++", "-shared", "-o", folder / "libcuda.so.1", "-Wl,-soname,libcuda.so.1",
            "-Wl,--build-id", *objects, inject, out / f"stubs_{shape}.o", "-lpthread", "-ldl",
            *NO_CPP_NEEDED)
    run("g++", *COMMON, "-shared", "-o", out / "libcudart.so.13", "-Wl,-soname,libcudart.so.13",
        "-Wl,--build-id", "-Wl,-rpath,$ORIGIN", HERE / "runtime.cpp", "-ldl", *NO_CPP_NEEDED)
    run("g++", *COMMON, "-c", HERE / "runtime.cpp", "-o", out / "runtime.o")
    run("g++", *COMMON, "-DSTANDIN_STATIC", "-c", HERE / "runtime.cpp", "-o", out / "all.o")
    for archive, members in (("libcudart_static.a", [out / "runtime.o"]),
                             ("libgpu_static.a", [out / "all.o", *objects, out / "stubs_real.o"])):
        (out / archive).unlink(missing_ok=True)
        run("ar", "rcs", out / archive, *members)
    stamp.touch()
    return out


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(build(sys.argv[1]))
