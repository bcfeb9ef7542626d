"""From the command to the first tile of the timeline, as the page asks for it."""
import os
import pathlib
import sys

from measure import Cost

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import measure_view  # noqa: E402  pylint: disable=wrong-import-position


def peak_bytes_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def times_of(pid):
    """User and system time so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return [int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in fields[11:13]]


def cost(binary, path, **more):
    """`more`: for subprocess.Popen."""
    server, url, started_ms = measure_view.start(str(binary), [str(path)], **more)
    client = measure_view.Client(url)
    try:
        _, _, picture_ms = measure_view.first_picture(client)
        return Cost(*times_of(server.pid), (started_ms + picture_ms) / 1e3, peak_bytes_of(server.pid))
    finally:
        for connection in client.connections.values():
            connection.close()
        server.terminate()
        server.wait(60)
        server.stdout.close()


def measured(binary, path, runs):
    return min((cost(binary, path) for _ in range(runs)), key=lambda it: it.wall_s)
