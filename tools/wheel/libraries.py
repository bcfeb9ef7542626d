"""The libraries in the wheel, built from Debian's sources, static.

    build(toolchain, FOLDER)  →  FOLDER/prefix with include/ and lib/, and what is in it: [Library, …]

elfutils and cairo are under the LGPL: all sources are open, and `./dev wheel` links the program anew with
another one. Whatever was built stays, by version of the source and of the compiler."""
import dataclasses
import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess

import sources
from toolchain import GLIBC, PROCESSOR

JOBS = str(os.cpu_count() or 1)
CMAKE = ["-GNinja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", "-DBUILD_SHARED_LIBS=OFF"]
STATIC = ["--disable-shared", "--enable-static", "--with-pic"]


@dataclasses.dataclass(frozen=True)
class Library:
    name: str       # of Debian's source package
    version: str    # Debian's
    licence: str    # as SPDX names it
    copyright: pathlib.Path
    registry: str = "debian"


class Build:
    """One library: commands run in a copy of its source."""

    def __init__(self, toolchain, source, work, prefix):
        self.environment = toolchain.environment() | {
            "PKG_CONFIG_LIBDIR": f"{prefix}/lib/pkgconfig", "CPPFLAGS": f"-I{prefix}/include", "LDFLAGS": f"-L{prefix}/lib"}
        self.prefix, self.work = prefix, work
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(source.folder, work, symlinks=True)
        self.log = work.parent / f"{work.name}.log"
        self.log.unlink(missing_ok=True)

    def run(self, *words, cwd=None, **more):
        with self.log.open("a") as log:
            print("+", *words, file=log, flush=True)
            done = subprocess.run(list(map(str, words)), cwd=cwd or self.work, env=self.environment | more, stdout=log,
                                  stderr=subprocess.STDOUT)
        if done.returncode:
            raise SystemExit(f"wheel: {words[0]} failed for {self.work.name}; see {self.log}")

    def install(self, part, *files):
        for file in files:
            shutil.copy(self.work / file, self.prefix / part)

    def needs_all(self, *names):
        """Static: whoever links these needs what they need as well."""
        for name in names:
            file = self.prefix / f"lib/pkgconfig/{name}.pc"
            file.write_text(file.read_text().replace("Requires.private:", "Requires:"))

    def cmake(self, *options):
        self.run("cmake", *CMAKE, f"-DCMAKE_INSTALL_PREFIX={self.prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", *options, "-B", "out")
        self.run("cmake", "--build", "out", "--target", "install")

    def configure(self, *options, targets=("install",)):
        self.run("./configure", f"--prefix={self.prefix}", *options)
        self.run("make", f"-j{JOBS}")
        self.run("make", *targets)


def fmtlib(build):
    build.cmake("-DFMT_TEST=OFF", "-DFMT_DOC=OFF")


def re2(build):
    # Debian leaves out the tables of Unicode and makes them from its own package of that.
    build.run("make", f"-j{JOBS}", "REBUILD_TABLES=1", f"prefix={build.prefix}", "CXXFLAGS=-O3 -fPIC -pthread",
              "static-install", PATH=f"/usr/bin:{os.environ['PATH']}")  # with Debian's python3-six


def yaml_cpp(build):
    build.cmake("-DYAML_CPP_BUILD_TESTS=OFF", "-DYAML_CPP_BUILD_TOOLS=OFF", "-DYAML_BUILD_SHARED_LIBS=OFF")


def sqlite3(build):
    build.run("./configure", f"--prefix={build.prefix}", "--disable-tcl", "--disable-readline", *STATIC,
              CPPFLAGS="-DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_THREADSAFE=1")
    build.run("make", f"-j{JOBS}", "sqlite3.c", "sqlite3.h")
    build.run("make", f"-j{JOBS}", "lib_install", "sqlite3.pc")
    build.install("include", "sqlite3.h", "sqlite3ext.h")
    build.install("lib/pkgconfig", "sqlite3.pc")


def zlib(build):
    build.run("./configure", f"--prefix={build.prefix}", "--static")
    build.run("make", f"-j{JOBS}", "install")


def libzstd(build):
    build.run("make", "-C", "lib", f"-j{JOBS}", "libzstd.a")
    build.run("make", "-C", "lib", f"PREFIX={build.prefix}", "install-static", "install-includes", "install-pc")


def xz_utils(build):
    off = [f"--disable-{one}" for one in ("xz", "xzdec", "lzmadec", "lzmainfo", "lzma-links", "scripts", "doc", "nls")]
    build.configure(*STATIC, *off)


def bzip2(build):
    flags = "-O2 -fPIC -D_FILE_OFFSET_BITS=64"
    build.run("make", f"-j{JOBS}", "libbz2.a", f"CFLAGS={flags}", f"CC={build.environment['CC']}",
              f"AR={build.environment['AR']}", f"RANLIB={build.environment['RANLIB']}")
    build.install("lib", "libbz2.a")
    build.install("include", "bzlib.h")


def xxhash(build):
    build.run("make", f"-j{JOBS}", f"PREFIX={build.prefix}", "libxxhash.a", "libxxhash.pc")
    build.install("lib", "libxxhash.a")
    build.install("lib/pkgconfig", "libxxhash.pc")
    build.install("include", "xxhash.h", "xxh3.h")


def elfutils(build):
    off = [f"--disable-{one}" for one in ("debuginfod", "libdebuginfod", "nls")]
    build.run("./configure", f"--prefix={build.prefix}", *off, "--without-bzlib", "--without-lzma", "--without-zstd")
    words = [f"-j{JOBS}", "CFLAGS=-O2 -fPIC -w -Wno-error"]
    # Each library has parts of its own name; together they are what the shared ones have.
    parts = {"libelf": ["libelf/libelf.a", "lib/libeu.a"],
             "libdw": ["libdw/libdw.a", "libdwfl/libdwfl.a", "libdwelf/libdwelf.a", "libebl/libebl.a",
                       "backends/libebl_backends.a", "libcpu/libcpu.a"]}
    for part in ("lib", "libelf", "libebl", "libdwelf", "libcpu", "backends", "libdwfl", "libdw"):
        archives = [pathlib.Path(file).name for files in parts.values() for file in files if file.startswith(f"{part}/")]
        build.run("make", "-C", part, *words, *archives)
    for name, files in parts.items():
        script = build.work / f"{name}.mri"
        lines = [f"create {build.prefix}/lib/{name}.a", *(f"addlib {file}" for file in files), "save", "end"]
        script.write_text("\n".join(lines) + "\n")
        build.run("sh", "-c", f'"$AR" -M <{script.name}')
    for part, header in (("libelf", "libelf.h"), ("libelf", "gelf.h"), ("libdw", "dwarf.h"), ("libdw", "libdw.h"),
                         ("libdwfl", "libdwfl.h"), ("libebl", "libebl.h"), ("libdwelf", "libdwelf.h")):
        build.install("include" if part == "libelf" or header == "dwarf.h" else "include/elfutils", f"{part}/{header}")
    build.install("include/elfutils", "libelf/elf-knowledge.h", "version.h")
    build.install("lib/pkgconfig", "config/libelf.pc", "config/libdw.pc")
    build.needs_all("libelf", "libdw")


def libbpf(build):
    build.run("make", "-C", "src", f"-j{JOBS}", "BUILD_STATIC_ONLY=1", f"PREFIX={build.prefix}",
              f"LIBDIR={build.prefix}/lib", "install", EXTRA_CFLAGS=f"-I{build.prefix}/include -O2 -fPIC")
    build.needs_all("libbpf")


def libpng(build):
    build.run("./configure", f"--prefix={build.prefix}", *STATIC)
    build.run("make", f"-j{JOBS}", "libpng16.la")
    build.run("make", "install-libLTLIBRARIES", "install-pkgincludeHEADERS", "install-nodist_pkgincludeHEADERS",
              "install-header-links", "install-pkgconfigDATA", "install-libpng-pc")


def pixman(build):
    build.run("./configure", f"--prefix={build.prefix}", *STATIC, "--disable-gtk", "--disable-libpng", "--disable-openmp")
    build.run("make", "-C", "pixman", f"-j{JOBS}", "install")
    build.run("make", "install-pkgconfigDATA")


def cairo(build):
    # Pictures in memory, its built-in font and PNG: none of the surfaces and fonts of a desktop.
    off = ("xlib", "xcb", "ft", "fc", "ps", "pdf", "svg", "script", "tee", "xml", "gobject", "trace", "interpreter",
           "symbol-lookup", "gtk-doc")
    build.run("./configure", f"--prefix={build.prefix}", *STATIC, *(f"--enable-{one}=no" for one in off),
              "ax_cv_c_float_words_bigendian=no")  # it cannot see this through zig
    # Debian's patches are newer than `configure`; none of them changes what it asks.
    old = [f"{one}=:" for one in ("ACLOCAL", "AUTOCONF", "AUTOHEADER", "AUTOMAKE")]
    build.run("make", "-C", "src", f"-j{JOBS}", *old, "CFLAGS=-O2 -fPIC -w", "install")
    build.needs_all("libpng16", "cairo")


# By licence; in the order of what needs what.
RECIPES = {"zlib": (zlib, "Zlib"), "bzip2": (bzip2, "bzip2-1.0.6"), "xz-utils": (xz_utils, "0BSD"),
           "libzstd": (libzstd, "BSD-3-Clause"), "xxhash": (xxhash, "BSD-2-Clause"), "fmtlib": (fmtlib, "MIT"),
           "re2": (re2, "BSD-3-Clause"), "yaml-cpp": (yaml_cpp, "MIT"), "sqlite3": (sqlite3, "blessing"),
           "elfutils": (elfutils, "LGPL-3.0-or-later OR GPL-2.0-or-later"),
           "libbpf": (libbpf, "LGPL-2.1-only OR BSD-2-Clause"), "libpng1.6": (libpng, "libpng-2.0"),
           "pixman": (pixman, "MIT"), "cairo": (cairo, "LGPL-2.1-only OR MPL-1.1")}


# Headers alone, as this machine's packages have them: their folder, what else CMake needs, licence.
HEADERS = {"boost": ([], "BSL-1.0"), "CLI": (["share/cmake/CLI11"], "BSD-3-Clause"),
           "nlohmann": (["share/cmake/nlohmann_json"], "MIT"), "protozero": ([], "BSD-2-Clause")}


def python_headers(prefix):
    """CPython's headers of this machine into prefix/include/python: the limited API is the same in all."""
    found = ask("/usr/bin/python3", "-c", "import sysconfig; print(sysconfig.get_path('include'))")
    if not os.path.exists(f"{found}/Python.h"):
        raise SystemExit("wheel: needs Python.h of Debian's python3-dev (./dev wheel installs it)")
    target = prefix / "include/python"
    shutil.copytree(found, target, dirs_exist_ok=True)
    # Debian's own pyconfig.h only includes the one of this processor.
    name = pathlib.Path(found).name
    config = next(pathlib.Path("/usr/include").glob(f"*/{name}/pyconfig.h")).read_text()
    # Which of POSIX's functions there are is for this glibc to say, which is another one.
    kept = [line for line in config.splitlines() if not line.startswith(("#define _POSIX_C_SOURCE", "#define _XOPEN_SOURCE "))]
    (target / "pyconfig.h").unlink(missing_ok=True)
    (target / "pyconfig.h").write_text("\n".join(kept) + "\n")
    return target


def ask(*words):
    return subprocess.run(words, check=True, text=True, capture_output=True).stdout.strip()


def copy_headers(prefix):
    copied = []
    for name, (more, licence) in HEADERS.items():
        for part in [f"include/{name}", *more]:
            if not os.path.isdir(f"/usr/{part}"):
                raise SystemExit(f"wheel: needs /usr/{part} of Debian's packages (./dev wheel installs them)")
            shutil.copytree(f"/usr/{part}", prefix / part, dirs_exist_ok=True)
        package = ask("dpkg", "-S", f"/usr/include/{name}").split(":")[0].split(",")[0]
        source, version = ask("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package).split()
        copied.append(Library(source, version, licence, pathlib.Path(f"/usr/share/doc/{package}/copyright")))
    return copied


def build(toolchain, folder, again=False):
    """All of them, or none if nothing has changed since: one may have parts of another."""
    folder = pathlib.Path(folder).resolve()
    prefix = folder / "prefix"
    found = sources.fetch(RECIPES, folder / "sources")
    words = [toolchain.version(), GLIBC, PROCESSOR, *CMAKE, *STATIC]
    words += [f"{name} {source.folder.name} {inspect.getsource(RECIPES[name][0])}" for name, source in found.items()]
    stamp = prefix / f".built-{hashlib.sha256(' '.join(words).encode()).hexdigest()[:16]}"
    if again or not stamp.exists():
        shutil.rmtree(prefix, ignore_errors=True)
        for part in ("include/elfutils", "lib/pkgconfig"):
            (prefix / part).mkdir(parents=True)
        for name, source in found.items():
            print(f"building {name} {source.version}", flush=True)
            RECIPES[name][0](Build(toolchain, source, folder / "work" / name, prefix))
        stamp.touch()
    built = [Library(name, source.version if source.is_patched else source.version.rsplit("-", 1)[0], RECIPES[name][1],
                     source.copyright, "debian" if source.is_patched else "generic") for name, source in found.items()]
    return built + copy_headers(prefix)


if __name__ == "__main__":
    import sys
    from toolchain import Toolchain
    build(Toolchain(pathlib.Path(sys.argv[1]) / "toolchain"), sys.argv[1], again="--again" in sys.argv)
