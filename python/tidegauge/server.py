"""The page of a trace: a `tidegauge view` that ends with this Python."""
from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import tempfile
import time
import weakref
from typing import IO, Optional

from .programs import command, raise_for, said_in


class Server:
    """A running `tidegauge view`.

    It ends with stop(), when nobody refers to it any more, and when this Python ends, however that ends: it reads
    from a pipe whose other end is here.

    Attributes:
        url: Where the page is, on this machine.
    """

    def __init__(self, source: object) -> None:
        path, folder = _file_of(source)
        self.pid = 0
        try:
            with tempfile.TemporaryFile() as said:
                process = subprocess.Popen([command(), "view", "--no-browser", "--behind-proxy", "--end-with-stdin", path],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
                self._finalizer = weakref.finalize(self, _end, process, folder)
                self.pid = process.pid
                self.url = self._address(process, said)
        except BaseException:
            if self.pid:
                self._finalizer()
            elif folder:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        self._process = process

    @staticmethod
    def _address(process: "subprocess.Popen[bytes]", said: IO[bytes]) -> str:
        assert process.stdout is not None
        for line in iter(process.stdout.readline, b""):
            for word in line.decode(errors="replace").split():
                if word.startswith("http://"):
                    return word
        raise_for(process.wait(), said_in(said))

    @property
    def is_running(self) -> bool:
        """False after stop(), or if it ended for another reason."""
        return self._finalizer.alive and self._process.poll() is None

    def stop(self) -> None:
        """Ends it, and removes what was written for it."""
        self._finalizer()


def _end(process: "subprocess.Popen[bytes]", folder: Optional[str]) -> None:
    if process.poll() is None:
        process.terminate()
        end = time.monotonic() + 5
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if process.poll() is None:
            process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _file_of(source: object) -> tuple[str, Optional[str]]:
    """A file with the trace, and the folder made for it if it came from memory."""
    if isinstance(source, str):
        return source, None
    folder = tempfile.mkdtemp(prefix="tidegauge-")
    path = os.path.join(folder, "snapshot.pickle")
    try:
        with open(path, "wb") as file:
            if isinstance(source, bytes):
                file.write(source)
            elif isinstance(source, dict):
                from .torch._stream import write_snapshot

                write_snapshot(file, source)
            else:
                pickle.dump(source, file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return path, folder
