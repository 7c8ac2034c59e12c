"""Training steps by two ranks of PyTorch's DistributedDataParallel with gloo, one thread each: train_ddp.py SHAPE STEPS. Each rank has one batch of an
update. Prints the tokens/s of all ranks: the median of the updates after the first sixth of them."""

import os
import socket
import statistics
import sys
import time

import torch
import torch.distributed
import torch.multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from train_torch import GPT
from trainers import SHAPES

RANKS = 2


def work(rank, port, shape, steps):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.manual_seed(rank)
    vocab, positions, layers, heads, width, batch, tokens = SHAPES[shape]
    model = DistributedDataParallel(GPT(vocab, positions, layers, heads, width))
    arrays = list(model.parameters())
    optimizer = torch.optim.AdamW(arrays, lr=3e-4, fused=True)
    times = []
    for _ in range(steps):
        begun = time.perf_counter()
        ids = torch.randint(0, vocab, (batch, tokens))
        loss = model(ids, ids.roll(-1, 1))
        loss.backward()
        nn.utils.clip_grad_norm_(arrays, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        times.append(time.perf_counter() - begun)
    if rank == 0:
        print(RANKS * batch * tokens / statistics.median(times[steps // 6:]))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        chosen = free.getsockname()[1]
    torch.multiprocessing.spawn(work, args=(chosen, sys.argv[1], int(sys.argv[2])), nprocs=RANKS)
