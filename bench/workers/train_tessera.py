"""Training steps of Tessera by its library: train_tessera.py LIBRARY DEVICE SHAPE COMPUTE (f32 or bf16)"""

import ctypes as c

from tessera_library import Library
from trainers import SHAPES, serve

COMPUTES = {"f32": 0, "bf16": 3}  # of tsr_compute


class Tessera(Library):
    name = "Tessera"

    def __init__(self, library, device, shape, compute):
        super().__init__(library, device)
        *_, batch, tokens = SHAPES[shape]
        self.training = c.c_void_p()
        self.ok(self.lib.tsr_bench_training_create(f"shape:{shape}".encode(), self.device, batch, c.c_int64(tokens), COMPUTES[compute],
                                                   c.byref(self.training)))
        self.lib.tsr_bench_training_parameters.restype = c.c_int64
        self.parameters = self.lib.tsr_bench_training_parameters(self.training)

    def step(self):
        loss = c.c_double()
        self.ok(self.lib.tsr_bench_training_run(self.training, 1, c.byref(loss), None))
        return loss.value


serve(lambda arguments: Tessera(*arguments))
