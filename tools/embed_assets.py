#!/usr/bin/env python3
"""Writes the C++ file behind src/assets/assets.h: the built page as bytes in the binary.

    tools/embed_assets.py --dir web/dist --output build/dev/assets/assets.cpp

Each file is written beside the output as it is and, if smaller, gzipped; the C++ file pulls them in
with .incbin, so that a megabyte of page costs the compiler nothing. The page in one text goes with
them (tools/inline_page.py). Without --dir the table and that text are empty. The output depends on
the input's bytes alone (gzip time stamp 0, sorted names).
"""

import argparse
import gzip
import pathlib
import sys

from inline_page import InlineError, inline

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".wasm": "application/wasm",
}
NOT_EMBEDDED = {".map"}

HEAD = """\
// Made by tools/embed_assets.py; do not edit.
#include "assets/assets.h"

#include <algorithm>
#include <array>

"""

INCBIN = """\
asm(".section .rodata.tidegauge_assets,\\"a\\"\\n"
    ".balign 16\\n"
    "tidegauge_asset_{i}_begin:\\n"
    ".incbin \\"{path}\\"\\n"
    "tidegauge_asset_{i}_end:\\n"
    ".byte 0\\n"
    ".previous\\n");
extern "C" const char tidegauge_asset_{i}_begin[];
extern "C" const char tidegauge_asset_{i}_end[];
"""

TAIL = """
namespace tidegauge::assets {{

std::span<const Asset> all() {{
{table}
}}

const Asset* find(std::string_view path) {{
  const std::span<const Asset> table = all();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [path](const Asset& asset) {{ return asset.path == path; }});
  return found == table.end() ? nullptr : &*found;
}}

std::string_view oneFilePage() {{
  return {one_file};
}}

}}  // namespace tidegauge::assets
"""


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_if_changed(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class Blobs:
    """Byte strings written beside the output, and the asm that gives each a pair of symbols."""

    def __init__(self, folder):
        self.folder = folder
        self.asm = []

    def add(self, data):
        index = len(self.asm)
        path = self.folder / f"{index}.bin"
        write_if_changed(path, data)
        quoted = str(path.resolve()).replace("\\", "\\\\\\\\").replace('"', '\\\\\\"')
        self.asm.append(INCBIN.format(i=index, path=quoted))
        begin, end = f"tidegauge_asset_{index}_begin", f"tidegauge_asset_{index}_end"
        return f"std::string_view({begin}, static_cast<size_t>({end} - {begin}))"


def generate(source_dir, output):
    files = []
    if source_dir is not None:
        files = sorted(p for p in source_dir.rglob("*") if p.is_file())
        files = [p for p in files if p.suffix not in NOT_EMBEDDED]
    blobs = Blobs(output.with_suffix(".d"))
    rows = []
    for path in files:
        content_type = CONTENT_TYPES.get(path.suffix)
        if content_type is None:
            sys.exit(f"{path}: no content type known for {path.suffix!r}; add it to CONTENT_TYPES")
        data = path.read_bytes()
        packed = gzip.compress(data, 9, mtime=0)
        gzip_view = blobs.add(packed) if len(packed) < len(data) else "std::string_view()"
        name = path.relative_to(source_dir).as_posix()
        rows.append(f"      Asset{{{c_string(name)}, {c_string(content_type)},\n"
                    f"            {blobs.add(data)},\n            {gzip_view}}},")
    one_file = "std::string_view()"
    if source_dir is not None:
        try:
            one_file = blobs.add(inline(source_dir).encode())
        except InlineError as error:
            sys.exit(f"{source_dir}: {error}")
    if rows:
        table = ("  static const std::array table{\n" + "\n".join(rows) + "\n  };\n  return table;")
    else:
        table = "  return {};"
    text = HEAD + "\n".join(blobs.asm) + TAIL.format(table=table, one_file=one_file)
    write_if_changed(output, text.encode())
    output.touch()  # newer than what it was made from, also when nothing changed
    return len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dir", type=pathlib.Path, help="the built page; none: an empty table")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    if args.dir is not None and not (args.dir / "index.html").is_file():
        sys.exit(f"{args.dir}: no index.html there; build the page first (npm run build in web/)")
    print(f"embedded {generate(args.dir, args.output)} files in {args.output.name}")


if __name__ == "__main__":
    main()
