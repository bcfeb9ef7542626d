"""Writes synthetic PyTorch memory snapshots whose truth is known.

    python3 tools/make_snapshot --events 1000000 --truth truth.json -o snapshot.pickle

A made-up program runs on a simulated caching allocator, so that the final segments are the result
of the events and every total can be checked. The same options always give the same bytes.
"""

import json
import sys

import options as command_line
from containers import write_snapshot
from schema import Schema
from stacks import Stacks
from workload import Program


def main(arguments=None):
    options = command_line.parse(arguments)
    program = Program(options).run()
    low, high = options.depth
    stacks = Stacks(options.seed, options.stacks, low, high, options.cpp_frames)
    schema = Schema(program, stacks)
    size = write_snapshot(options.out, schema, options)
    if options.truth:
        truth = program.truth()
        truth["file_bytes"] = size
        leak = truth.get("program", {}).get("leak_stack")
        if leak is not None:
            truth["program"]["leak_frames"] = [stacks.frame(n) for n in stacks.frames(leak)]
        with open(options.truth, "w", encoding="utf-8") as out:
            json.dump(truth, out, indent=1)
            out.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
