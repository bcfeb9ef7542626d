"""What one run of a command costs: user and system time, elapsed time, peak memory."""
import dataclasses
import os
import subprocess
import time


@dataclasses.dataclass(frozen=True)
class Cost:
    user_s: float
    system_s: float
    wall_s: float
    peak_bytes: int

    @property
    def processor_s(self):
        return self.user_s + self.system_s


def cost(*words):
    """Runs the command once and drops its standard output."""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode != 0:
        raise RuntimeError(f"{words[0]} {words[1]}: exit code {process.returncode}: {errors[-400:].decode(errors='replace')}")
    return Cost(used.ru_utime, used.ru_stime, time.monotonic() - began, used.ru_maxrss * 1024)


def least(runs, *words):
    """The run with the least processor time: other work on the machine only adds to it."""
    return min((cost(*words) for _ in range(runs)), key=lambda it: it.processor_s)
