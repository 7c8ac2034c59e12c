"""The same training steps by PyTorch: train_torch.py eager|compile|autocast SHAPE (autocast: products in bf16)"""

import os

os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))

import torch  # pylint: disable=wrong-import-position
from torch import nn  # pylint: disable=wrong-import-position
from torch.nn import functional as F  # pylint: disable=wrong-import-position

from trainers import SHAPES, serve  # pylint: disable=wrong-import-position


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_ffn = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        rows, tokens, width = x.shape
        parts = self.qkv(self.before_attention(x)).view(rows, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, tokens, width))
        return x + self.down(F.gelu(self.up(self.before_ffn(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocab, positions, layers, heads, width):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for array in self.parameters():
            if array.dim() > 1:
                nn.init.normal_(array, std=0.02)

    def forward(self, ids, targets):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy((self.norm(x) @ self.words.weight.t()).flatten(0, 1), targets.flatten())


class Torch:
    def __init__(self, kind, shape):
        self.vocab, positions, layers, heads, width, self.batch, self.tokens = SHAPES[shape]
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        torch.manual_seed(0)
        model = GPT(self.vocab, positions, layers, heads, width)
        self.parameters = sum(array.numel() for array in model.parameters())
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
        self.model = torch.compile(model) if kind == "compile" else model
        self.rounded = kind == "autocast"
        self.arrays = list(model.parameters())
        self.name = f"PyTorch {torch.__version__} {kind}"

    def step(self):
        ids = torch.randint(0, self.vocab, (self.batch, self.tokens))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.rounded):
            loss = self.model(ids, ids.roll(-1, 1))
        loss.backward()
        nn.utils.clip_grad_norm_(self.arrays, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()


if __name__ == "__main__":
    serve(lambda arguments: Torch(*arguments))
