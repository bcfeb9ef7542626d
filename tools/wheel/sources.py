"""Sources of the libraries in the wheel: Debian's source packages, by name.

    fetch(["zlib", "libbpf"], FOLDER)  →  {"zlib": Source("1:1.2.13.dfsg-1", FOLDER/zlib-1.2.13.dfsg), …}

Debian's security updates are among them: to answer a CVE, they are fetched and built again. apt checks
signatures and sums; it has lists of its own here, and nothing of this machine's is changed."""
import dataclasses
import functools
import pathlib
import re
import shutil
import subprocess

RELEASE = "bookworm"
# Debian's changelog of these versions names no fix that upstream's own lacks, so that one will do where a mirror
# has no file of Debian's changes. Read the changelog before you put a newer version here.
PLAIN = {("pixman", "0.42.2-1")}
KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = {RELEASE: RELEASE, f"{RELEASE}-updates": f"{RELEASE}-updates", f"{RELEASE}-security": f"{RELEASE}-security"}


@dataclasses.dataclass(frozen=True)
class Source:
    version: str         # Debian's
    folder: pathlib.Path
    is_patched: bool = True   # False: upstream's own, of which Debian's changes cannot be fetched

    @property
    def copyright(self):
        names = ["debian/copyright", "COPYING", "LICENSE"]
        return next(self.folder / name for name in names if (self.folder / name).exists())


def sites():
    """Where this machine's own apt fetches Debian from, by code name of the suite."""
    words = ["apt-get", "indextargets", "--format", "$(CODENAME) $(SITE)", "Created-By: Packages", "Origin: Debian"]
    for _ in range(2):
        lines = subprocess.run(words, check=True, text=True, capture_output=True).stdout.splitlines()
        if lines:
            break
        subprocess.run(["apt-get", "-qq", "update"], check=True)  # a container without lists
    return dict(line.split(None, 1) for line in lines if line.split()[0] in SUITES)


def apt_in(folder):
    """Options with which apt reads source packages, with lists of its own."""
    known = sites()
    if RELEASE not in known:
        raise SystemExit(f"wheel: needs a machine whose apt has Debian's {RELEASE} (./dev wheel runs on Debian 12)")
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("".join(f"deb-src [signed-by={KEY}] {site} {suite} main\n"
                                                 for suite, site in sorted(known.items())))
    return [f"-oDir::Etc::sourcelist={folder}/sources.list", "-oDir::Etc::sourceparts=-", f"-oDir::State::lists={folder}/lists",
            f"-oDir::Cache={folder}/cache", "-oAPT::Sandbox::User=root"]


def fetch(names, folder):
    """Fetches and unpacks them, the newest versions; what is there already in that version is kept."""
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    apt = apt_in(folder)
    subprocess.run(["apt-get", "-qq", *apt, "update"], check=True)
    found = {}
    for name in names:
        shown = subprocess.run(["apt-cache", *apt, "showsrc", "--only-source", name], check=True, text=True,
                               capture_output=True).stdout
        versions = by_age(re.findall(r"^Version: (\S+)$", shown, re.MULTILINE))
        if not versions:
            raise SystemExit(f"wheel: Debian's {RELEASE} has no source package {name}")
        ways = [(version, True) for version in versions]
        ways += [(version, False) for version in versions if (name, version) in PLAIN]
        found[name] = next((source for way in ways if (source := unpacked(apt, folder, name, *way))), None)
        if found[name] is None:
            raise SystemExit(f"wheel: no version of Debian's source package {name} can be fetched: {versions}")
        if found[name].version != versions[0]:
            print(f"careful: {name} {versions[0]} cannot be fetched; {found[name].version} is built", flush=True)
        if not found[name].is_patched:
            print(f"careful: Debian's changes to {name} cannot be fetched; it is built without them", flush=True)
    return found


def unpacked(apt, folder, name, version, is_patched):
    """That version, unpacked in `folder`; None if it cannot be fetched."""
    place = folder / f"{name}_{version.replace(':', '_')}{'' if is_patched else '.upstream'}"
    if not place.exists():
        part = place.with_name(place.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        more = [] if is_patched else ["--tar-only"]
        if subprocess.run(["apt-get", "-qq", *apt, *more, "source", f"{name}={version}"], cwd=part,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            shutil.rmtree(part)
            return None
        if not is_patched:
            file, = part.glob("*.orig.tar.*")
            subprocess.run(["tar", "-xf", file], cwd=part, check=True)
        tree, = (one for one in part.iterdir() if one.is_dir())
        tree.rename(place)
        shutil.rmtree(part)
    return Source(version, place, is_patched)


def by_age(versions):
    """The newest first, by Debian's order."""
    def order(a, b):
        return -1 if subprocess.run(["dpkg", "--compare-versions", a, "gt", b]).returncode == 0 else 1
    return sorted(set(versions), key=functools.cmp_to_key(order))
