"""A small language model and its training. The same seed gives the same requests for memory.

    net, optimizer = build(); train(net, optimizer, batch=8, length=512)

Cost on a GPU: about 1.5 GiB and 20 to 60 ms per step. Nothing that it asks for depends on what it
computes, so the sizes are the same on a stand-in GPU, which computes nothing.
"""
import torch
from torch import nn

VOCABULARY, WIDTH, LAYERS, HEADS = 8192, 768, 6, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList((nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)))
        self.mixed, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2)
                   for part in self.mixed(self.norms[0](x)).chunk(3, -1))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


def build():
    """The model and its optimizer, on the first GPU."""
    torch.backends.cudnn.enabled = False
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.manual_seed(0)
    with torch.device("cuda"):
        net = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *(Block() for _ in range(LAYERS)),
                            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False))
    return net, torch.optim.AdamW(net.parameters(), lr=1e-4, foreach=True)


def forward(net, batch, length):
    ids = torch.randint(0, VOCABULARY, (batch, length), device="cuda")
    return net(ids).float().mean()


def train(net, optimizer, batch, length):
    forward(net, batch, length).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
