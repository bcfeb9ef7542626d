#!/usr/bin/env python3
"""What a single window of a small process costs: the processor time of the whole command, beside Perl making the calls
of wss.pl (one write to clear_refs, one reading of smaps), in turn in one run.

    sudo TIDEGAUGE_BINARY=build/release/tidegauge python3 bench/wss/small_process.py [--rss-mib 8] [--runs 20]
                                                                                     [--before OTHER_TIDEGAUGE]"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
PERL = """use Getopt::Long; use Time::HiRes qw(sleep); use strict;
my ($pid, $seconds) = @ARGV; my %sums;
open(my $clear, ">", "/proc/$pid/clear_refs") or die $!; print $clear "1\\n"; close $clear;
sleep $seconds;
open(my $smaps, "/proc/$pid/smaps") or die $!;
while (<$smaps>) { $sums{$1} += $2 if /^(Rss|Pss|Referenced):\\s+(\\d+)/; }
printf "%.2f %.2f %.2f\\n", map { $_ / 1024 } @sums{"Rss", "Pss", "Referenced"};"""


def cpu_ms(words):
    before = os.times()
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system) * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rss-mib", type=int, default=8)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--before", help="another tidegauge to compare with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        touch = pathlib.Path(folder, "touch")
        subprocess.run(["gcc", "-O1", "-o", touch, HERE.parent.parent / "tests/wss/touch.c"], check=True)
        process = subprocess.Popen([touch, str(options.rss_mib), "2"], stdout=subprocess.PIPE)
        try:
            process.stdout.readline()
            window = (process.pid, 0.05)
            methods = {"Perl, wss.pl's calls": ("perl", "-e", PERL, *window), "pte": (BINARY, "wss", *window),
                       "smaps": (BINARY, "wss", "--backend", "smaps", *window), "--version": (BINARY, "--version")}
            if options.before:
                methods["pte before"] = (options.before, "wss", *window)
            times = {name: [] for name in methods}
            for _ in range(options.runs):
                for name, words in methods.items():
                    # Four at a time: the kernel counts these times in steps of milliseconds.
                    times[name].append(sum(cpu_ms(words) for _ in range(4)) / 4)
            for name, of in times.items():
                print(f"{name:<22} {statistics.median(of):6.1f} ms")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


if __name__ == "__main__":
    main()
