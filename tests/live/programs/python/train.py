"""A short training run on the stand-in GPU, and memory beside PyTorch's: train.py OUT_FOLDER

Ends without Python's clean-up, so that the last state is the one that was written down: PyTorch's
snapshot and statistics, and what the stand-in device holds."""
import ctypes
import json
import os
import pathlib
import pickle
import sys

import torch
from torch import nn

OUT = pathlib.Path(sys.argv[1])
OTHERS = 12_345_678

torch.backends.cudnn.enabled = False
torch.backends.cuda.enable_cudnn_sdp(False)
torch.manual_seed(0)

runtime = ctypes.CDLL("libcudart.so.13")
driver = ctypes.CDLL("libcuda.so.1")
held = ctypes.c_void_p()
if runtime.cudaMalloc(ctypes.byref(held), ctypes.c_size_t(OTHERS)) != 0:
    sys.exit("cudaMalloc failed")
torch.cuda.memory._record_memory_history(stacks="python")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mixed = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.mixed(self.norm(x)).chunk(3, -1)
        x = x + nn.functional.scaled_dot_product_attention(q, k, v)
        return x + self.down(nn.functional.gelu(self.up(x)))


net = nn.Sequential(nn.Embedding(4096, 256), *(Block(256) for _ in range(4)), nn.Linear(256, 4096)).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
side = torch.cuda.Stream()
for step in range(6):
    ids = torch.randint(0, 4096, (4, 64 + 37 * step), device="cuda")
    with torch.cuda.stream(side):
        extra = torch.empty(1 << (18 + step), device="cuda")
        extra.record_stream(torch.cuda.current_stream())
    net(ids).float().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=step % 2 == 0)
    del extra
    if step == 3:
        torch.cuda.empty_cache()
del ids
try:
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    pass

snapshot = torch.cuda.memory._snapshot()
stats = torch.cuda.memory_stats()
(OUT / "snapshot.pickle").write_bytes(pickle.dumps(snapshot))
(OUT / "stats.json").write_text(json.dumps({"stats": stats, "others": OTHERS}))
if driver.fake_gpu_dump(str(OUT / "device.json").encode()) != 0:
    sys.exit("the stand-in could not write what it holds")
os._exit(0)
