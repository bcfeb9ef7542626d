"""Training on batches of many sizes, once, under the settings of its environment.

    run_once.py OUT FRACTION [history]     writes OUT.json: memory_stats(), and with "history"
                                           OUT.pickle: PyTorch's snapshot with all its events

FRACTION is the limit of set_per_process_memory_fraction(); 0 sets none.
"""
import json
import pickle
import random
import sys

import net as nets
import torch

STEPS = 24


def main():
    out, fraction = sys.argv[1], float(sys.argv[2])
    if fraction:
        torch.cuda.set_per_process_memory_fraction(fraction)
    if sys.argv[3:] == ["history"]:
        torch.cuda.memory._record_memory_history(max_entries=10_000_000, stacks="python")
    chance = random.Random(7)
    failed, kept = 0, []
    net, optimizer = nets.build()
    for step in range(STEPS):
        try:
            nets.train(net, optimizer, chance.choice((1, 2, 4)), chance.randint(33, 900))
        except torch.cuda.OutOfMemoryError:
            failed += 1
            optimizer.zero_grad(set_to_none=True)
        if step % 3 == 0:  # keeps results for a while, as an evaluation does
            kept.append(torch.empty(chance.randint(1 << 20, 24 << 20), device="cuda"))
        if len(kept) > 4:
            kept.pop(chance.randrange(4))
    if sys.argv[3:] == ["history"]:
        with open(f"{out}.pickle", "wb") as file:
            pickle.dump(torch.cuda.memory._snapshot(), file)
    with open(f"{out}.json", "w", encoding="utf-8") as file:
        json.dump({"stats": torch.cuda.memory_stats(), "failed": failed,
                   "total_bytes": torch.cuda.mem_get_info()[1]}, file)


if __name__ == "__main__":
    main()
