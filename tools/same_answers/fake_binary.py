"""Stands in for tidegauge in self_test.py, which puts CHANGES and EDIT before this."""

import json
import sys

FIELDS = {"engine": "12345678", "version": "1", "tile": "abcd", "row": 7, "column": "peak_bytes",
          "text": "Peak: 1.25 GiB at step 36,503."} | CHANGES  # noqa: F821  # before this
REPORT = {"name": "gpu", "events": 36503, "note": "Peak of 1.25 GiB was held."}
DOCS = """### devices
| column | kind | |
|---|---|---|
| device | integer | |
| {column} | bytes | |
"""
DEVICE = {"ordinal": 0, "events": 9, "allocations": 3, "first_time_us": None, "last_time_us": None,
          "peak": {"active": {"bytes": 10}}, "ooms": []}
SESSION = {"version": FIELDS["version"], "working_sets": [], "lives": [],
           "files": [{"id": 0, "name": "f", "devices": [DEVICE]}]}


def say(text):
    return text.replace(*EDIT) if EDIT[0] else text  # noqa: F821


def answer(self):
    data, kind = say(json.dumps(REPORT)).encode(), "application/json"
    if "api/session" in self.path:
        data = json.dumps(SESSION).encode()
    if "api/tile" in self.path:
        data = b"TGT1" + bytes(52) + FIELDS["engine"].encode() + FIELDS["tile"].encode()
        kind = "application/octet-stream"
    self.send_response(200)
    self.send_header("Content-Type", kind)
    self.send_header("Content-Length", str(len(data)))
    self.end_headers()
    self.wfile.write(data)


def serve():
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Page(BaseHTTPRequestHandler):
        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    print(f"files at http://127.0.0.1:{server.server_port}/token/", flush=True)
    server.serve_forever()


words = sys.argv[1:]
is_query = words[0] == "query" and len(words) > 2
if words[0] == "view" and "--help" not in words:
    serve()
elif "--print-docs" in words:
    print(DOCS.format(**FIELDS) if words[-1] == "sql" else "")
elif is_query and " AS t," in words[2]:
    print("[\n  " + json.dumps({"t": "devices", "c0": 0, "c1": FIELDS["row"]}) + "\n]")
elif is_query:
    print("[\n  " + json.dumps({"device": 0, "peak_bytes": FIELDS["row"]}) + "\n]")
elif "--json" in words:
    print(say(json.dumps(REPORT)))
else:
    print(say(FIELDS["text"]))
