"""PyTorch by transformers: pytorch.py FOLDER [dtype=f32|bf16|int8] [threads=0]; threads 0: one for each core"""

import os
import warnings

from protocol import cores, serve

warnings.filterwarnings("ignore")
os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
os.environ.setdefault("OMP_PROC_BIND", "true")


class Torch:
    def __init__(self, folder, dtype="f32", threads="0"):
        import torch
        from transformers import AutoModelForCausalLM
        torch.set_num_threads(int(threads) or cores())
        torch.set_grad_enabled(False)
        self.torch = torch
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        if dtype == "bf16":
            self.model = self.model.bfloat16()
        if dtype == "int8":
            torch.backends.quantized.engine = "onednn"
            self.model = torch.ao.quantization.quantize_dynamic(self.model, {torch.nn.Linear}, dtype=torch.qint8)
        self.name = f"PyTorch {torch.__version__} {'dynamic int8' if dtype == 'int8' else dtype}"
        self.past, self.keys = None, "bf16" if dtype == "bf16" else "f32"

    def run(self, ids, past):
        with self.torch.inference_mode():
            out = self.model(self.torch.tensor([ids]), past_key_values=past, use_cache=True, logits_to_keep=1)
        self.past = out.past_key_values
        return out.logits[0, -1]

    def prefill(self, ids):
        return int(self.run(ids, None).argmax())

    def step(self, token, _):
        return int(self.run([token], self.past).argmax())

    def logits(self, ids):
        return self.run(ids, None).float().tolist()


serve(lambda arguments: Torch(arguments[0], **dict(word.split("=", 1) for word in arguments[1:])))
