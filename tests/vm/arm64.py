"""An arm64 machine in QEMU, and what runs on it: Debian's arm64 packages, fetched by apt into a folder of its
own and unpacked, and programs compiled for it here.

    packages(cache)                                      # whose apt then finds the kernel
    with Guest(vm.kernel("6.12", cache, "arm64"), cache, "cortex-a72") as guest: …   # as vm.Guest
"""
import concurrent.futures
import functools
import os
import pathlib
import shutil
import subprocess

import vm

NEEDED = {"qemu-system-aarch64": "qemu-system-arm", "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu"}
LIBRARIES = ("libbpf-dev", "libelf-dev", "zlib1g-dev", "libxxhash-dev", "busybox-static")


def why_not():
    missing = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    return f"needs {' '.join(missing)} (apt-get install)" if missing else vm.why_not()


@functools.cache
def packages(cache):
    """The folder where LIBRARIES are unpacked. From now on this program's apt is one for arm64, with its lists and
    state in `cache`: the machine's own is left alone."""
    apt, root = cache / "arm64-apt", cache / "arm64-root"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "apt.conf").write_text(
        f'APT::Architecture "arm64";\nAPT::Architectures {{ "arm64"; }};\nDir::State "{apt}";\n'
        f'Dir::State::lists "{apt}/lists";\nDir::State::status "{apt}/status";\nDir::Cache "{apt}/cache";\n')
    os.environ["APT_CONFIG"] = str(apt / "apt.conf")
    if not root.exists():
        subprocess.run(["apt-get", "-qq", "update"], check=True)
        subprocess.run(["apt-get", "-qq", "download", *LIBRARIES], cwd=apt, check=True, capture_output=True)
        part = apt / "part"
        for package in apt.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, part], check=True)
        part.rename(root)
    return root


def compile_program(sources, program, cache, flags=()):
    """C++, C and assembly as one static program. Of headers that are the same on all machines this one's are taken."""
    root = packages(cache)
    folder = pathlib.Path(f"{program}.o")
    folder.mkdir(parents=True, exist_ok=True)
    compiler = ["aarch64-linux-gnu-g++", "-O1", "-Wno-psabi", *flags, "-idirafter", "/usr/include"]

    def compile_one(number, source):
        made = folder / f"{number}.o"
        language = ["-x", "c"] if source.suffix == ".c" else ["-std=c++20"] if source.suffix == ".cpp" else []
        subprocess.run([*compiler, *language, "-c", source, "-o", made], check=True)
        return made

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, range(len(sources)), sources))
    subprocess.run(["aarch64-linux-gnu-g++", "-static", *objects, "-o", program,
                    f"-L{root}/usr/lib/aarch64-linux-gnu", "-lbpf", "-lelf", "-lz", "-lxxhash"],
                   check=True)
    return program


class Guest(vm.Guest):
    """`processor`: "max" marks touched and written pages itself and has addresses of 52 bits, "cortex-a72"
    leaves that to the kernel and has 48."""
    console, back = "ttyAMA0", "ttyS0"

    def __init__(self, kernel_file, cache, processor, options=""):
        self.cache, self.processor = cache, processor
        super().__init__(kernel_file, options=options)

    def busybox(self):
        return packages(self.cache) / "bin" / "busybox"

    def emulator(self, back):
        return ["qemu-system-aarch64", "-M", "virt", "-cpu", self.processor, "-serial", "stdio",
                "-chardev", f"file,id=back,path={back}", "-device", "pci-serial,chardev=back"]
