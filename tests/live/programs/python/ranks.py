"""Ranks of a job that torchrun starts: ranks.py BYTES CODE

Each takes GPU memory, joins the others by gloo on loopback, and prints in the order of the ranks; the
last rank ends with CODE."""
import os
import sys

import torch
import torch.distributed as distributed

distributed.init_process_group("gloo")
rank, world = distributed.get_rank(), distributed.get_world_size()
held = torch.empty((rank + 1) * int(sys.argv[1]), dtype=torch.uint8, device="cuda")
total = torch.tensor([rank + 1])
distributed.all_reduce(total)
for turn in range(world):
    if turn == rank:
        print(f"rank {rank} of {world}: sum {total.item()}, holds {held.numel()}", flush=True)
    distributed.barrier()
code = int(sys.argv[2]) if rank == world - 1 else 0
distributed.destroy_process_group()
sys.stdout.flush()
os._exit(code)
