"""Tries the wheel where a user would install it: each system by debootstrap, each Python that is there.

    system      Python   installs   module   --version   report, page   PNG   seconds
    Debian 11   3.9      unpacked   too old  yes         yes            yes       2.1

What has no Python that is new enough gets the command alone: the wheel is unpacked there."""
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import time

import sources

SYSTEMS = {"Debian 11": "bullseye", "Debian 12": "bookworm", "Debian 13": "trixie"}
OLDEST = (3, 10)


@dataclasses.dataclass
class Try:
    system: str
    python: str
    installs: str = "-"
    says: str = "-"
    opens: str = "-"
    imports: str = "-"
    draws: str = "-"
    seconds: float = 0

    def passed(self):
        words = (self.installs, self.says, self.opens, self.imports, self.draws)
        return all(word in ("yes", "unpacked", "too old") for word in words)


# In the system: a fresh virtual environment (or a folder), the command's version, and the example's report.
STEPS = {
    "yes": """python=$1; rm -rf /try/env; $python -m venv /try/env && /try/env/bin/pip install -q --no-index /try/*.whl || exit 10""",
    "unpacked": """rm -rf /try/env /try/tree; python3 -m zipfile -e /try/*.whl /try/tree && mkdir -p /try/env/bin &&
cp /try/tree/*.data/scripts/tidegauge /try/env/bin && chmod +x /try/env/bin/tidegauge || exit 10"""}
# Where the package is installed: the module, a table and the command that belongs to it.
MODULE = """
if [ -x /try/env/bin/python ]; then
/try/env/bin/python -c "
import tidegauge
t = tidegauge.open('/try/example.pickle.zst')
assert t.events.num_rows == 37378 and len(t.oom()) == 3 and t.verify().is_exact
assert t.sql('SELECT count(*) FROM events').rows() == [(37378,)]
assert t.plot.timeline(backend='svg').startswith('<svg')
assert tidegauge.command() == '/try/env/bin/tidegauge', tidegauge.command()
view = t.view(); view.stop()
" || exit 13
fi
"""
CHECKS = MODULE + """
/try/env/bin/tidegauge --version | grep -q "^tidegauge [0-9]" || exit 11
/try/env/bin/tidegauge report /try/example.pickle.zst | grep -q "out of memory\\|Out of memory" || exit 12
/try/env/bin/tidegauge export /try/example.pickle.zst --to html -o /try/page.html --force && grep -q "<title>" /try/page.html || exit 12
/try/env/bin/tidegauge doctor >/try/doctor.txt 2>&1; [ $? -lt 120 ] || exit 12
rm -f /try/picture.png
/try/env/bin/tidegauge frag /try/example.pickle.zst --plot /try/picture.png >/dev/null || exit 14
$1 /try/picture_check.py /try/picture.png 1200 1080 || exit 14
"""


def root_of(work, suite):
    """A root of that system with Python, made once."""
    root = work / "roots" / suite
    if not (root / "ready").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        packages = "python3,python3-venv"
        site = next(iter(sources.sites().values()))
        done = subprocess.run(["debootstrap", "--variant=minbase", f"--include={packages}", suite, root, site], text=True,
                              capture_output=True)
        if done.returncode:
            raise SystemExit(f"wheel: debootstrap of {suite} failed: {done.stdout[-500:]}{done.stderr[-500:]}")
        (root / "ready").touch()
    return root


def attempt(one, way, words, run):
    began = time.monotonic()
    code = run(STEPS[way] + CHECKS, words)
    one.seconds = time.monotonic() - began
    one.installs = "no" if code == 10 else way
    one.imports = "-" if code == 10 else "no" if code == 13 else "yes" if way == "yes" else "too old"
    one.says = "no" if code == 11 else "yes" if code not in (10, 13) else "-"
    one.opens = "yes" if code in (0, 14) else "no" if code == 12 else "-"
    one.draws = "yes" if code == 0 else "no" if code == 14 else "-"
    return one


def in_root(root):
    """With /proc; in a mount namespace of its own."""
    enter = ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c",
             'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root]

    def run(script, words):
        return subprocess.run([*enter, "/bin/sh", "-c", script, "try", *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                                                              "LC_ALL": "C.UTF-8"}).returncode
    return run


def here(folder):
    def run(script, words):
        return subprocess.run(["/bin/sh", "-c", script.replace("/try/", f"{folder}/"), "try", *words],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return run


def pythons_here():
    """Every Python from 3.10 on that this machine has, by the version that it names."""
    places = [*os.environ["PATH"].split(":"), *map(str, pathlib.Path.home().glob(".pyenv/versions/*/bin"))]
    found = {}
    for place in places:
        for file in sorted(pathlib.Path(place).glob("python3.[0-9]*")):
            minor = file.name.removeprefix("python3.")
            if minor.isdigit() and int(minor) >= OLDEST[1] and f"3.{minor}" not in found:
                works = subprocess.run([file, "-c", "import venv"], capture_output=True).returncode == 0
                if works:
                    found[f"3.{minor}"] = str(file)
    return found


def prepare(folder, wheel, example):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    shutil.copy(wheel, folder)
    shutil.copy(example, folder / "example.pickle.zst")
    shutil.copy(pathlib.Path(__file__).with_name("picture_check.py"), folder)


def run(project, work, wheel):
    """Prints the table; whether all passed."""
    example = project / "examples/oom.pickle.zst"
    done = []
    for version, python in pythons_here().items():
        prepare(work / "try", wheel, example)
        done.append(attempt(Try("this machine", version), "yes", [python], here(work / "try")))
    may = os.geteuid() == 0 and shutil.which("debootstrap")
    for system, suite in SYSTEMS.items() if may else ():
        root = root_of(work, suite)
        prepare(root / "try", wheel, example)
        asked = subprocess.run(["chroot", root, "python3", "-c", "import sys; print(*sys.version_info[:2], sep='.')"],
                               check=True, text=True, capture_output=True).stdout.strip()
        way = "yes" if tuple(map(int, asked.split("."))) >= OLDEST else "unpacked"
        done.append(attempt(Try(system, asked), way, ["python3"], in_root(root)))
    print(f"{'system':14} {'Python':8} {'installs':10} {'module':8} {'--version':10} {'report, page':13} {'PNG':4} seconds")
    for one in done:
        print(f"{one.system:14} {one.python:8} {one.installs:10} {one.imports:8} {one.says:10} {one.opens:13} {one.draws:4} {one.seconds:7.1f}")
    if not may:
        print("skipped: Debian 11, 12 and 13: needs root and debootstrap (apt-get install debootstrap)")
    failed = [one for one in done if not one.passed()]
    print(f"{len(done) - len(failed)} passed, {len(failed)} failed, {0 if may else len(SYSTEMS)} skipped", flush=True)
    return not failed


if __name__ == "__main__":
    sys.exit(0 if run(pathlib.Path(__file__).resolve().parents[2], pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])) else 1)
