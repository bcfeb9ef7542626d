"""`./dev wheel`: builds the wheel and tries it on other systems.

    python3 tools/wheel [--rebuild-deps] [--no-tries] [--out dist]

The libraries, the compiler and the build stay in build/wheel for the next time. --rebuild-deps fetches
Debian's newest sources and builds every library anew: that answers a CVE."""
import argparse
import os
import pathlib
import shutil
import subprocess
import time

import libraries
import tries
import wheel_file
from toolchain import Toolchain

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build_programs(toolchain, work):
    """The command, with the page and the recorder in it; and the extension module."""
    folder = work / "engine"
    environment = toolchain.environment()
    configure = ["cmake", "-GNinja", "-B", folder, "-DCMAKE_TOOLCHAIN_FILE=cmake/zig.cmake", f"-DTIDEGAUGE_WHEEL={work}",
                 "-DCMAKE_BUILD_TYPE=Release", "-DTIDEGAUGE_PRECOMPILED=ON", "-DMOLD_PROGRAM=OFF",
                 "-DTIDEGAUGE_PYTHON=ON", f"-DTIDEGAUGE_PYTHON_INCLUDE={libraries.python_headers(work / 'prefix')}"]
    with open(work / "program.log", "w", encoding="utf-8") as log:
        for words in (configure, ["ninja", "-C", folder, "tidegauge", "_engine"]):
            if subprocess.run(list(map(str, words)), cwd=ROOT, env=environment, stdout=log,
                              stderr=subprocess.STDOUT).returncode:
                raise SystemExit(f"wheel: {words[0]} failed; see {log.name}")
    return folder / "tidegauge", folder / "python/tidegauge/_engine.abi3.so"


def main():
    parser = argparse.ArgumentParser(prog="./dev wheel", description="Build the wheel and try it on other systems.")
    parser.add_argument("--rebuild-deps", action="store_true", help="build every library anew, from the newest sources")
    parser.add_argument("--no-tries", action="store_true", help="only build it")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist", help="folder for the wheel (default: dist)")
    options = parser.parse_args()
    work = ROOT / "build/wheel"
    began = time.monotonic()
    toolchain = Toolchain(work / "toolchain")
    if options.rebuild_deps:
        shutil.rmtree(work / "engine", ignore_errors=True)  # headers, too, may be new
    built = libraries.build(toolchain, work, again=options.rebuild_deps)
    print("building the command and the module", flush=True)
    program, module = build_programs(toolchain, work)
    wheel = wheel_file.assemble(ROOT, work, program, module, built, toolchain, options.out.resolve())
    print(f"{os.path.relpath(wheel)}: {wheel.stat().st_size / 1e6:.1f} MB, after {time.monotonic() - began:.0f} s", flush=True)
    print(wheel_file.audit(work, wheel))
    if not options.no_tries and not tries.run(ROOT, work, wheel):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
