"""Archives against the plain file: does unpacking keep a second copy in memory?

Anonymous memory is the program's own; pages of files are mapped, and the kernel drops them where memory is short.
"""
import pathlib
import subprocess
import threading
import zipfile

import measure
from table import Table, megabytes, seconds

SQL = "SELECT count(*) FROM events"


def packed(folder, path):
    """The same file in each kind of archive, made once."""
    zstd, deflated, stored = (folder / f"{path.stem}.{ending}" for ending in ("pickle.zst", "zip", "stored.zip"))
    if not zstd.exists():
        part = zstd.with_suffix(".part")
        with open(part, "wb") as out:
            subprocess.run(["zstd", "-q", "-1", "-c", path.resolve()], check=True, stdout=out)
        part.rename(zstd)
    for archive, method in ((deflated, zipfile.ZIP_DEFLATED), (stored, zipfile.ZIP_STORED)):
        if not archive.exists():
            part = archive.with_suffix(".part")
            with zipfile.ZipFile(part, "w", method, compresslevel=1) as out:
                out.write(path, path.name)
            part.rename(archive)
    return {"plain": path, "zstd -1": zstd, "zip, deflate": deflated, "zip, stored": stored}


class Watch:
    """The most anonymous and mapped memory that a process had, looked at every 5 ms."""

    def __init__(self, pid):
        self.anonymous = self.mapped = 0
        self._status, self._over = pathlib.Path(f"/proc/{pid}/status"), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._over.wait(0.005):
            try:
                fields = dict(line.split(":", 1) for line in self._status.read_text(encoding="utf-8").splitlines())
            except OSError:
                return
            of = {key: int(fields.get(key, "0 kB").split()[0]) * 1024 for key in ("RssAnon", "RssFile")}
            self.anonymous, self.mapped = max(self.anonymous, of["RssAnon"]), max(self.mapped, of["RssFile"])

    def end(self):
        self._over.set()
        self._thread.join()


def measured(binary, folder, path):
    table = Table("Archives", "bench/report/run.py --only archives",
                  ["the same file", "size", "processor time", "elapsed", "anonymous memory at most", "above the plain file",
                   "mapped at most"])
    plain = None
    for name, archive in packed(folder, path).items():
        watches = []
        it = measure.cost(binary, "query", archive, SQL, started=lambda pid, to=watches: to.append(Watch(pid)))
        watches[0].end()
        plain = watches[0].anonymous if plain is None else plain
        table.add(name, megabytes(archive.stat().st_size), seconds(it.processor_s), seconds(it.wall_s),
                  megabytes(watches[0].anonymous), megabytes(watches[0].anonymous - plain), megabytes(watches[0].mapped))
    return table
