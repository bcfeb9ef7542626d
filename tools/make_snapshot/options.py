"""The command line of the generator: every option, its range and what it means."""

import argparse

import scenarios
from allocator import ACTIONS
from schema import RELEASES


def release(text):
    try:
        major, minor = map(int, text.split("."))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no release like 2.9") from None
    if (major, minor) < RELEASES[0]:
        raise argparse.ArgumentTypeError("the oldest release is 2.0")
    return major, minor


def depth_range(text):
    low, _, high = text.partition("-")
    try:
        low, high = int(low), int(high or low)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no range like 4-20") from None
    if not 1 <= low <= high:
        raise argparse.ArgumentTypeError("a stack has at least one frame: 1 ≤ low ≤ high")
    return low, high


def action_numbers(text):
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in ACTIONS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(ACTIONS)}")
    return {ACTIONS.index(name) for name in names}


def byte_size(text):
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
    for suffix, factor in units.items():
        if text.endswith(suffix):
            return int(float(text[:-len(suffix)]) * factor)
    return int(text)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="make_snapshot", description="Writes a synthetic PyTorch memory snapshot.")
    add = parser.add_argument
    add("-o", "--out", default="-", help="file to write; - is standard output (default)")
    add("--truth", metavar="FILE", help="write the known truth as JSON")
    add("--seed", type=int, default=1)
    add("--events", type=int, default=2000, help="events recorded, on all devices (default 2000)")
    add("--live", type=int, default=100, help="blocks alive at the end (default 100)")
    add("--segments", type=int, default=0,
        help="at least that many segments: 12 MiB blocks held to the end, one in each")
    add("--stacks", type=int, default=50, help="distinct stacks; 0: none recorded (default 50)")
    add("--depth", type=depth_range, default=(4, 20), help="frames per stack (default 4-20)")
    add("--cpp-frames", action="store_true", help="every third frame is a C++ one")
    add("--devices", type=int, default=1)
    add("--streams", type=int, default=1, help="from 2 on, some frees complete late")
    add("--pools", type=int, default=1, help="the default pool and private ones")
    add("--capacity", type=byte_size, default=80 << 30, help="device memory (default 80GiB)")
    add("--shape", choices=("clean", "midrun", "overflow"), default="clean",
        help="recorded from the start, from the middle of a run, or into a ring of --events entries")
    add("--workload", choices=("teeth", *scenarios.NAMES), default="teeth",
        help="the program: see workload.py (teeth, default) and scenarios.py (one device)")
    add("--leak", type=byte_size, default=0, metavar="BYTES",
        help="keep this much more after each step, at one stack; not with teeth")
    add("--leak-from", type=float, default=0, metavar="SHARE",
        help="leak only after this share of the events, 0 (default) to 1")
    add("--expandable", action="store_true", help="expandable segments")
    add("--oom", type=int, nargs="?", const=1, default=0, metavar="N", help="run out of memory")
    add("--dumps", type=int, default=0, help="earlier snapshots that left a mark in the trace")
    add("--annotations", action="store_true", help="record_function ranges, and labels from 2.10 on")
    add("--names", action="store_true",
        help="names of tensors, as tidegauge.torch.names() adds them (tensor_names.py)")
    add("--skip-actions", type=action_numbers, default=set(), metavar="A,B", help="not recorded")
    add("--torch", type=release, default=(2, 14), metavar="2.14",
        help="whose keys to write, 2.0 to 2.14 (default)")
    add("--protocol", type=int, choices=(2, 3, 4, 5), default=4, help="of the pickle (default 4)")
    add("--dialect", choices=("python", "torch"), default="python",
        help="pickled by Python or by torch's C++ code (always protocol 2)")
    add("--high-addresses", action="store_true", help="addresses from 2^63 on")
    add("--format", choices=("pickle", "list", "json", "html"), default="pickle",
        help="list is the bare list of segments")
    add("--compress", choices=("none", "gzip", "zip", "zstd"), default="none")
    options = parser.parse_args(arguments)
    for name, least, most in (("events", 1, 1 << 31), ("live", 1, 1 << 31), ("stacks", 0, 1 << 31),
                              ("devices", 1, 64), ("streams", 1, 255), ("pools", 1, 255)):
        if not least <= getattr(options, name) <= most:
            parser.error(f"--{name} must be from {least} to {most}")
    if options.workload != "teeth":
        if options.devices != 1 or options.shape != "clean":
            parser.error(f"--workload {options.workload} has one device and --shape clean")
        if options.stacks < scenarios.LEAST_STACKS:
            parser.error(f"--workload {options.workload} needs --stacks {scenarios.LEAST_STACKS}")
    elif options.leak:
        parser.error("--leak needs a --workload other than teeth")
    if options.annotations and options.torch < (2, 5):
        parser.error("--annotations needs --torch 2.5 or newer")
    if options.expandable and options.torch < (2, 1):
        parser.error("--expandable needs --torch 2.1 or newer")
    return options
