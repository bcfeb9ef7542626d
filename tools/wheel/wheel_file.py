"""The wheel: one file for every Python from 3.10 on and every Linux on x86-64 with glibc 2.28 or newer.

    tidegauge-0.1.0-cp310-abi3-manylinux_2_28_x86_64.whl
      tidegauge/                              the package, with _engine.abi3.so
      …data/scripts/tidegauge                 the command, as it is: no Python starts before it
      …dist-info/licenses/, sboms/            what is in it, and under which licence

The metadata are those of pyproject.toml, from the build back-end that it names."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from libraries import Library
from toolchain import TAG, python_in

REQUIREMENTS = ["scikit-build-core==1.1.2", "wheel==0.45.1", "auditwheel==6.4.2"]
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
    strange = needed(binary) - OF_SYSTEM
    if strange:
        raise SystemExit(f"wheel: {binary.name} needs {', '.join(sorted(strange))}, which not every system has")
    if newest_glibc(binary) > tuple(map(int, glibc.split("."))):
        raise SystemExit(f"wheel: {binary.name} needs glibc {newest_glibc(binary)}, newer than {glibc}")


def purl(one):
    """Its name among packages, as the purl specification writes it."""
    if one.registry == "npm":
        return f"pkg:npm/{one.name.replace('@', '%40')}@{one.version}"
    if one.registry == "generic":
        return f"pkg:generic/{one.name}@{one.version}"
    return f"pkg:deb/debian/{one.name}@{one.version}?arch=source"


def of_page(web):
    """The packages of npm that the page is made of, with what they need themselves."""
    found, wanted = {}, list(json.loads((web / "package.json").read_text())["dependencies"])
    while wanted:
        name = wanted.pop()
        folder = web / "node_modules" / name
        if name in found or not folder.is_dir():
            continue
        package = json.loads((folder / "package.json").read_text())
        licence = next((file for file in sorted(folder.iterdir()) if file.name.lower().startswith(("licen", "copying"))), None)
        if licence is None:
            raise SystemExit(f"wheel: the package {name} of the page has no file with its licence")
        found[name] = Library(name, package["version"], package["license"], licence, "npm")
        wanted += package.get("dependencies", {})
    return list(found.values())


def sbom(version, libraries, toolchain):
    """Software bill of materials, as CycloneDX 1.6 defines it (PEP 770 says where it lies)."""
    parts = [{"type": "library", "name": one.name, "version": one.version,
              "purl": purl(one),
              "licenses": [{"expression": one.licence}]} for one in libraries]
    parts.append({"type": "library", "name": "libc++ and libunwind, of zig", "version": toolchain.version(),
                  "licenses": [{"expression": "Apache-2.0 WITH LLVM-exception"}]})
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": {"component": {"type": "application", "name": "tidegauge", "version": version,
                                       "licenses": [{"expression": "Apache-2.0"}]}}, "components": parts}


def copy_licences(libraries, folder):
    """What each library says, and the long texts that Debian's files only name."""
    for one in libraries:
        shutil.copy(one.copyright, folder / f"{one.name.replace('/', '_')}.txt")
        for name in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", one.copyright.read_text(errors="replace")):
            shutil.copy(f"/usr/share/common-licenses/{name}", folder / f"{name}.txt")


def copy_package(root, tree, module):
    """The files of the package that git has, and the module."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "python/tidegauge"], cwd=root, check=True,
                            text=True, capture_output=True)
    for name in listed.stdout.split():
        target = tree / pathlib.Path(name).relative_to("python")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, target)
    shutil.copy(module, tree / "tidegauge")


def assemble(root, work, program, module, libraries, toolchain, out):
    """Puts the wheel of the command and the module into the folder `out`; its path."""
    from toolchain import GLIBC
    python = python_in(work / "tools", REQUIREMENTS)
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    done = subprocess.run([python, "-c", METADATA, tree], cwd=root, check=True, text=True, capture_output=True)
    info = tree / done.stdout.split()[-1]
    name, version = info.name.removesuffix(".dist-info").rsplit("-", 1)
    scripts = tree / f"{name}-{version}.data/scripts"
    for folder in (scripts, info / "licenses", info / "sboms"):
        folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, scripts / "tidegauge")
    copy_package(root, tree, module)
    for binary in (scripts / "tidegauge", tree / "tidegauge" / module.name):
        subprocess.run(["strip", "--strip-unneeded", binary], check=True)
        check(binary, GLIBC)
    libraries = [*libraries, *of_page(root / "web")]
    copy_licences(libraries, info / "licenses")
    for part in ("libcxx", "libunwind"):  # linked in by zig
        shutil.copy(toolchain.source_of(part) / "LICENSE.TXT", info / "licenses" / f"{part}.txt")
    (info / "sboms/tidegauge.cdx.json").write_text(json.dumps(sbom(version, libraries, toolchain), indent=1) + "\n")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tidegauge\nRoot-Is-Purelib: false\nTag: cp310-abi3-{TAG}\n")
    (info / "RECORD").unlink(missing_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    epoch = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=root, check=True, text=True, capture_output=True)
    subprocess.run([python, "-m", "wheel", "pack", "--dest-dir", out, tree], check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {"SOURCE_DATE_EPOCH": epoch.stdout.strip()})
    return out / f"{name}-{version}-cp310-abi3-{TAG}.whl"


def audit(work, wheel):
    """What auditwheel says of it."""
    python = python_in(work / "tools", REQUIREMENTS)
    done = subprocess.run([python.parent / "auditwheel", "show", wheel], text=True, capture_output=True)
    return done.stdout + done.stderr


if __name__ == "__main__":
    print(check(pathlib.Path(sys.argv[1]), "2.28"))
