"""From the command to the first tile of the timeline, as the page asks for it."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import measure_view  # noqa: E402  pylint: disable=wrong-import-position


def seconds_of(binary, path):
    """Until the address, and from there until the first picture is complete."""
    server, url, started_ms = measure_view.start(str(binary), [str(path)])
    client = measure_view.Client(url)
    try:
        _, _, picture_ms = measure_view.first_picture(client)
    finally:
        for connection in client.connections.values():
            connection.close()
        server.terminate()
        server.wait(30)
        server.stdout.close()
    return started_ms / 1e3, picture_ms / 1e3


def measured(binary, path, runs):
    return min((seconds_of(binary, path) for _ in range(runs)), key=sum)
