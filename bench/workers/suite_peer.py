"""Another engine for `tessera bench suite --peer`: suite_peer.py THREADS llama.cpp|onnxruntime|openvino|pytorch. THREADS 0: one for each core.

Each line of JSON on the standard input is answered by one on the standard output; the first line is {"engine": name and version}.

    {"do": "open", "model": FOLDER, "work": FOLDER, "dtype": "q8", "gpu": false,   a model in Hugging Face's layout; work: for the engine's own files.
     "encoder": false}                                                             The answer may have a "note" for all rows
    {"do": "logits", "ids": [..]}                                                  {"logits": [..]}, those of the last token
    {"do": "vector", "ids": [..]}                                                  {"vector": [..]}: of an encoder, the mean of the last states
    {"do": "begin", "kind": "prompt", "tokens": 512, "depth": 0, "batch": 1}       prepares what "run" measures
    {"do": "run"}                                                                  {"seconds": s, "memory": bytes}; of a request, also "first": seconds to
                                                                                   its first token

A prompt is `tokens` tokens of each of `batch` sequences at once, behind `depth` others; "generate" makes that many one after the other; a "request"
is a prompt of `depth` tokens and what follows, up to `tokens` tokens; "embed" makes the vectors of `batch` texts of `tokens` tokens. A failure is {"error": sentence}, with "unsupported": true where the engine
can't do that at all.
"""

import importlib.metadata
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from protocol import cores, ids_of, memory
from suite_graphs import OnnxRuntime, OpenVino, Unsupported


class LlamaCpp:
    """llama.cpp through its C interface; keys and values in f16 and its own choice of attention, as are its defaults."""

    def __init__(self, threads):
        import llama_cpp
        self.lib, self.threads, self.engine, self.job = llama_cpp, threads, None, None
        self.name = f"llama.cpp (llama-cpp-python {importlib.metadata.version('llama-cpp-python')})"

    def open(self, model, work, dtype, gpu, encoder):
        import gguf_llama
        self.close()
        if encoder:
            raise Unsupported("encoders are not given to it")
        if dtype not in gguf_llama.TYPES:
            raise Unsupported(f"weights in {dtype} are not given to it")
        if gpu and not self.lib.llama_supports_gpu_offload():
            raise Unsupported("it was built without a GPU's backend")
        self.path, self.gpu = pathlib.Path(work) / f"{dtype}.gguf", gpu
        if not self.path.exists():
            try:
                gguf_llama.write(model, self.path, dtype)
            except NotImplementedError as error:
                raise Unsupported(str(error)) from None
        self.packed = gpu or self.packs()
        return {} if self.packed else {"note": "without its layouts for this processor: it ends by itself with this model in them"}

    def packs(self):
        """Whether a few tokens go through the layouts that it makes for the processor: of some sizes it ends the process. So another one tries."""
        tried = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("llamacpp.py"), self.path, f"threads={self.threads}", "context=256"],
                               input=b'{"do": "prefill", "n": 8}\n', stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        return tried.returncode == 0 and b"seconds" in tried.stdout

    def close(self):
        if self.engine:
            self.engine.close()
        self.engine = None

    def context(self, tokens, sequences=1):
        """A new context of so many tokens in each sequence: plans and memory of another size would not be as fast."""
        from llamacpp import LlamaCpp as Engine
        self.close()
        self.engine = Engine(str(self.path), flash="-1", threads=str(self.threads), context=str(-(-tokens // 256) * 256), gpu=str(int(self.gpu)),
                             packed=str(int(self.packed)), sequences=str(sequences))

    def logits(self, ids):
        self.context(len(ids))
        return self.engine.logits(ids)

    def begin(self, kind, tokens, depth, batch):
        self.context(tokens + depth, batch)
        self.job = (kind, tokens, depth, batch)
        if depth and kind != "request":
            self.read(self.ids(depth), 0, batch)

    def read(self, ids, past, batch):
        """One sequence as llama-bench gives it, several as llama-batched-bench does."""
        if batch > 1:
            self.engine.read_batch(ids, past, batch)
        else:
            self.engine.read(ids)

    def ids(self, n):
        return [i % self.engine.vocabulary for i in ids_of(n)]

    def run(self):
        kind, tokens, depth, batch = self.job
        past = 0 if kind == "request" else depth
        self.engine.rewind(past)
        ids, self.first = self.ids(max(tokens, depth)), None
        begun = time.perf_counter()
        if kind == "prompt":
            self.read(ids[:tokens], past, batch)
            return time.perf_counter() - begun
        if kind == "request":
            self.read(ids[:depth], 0, batch)
            past, self.first = depth, time.perf_counter() - begun
        for at in range(tokens - (kind == "request")):
            self.read([ids[at]], past + at, batch)
        return time.perf_counter() - begun


class PyTorch:
    """PyTorch through transformers: f32, f16, and for q8 its own dynamic quantisation to int8."""

    def __init__(self, threads):
        os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
        os.environ.setdefault("OMP_PROC_BIND", "true")
        import torch
        import transformers
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch, self.model, self.job, self.past = torch, None, None, None
        self.name = f"pytorch {torch.__version__} (transformers {transformers.__version__})"

    def open(self, model, work, dtype, gpu, encoder):  # pylint: disable=unused-argument  # it needs no files of its own
        from transformers import AutoModel, AutoModelForCausalLM
        torch = self.torch
        self.model = self.past = None
        if dtype not in ("f32", "f16", "q8") or (gpu and dtype == "q8"):
            raise Unsupported(f"weights in {dtype} are not given to it")
        if gpu and not torch.cuda.is_available():
            raise Unsupported("it has no GPU here")
        self.place = "cuda" if gpu else "cpu"
        kind = AutoModel if encoder else AutoModelForCausalLM
        self.model = kind.from_pretrained(model, dtype=torch.float16 if dtype == "f16" else torch.float32).eval().to(self.place)
        if dtype == "q8":
            torch.backends.quantized.engine = "onednn"
            self.model = torch.ao.quantization.quantize_dynamic(self.model, {torch.nn.Linear}, dtype=torch.qint8)

    def read(self, rows, past):
        """The likeliest next ids [batch, 1] and the keys and values; waits for the device."""
        with self.torch.inference_mode():
            out = self.model(rows, past_key_values=past, use_cache=True, logits_to_keep=1)
            ids = out.logits[:, -1:].argmax(-1)
            int(ids[0, 0])
        return ids, out.past_key_values

    def rows(self, n, batch):
        vocabulary = self.model.config.vocab_size
        return self.torch.tensor([[i % vocabulary for i in ids_of(n)]] * batch, device=self.place)

    def logits(self, ids):
        with self.torch.inference_mode():
            return self.model(self.torch.tensor([ids], device=self.place), logits_to_keep=1).logits[0, -1].float().tolist()

    def embed(self, rows):
        with self.torch.inference_mode():
            return self.model(rows).last_hidden_state.mean(1).float().cpu()

    def vector(self, ids):
        return self.embed(self.torch.tensor([ids], device=self.place))[0].tolist()

    def begin(self, kind, tokens, depth, batch):
        self.job, self.past = (kind, tokens, depth, batch), None
        if depth and kind != "request":
            self.past = self.read(self.rows(depth, batch), None)[1]

    def run(self):
        kind, tokens, depth, batch = self.job
        if kind == "embed":
            rows = self.rows(tokens, batch)
            begun = time.perf_counter()
            self.embed(rows)
            return time.perf_counter() - begun
        past = self.past
        if past is not None and past.get_seq_length() > depth:
            past.crop(depth - past.get_seq_length())
        rows = self.rows(depth if kind == "request" else tokens if kind == "prompt" else 1, batch)
        begun = time.perf_counter()
        rows, past = self.read(rows, past)
        self.first = time.perf_counter() - begun if kind == "request" else None
        for _ in range(0 if kind == "prompt" else tokens - 1):
            rows, past = self.read(rows, past)
        return time.perf_counter() - begun


ENGINES = {"llama.cpp": LlamaCpp, "pytorch": PyTorch, "onnxruntime": OnnxRuntime, "openvino": OpenVino}


def answer(engine, request):
    do = request.pop("do")
    if do == "run":
        said, first = {"seconds": engine.run(), "memory": memory(None)["bytes"]}, getattr(engine, "first", None)
        return said if first is None else {**said, "first": first}
    if do in ("logits", "vector"):
        return {do: [float(x) for x in getattr(engine, do)(**request)]}
    if do not in ("open", "begin"):
        return {"error": f"no request has the name {do}"}
    return getattr(engine, do)(**request) or {}


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # an engine's own output must not be taken for an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this ends it
    threads, name = int(sys.argv[1]) or cores(), sys.argv[2]
    try:
        engine = ENGINES[name](threads)
    except ImportError as error:
        print(json.dumps({"error": f"it is not installed for {sys.executable} ({error}): tools/peers installs it", "unsupported": True}),
              file=answers)
        return
    print(json.dumps({"engine": engine.name}), file=answers)
    for line in sys.stdin:
        try:
            said = answer(engine, json.loads(line))
        except Unsupported as error:
            said = {"error": str(error), "unsupported": True}
        except Exception as error:  # pylint: disable=broad-except  # any exception of a peer becomes its answer
            said = {"error": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps(said), file=answers)


if __name__ == "__main__":
    main()
