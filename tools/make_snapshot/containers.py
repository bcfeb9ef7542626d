"""The shapes a snapshot travels in: pickle, bare segment list, JSON, HTML; plain or compressed.

Everything is a stream: a file of a gigabyte passes through here in pieces.
"""

import base64
import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
import zipfile

from pickler import Pickler
from schema import Shared

HTML_HEAD = b"""<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Memory snapshot</title></head><body>
<script type="module">
const local_files = [{"name": "snapshot.pickle", "base64": \""""
HTML_TAIL = b"""\"}];
document.body.textContent = `${local_files.length} snapshot`;
</script></body></html>
"""


class Base64Writer:
    """Base64 of what is written; NUL bytes fill the last group, as viewers' pages have it."""

    def __init__(self, out):
        self.out, self.rest = out, b""

    def write(self, data):
        data = self.rest + bytes(data)
        whole = len(data) // 3 * 3
        self.out.write(base64.b64encode(data[:whole]))
        self.rest = data[whole:]

    def finish(self):
        self.out.write(base64.b64encode(self.rest + b"\0" * (3 - len(self.rest))))


@contextlib.contextmanager
def opened(path, compress, member):
    """A writable binary stream at path ("-" = standard output)."""
    with contextlib.ExitStack() as stack:
        out = sys.stdout.buffer if path == "-" else stack.enter_context(open(path, "wb"))
        if compress == "gzip":
            out = stack.enter_context(gzip.GzipFile("", "wb", 6, out, mtime=0))
        elif compress == "zip":
            archive = stack.enter_context(zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED))
            info = zipfile.ZipInfo(member, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            out = stack.enter_context(archive.open(info, "w", force_zip64=True))
        elif compress == "zstd":
            program = shutil.which("zstd")
            if program is None:
                sys.exit("--compress zstd needs the zstd program; install the package zstd")
            child = subprocess.Popen([program, "-q", "-c", "-T1"], stdin=subprocess.PIPE, stdout=out)
            yield child.stdin
            child.stdin.close()
            if child.wait() != 0:
                sys.exit(f"zstd failed with exit code {child.returncode}")
            return
        yield out


def write_pickle(out, schema, options):
    pickler = Pickler(out, options.protocol, options.dialect)
    segment_count = sum(1 for device in schema.program.devices
                        for _ in device.allocator.ranges())

    def segments():
        pickler.begin_list(segment_count)
        for segment in schema.segments():
            pickler.next_item()
            pickler.save(segment)
        pickler.end_list()

    if options.format == "list":
        segments()
        pickler.finish()
        return
    pickler.begin_dict()
    pickler.save("segments")
    segments()
    pickler.save("device_traces")
    pickler.begin_list(len(schema.program.devices))
    for device in schema.program.devices:
        pickler.next_item()
        pickler.events(schema, device.log.written(options.skip_actions),
                       device.log.written_count(options.skip_actions))
    pickler.end_list()
    for key, value in schema.extra_keys():
        pickler.save(key)
        pickler.save(value)
    pickler.end_dict()
    pickler.finish()


def plain(value):
    """The value as JSON has it: no sharing, no tuples."""
    if isinstance(value, Shared):
        return plain(value.make())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def write_json(out, schema, options):
    def write_list(items):
        separator = "["
        for item in items:
            out.write((separator + json.dumps(plain(item))).encode())
            separator = ",\n"
        out.write(b"[]" if separator == "[" else b"]")

    def event(record):
        frames = schema.frames(record[4]) if record[4] != 0xFFFFFFFF else None
        return schema.event(schema.kind(record), *record[6:9], frames)

    out.write(b'{"segments": ')
    write_list(schema.segments())
    out.write(b',\n"device_traces": [')
    for at, device in enumerate(schema.program.devices):
        out.write(b",\n" if at else b"")
        write_list(map(event, device.log.written(options.skip_actions)))
    out.write(b"]")
    for key, value in schema.extra_keys():
        out.write(f",\n{json.dumps(key)}: {json.dumps(plain(value))}".encode())
    out.write(b"}\n")


def write_snapshot(path, schema, options):
    member = "snapshot.json" if options.format == "json" else "snapshot.pickle"
    with opened(path, options.compress, member) as out:
        if options.format == "json":
            write_json(out, schema, options)
        elif options.format == "html":
            out.write(HTML_HEAD)
            encoded = Base64Writer(out)
            write_pickle(encoded, schema, options)
            encoded.finish()
            out.write(HTML_TAIL)
        else:
            write_pickle(out, schema, options)
    return None if path == "-" else os.path.getsize(path)
