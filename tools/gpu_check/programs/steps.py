"""A training run that makes a step when it is asked to, and prints how long the step took.

    steps.py            a line "step" on standard input: one step, its nanoseconds on standard output
    steps.py history    the same, while PyTorch keeps its own history of allocations
"""
import sys
import time

import net as nets
import torch

HISTORY_ENTRIES = 100_000


def main():
    if sys.argv[1:] == ["history"]:
        torch.cuda.memory._record_memory_history(max_entries=HISTORY_ENTRIES)
    net, optimizer = nets.build()
    for _ in range(5):
        nets.train(net, optimizer, 8, 512)
    torch.cuda.synchronize()
    print("ready", flush=True)
    for _ in sys.stdin:
        begin_ns = time.perf_counter_ns()
        nets.train(net, optimizer, 8, 512)
        torch.cuda.synchronize()
        print(time.perf_counter_ns() - begin_ns, flush=True)


if __name__ == "__main__":
    main()
