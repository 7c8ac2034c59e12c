"""CTranslate2: ct2.py FOLDER [dtype=float32|int8] [threads=0]; 0: one for each core"""

import statistics
import time

import ctranslate2
from protocol import cores, serve


class CTranslate2:
    def __init__(self, folder, dtype="float32", threads="0"):
        self.generator = ctranslate2.Generator(folder, intra_threads=int(threads) or cores(), compute_type=dtype)
        self.name = f"CTranslate2 {ctranslate2.__version__} {dtype}"
        self.keys = "f32"

    def generate(self, ids, n):
        begun = time.perf_counter()
        made = self.generator.generate_batch([[f"t{i}" for i in ids]], max_length=n, min_length=n, include_prompt_in_result=False, beam_size=1)
        return made[0].sequences_ids[0][-1], time.perf_counter() - begun

    def prefill(self, ids):
        return self.generate(ids, 1)[0]

    def decode_seconds(self, ids, steps):
        """CTranslate2 can only generate whole texts: the time of steps + 1 tokens minus that of one."""
        return (self.generate(ids, steps + 1)[1] - statistics.median(self.generate(ids, 1)[1] for _ in range(2))) / steps

    def logits(self, ids):
        import numpy as np
        return np.asarray(self.generator.forward_batch([[f"t{i}" for i in ids]]).to_device(ctranslate2.Device.cpu))[0, -1].astype(np.float32)


serve(lambda arguments: CTranslate2(arguments[0], **dict(word.split("=", 1) for word in arguments[1:])))
