"""A Debian kernel in QEMU, without a disk: what is to run there goes into an initramfs, what it made
comes back over a second serial port.

    with Guest(kernel("6.12", "build/dev/vm")) as guest:             # options="": five levels of page tables
        guest.add_program("build/dev/tidegauge", "/bin/tidegauge")   # with the libraries it needs
        files = guest.run("tidegauge doctor >/out/doctor.txt; echo $? >/out/code")
    files["doctor.txt"]

Kernels are Debian's cloud kernels, fetched by apt and unpacked, not installed. Without KVM (which is
not asked for: a nested one often fails in odd ways) a boot takes about 10 s.
"""
import functools
import io
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

def once(work):
    """A decorator: `work()` is done once for all tests that ask, and if it failed then it has failed for each of them: a
    machine that hangs takes its limit once, and not for every test."""
    @functools.cache
    def outcome(*words):
        try:
            return work(*words), None
        except Exception as problem:  # any problem: each test reports it
            return None, problem

    @functools.wraps(work)
    def told(*words):
        result, problem = outcome(*words)
        if problem is not None:
            raise AssertionError(str(problem)) from problem
        return result
    return told


LIMIT_S = 400  # emulated, on a loaded machine
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio",
          "apt-get": "apt", "dpkg-deb": "dpkg"}

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t tracefs trace /sys/kernel/tracing; mount -t debugfs debug /sys/kernel/debug; mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir -p /out; ip link set lo up; uname -r >/out/kernel.release
stty -F /dev/{back} raw -echo
sh /job >/out/console.txt 2>&1
tar c -C /out . | cat >/dev/{back}
sync; sleep 1; reboot -f
"""


def why_not():
    """What is missing to start a guest here; empty if nothing is."""
    missing = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    return f"needs {' '.join(missing)} (apt-get install)" if missing else ""


OLDER = {"5.10": "bullseye"}  # lines of kernels that belong to an earlier Debian than this machine's


def debian_site():
    """Where this machine's own apt fetches Debian from."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(CODENAME) $(SITE)", "Created-By: Packages",
                           "Origin: Debian"],
                          capture_output=True, text=True, check=True)
    sites = [site for release, site in map(str.split, done.stdout.splitlines()) if "-" not in release]
    if not sites:
        raise RuntimeError("apt has no source of Debian here")
    return sites[0]


def apt_for(line, cache):
    """Options with which apt reads the lists of that line's Debian, and nothing of this machine's."""
    if line not in OLDER:
        return []
    folder = pathlib.Path(cache).resolve() / OLDER[line]
    sources = folder / "sources.list"
    options = [f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=-", f"-oDir::State::lists={folder}/lists",
               f"-oDir::Cache={folder}/cache"]
    if not (folder / "lists" / "read").exists():
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        key = "/usr/share/keyrings/debian-archive-keyring.gpg"
        sources.write_text(f"deb [signed-by={key}] {debian_site()} {OLDER[line]} main\n")
        subprocess.run(["apt-get", "-qq", *options, "update"], check=True, capture_output=True)
        (folder / "lists" / "read").touch()
    return options


@functools.cache
def kernel(line, cache, machine="amd64"):
    """The vmlinuz of Debian's newest cloud kernel of a line ("5.10", "6.1", "6.12"), kept in `cache`."""
    name = f"linux-image-cloud-{machine}" if line in ("5.10", "6.1") else f"linux-image-{line}-cloud-{machine}"
    apt = apt_for(line, cache)
    depends = subprocess.run(["apt-cache", *apt, "depends", name], capture_output=True, text=True, check=True)
    package = re.search(rf"Depends: (linux-image-{re.escape(line)}\.\S+)", depends.stdout)[1]
    folder = pathlib.Path(cache) / package
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            subprocess.run(["apt-get", "-qq", *apt, "download", package], cwd=work, check=True,
                           capture_output=True)
            part = pathlib.Path(work, "part")
            subprocess.run(["dpkg-deb", "-x", next(pathlib.Path(work).glob("*.deb")), part], check=True)
            shutil.move(part, folder)
    return next((folder / "boot").glob("vmlinuz-*"))


class Guest:
    console, back = "ttyS0", "ttyS1"

    def __init__(self, kernel_file, memory_mib=1024, options="no5lvl"):
        """`options`: more of the kernel's command line. The processor has five levels of page tables."""
        self.kernel, self.memory_mib, self.options = kernel_file, memory_mib, options
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name, "root")
        for name in ("bin", "proc", "sys", "dev", "tmp", "out", "etc"):
            (self.root / name).mkdir(parents=True)
        self.add(self.busybox(), "/bin/busybox")
        self.write("/init", INIT.format(back=self.back)).chmod(0o755)

    def busybox(self):
        return shutil.which("busybox")

    def emulator(self, back):
        """QEMU, what it emulates, and its serial ports: the console, then the one that writes into `back`."""
        return ["qemu-system-x86_64", "-cpu", "max", "-serial", "stdio", "-serial", f"file:{back}"]

    def write(self, path, text):
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def add(self, source, path=None):
        place = self.root / str(path or source).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            shutil.copy2(source, place)

    def add_program(self, source, path=None):
        """With every library that the loader says it needs, each at its own path."""
        self.add(source, path)
        listed = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(/\S+) \(0x", listed):
            self.add(library)

    def add_module(self, name):
        """A module of the kernel, as /NAME.ko, without those that it needs."""
        packed = next(self.kernel.parent.parent.glob(f"lib/modules/*/kernel/**/{name}.ko*"))
        place = self.root / f"{name}.ko"
        place.write_bytes(lzma.decompress(packed.read_bytes()) if packed.suffix == ".xz" else packed.read_bytes())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def run(self, job):
        """The shell script `job` as root in the guest. What it leaves under /out: name → bytes."""
        self.write("/job", job)
        back, image = (pathlib.Path(self.folder.name, name) for name in ("back.tar", "initrd"))
        archive = subprocess.run(
            f"find . | cpio -o -H newc --quiet | gzip -1 > '{image}'", shell=True, cwd=self.root,
            check=False)
        assert archive.returncode == 0
        # In one thread: where the processors run at the same time, QEMU now and then takes a breakpoint for which the
        # kernel has already put the instruction back (it writes its own code as it starts), and the kernel stops.
        console = subprocess.run(
            ["timeout", str(LIMIT_S), *self.emulator(back), "-accel", "tcg,thread=single",
             "-smp", "2", "-m", str(self.memory_mib), "-display", "none", "-no-reboot", "-nic", "none",
             "-kernel", self.kernel, "-initrd", image,
             "-append", f"console={self.console} quiet panic=-1 {self.options}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
            env={**os.environ, "LC_ALL": "C"})
        try:
            with tarfile.open(fileobj=io.BytesIO(back.read_bytes())) as tar:
                files = {entry.name.removeprefix("./"): tar.extractfile(entry).read()
                         for entry in tar if entry.isfile()}
            print(f"Ran on: Linux {files['kernel.release'].decode().strip()} in QEMU", flush=True)  # tools/write_status.py
            return files
        except (OSError, KeyError, tarfile.TarError) as problem:
            raise AssertionError(f"nothing came back ({problem}); the console said:\n"
                                 f"{console.stdout[-4000:]}{console.stderr[-2000:]}") from problem
