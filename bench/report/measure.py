"""What one run of a command costs: user and system time, elapsed time, peak memory.

The kernel counts the memory of whoever started a command in the command's peak, so GNU time starts it, which is
small. Without GNU time, no peak is below that of this program, some 40 MB.
"""
import dataclasses
import os
import pathlib
import signal
import subprocess
import tempfile
import time

GNU_TIME = pathlib.Path("/usr/bin/time")


@dataclasses.dataclass(frozen=True)
class Cost:
    user_s: float
    system_s: float
    wall_s: float
    peak_bytes: int
    output: bytes = b""

    @property
    def processor_s(self):
        return self.user_s + self.system_s


class CommandFailed(RuntimeError):

    def __init__(self, words, code, errors):
        super().__init__(f"{words[0]} {words[1]}: exit code {code}: {errors[-400:].decode(errors='replace')}")
        self.was_killed = code in (-signal.SIGKILL, 128 + signal.SIGKILL)


def cost(*words, keeps_output=False, started=None, **more):
    """Runs the command once; its standard output is dropped, or kept.

    `started` is called with the process's id; `more` is for subprocess.Popen.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, tempfile.NamedTemporaryFile() as peak:
        streams = {"stdout": output if keeps_output else subprocess.DEVNULL, "stderr": errors, **more}
        timed = [GNU_TIME, "-q", "-f", "%M", "-o", peak.name] if GNU_TIME.exists() and not started else []
        began = time.monotonic()
        process = subprocess.Popen([str(word) for word in [*timed, *words]], **streams)
        if started:
            started(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise CommandFailed(words, process.returncode, errors.read())
        peak_kib = int(peak.read()) if timed else used.ru_maxrss
        return Cost(used.ru_utime, used.ru_stime, wall_s, peak_kib * 1024, output.read())


def least(runs, *words):
    """The run with the least processor time: other work on the machine only adds to it."""
    return min((cost(*words) for _ in range(runs)), key=lambda it: it.processor_s)
