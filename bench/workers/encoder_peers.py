"""Peers of an encoder: encoder_peers.py ENGINE MODEL FILE [threads=0]; and encoder_peers.py make MODEL FOLDER

ENGINE is torch-f32, torch-bf16 or torch-int8 (FILE is not read), ort (FILE is ONNX, in f32 or int8), openvino-f32, openvino-bf16, ct2-f32 or ct2-int8 (FILE is a CTranslate2
folder). Tokens come from the tokenizers package; the time includes the mean over the tokens that are not padding, and the normalisation. `make` writes minilm.onnx,
minilm.int8.onnx and minilm-ct2 for these engines. threads 0: one for each core.
"""

import os
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1",
                  TOKENIZERS_PARALLELISM="false")
import numpy as np  # noqa: E402
from protocol import cores  # noqa: E402


def make(model, folder):
    """Makes the files with the peers' own tools: PyTorch's exporter for ONNX, dynamic quantisation of weights for int8, CTranslate2's converter."""
    import torch
    from transformers import AutoModel
    folder = pathlib.Path(folder)
    encoder = AutoModel.from_pretrained(model, attn_implementation="eager").eval()

    class States(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = encoder

        def forward(self, input_ids, attention_mask):
            return self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    ids, path = torch.ones(2, 16, dtype=torch.long), folder / "minilm.onnx"
    axes = {0: "b", 1: "t"}
    with torch.no_grad():
        torch.onnx.export(States(), (ids, ids), str(path), input_names=["input_ids", "attention_mask"], output_names=["h"],
                          dynamic_axes={"input_ids": axes, "attention_mask": axes}, opset_version=17, dynamo=False)
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(str(path), str(folder / "minilm.int8.onnx"), weight_type=QuantType.QInt8)
    from ctranslate2.converters import TransformersConverter
    TransformersConverter(model).convert(str(folder / "minilm-ct2"), force=True)


class Peer:
    def __init__(self, model):
        from tokenizers import Tokenizer
        self.tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def encode(self, texts):
        """Ids and mask, padded to the longest."""
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        ids, mask = (np.zeros((len(rows), max(map(len, rows))), np.int64) for _ in range(2))
        for i, row in enumerate(rows):
            ids[i, :len(row)] = row
            mask[i, :len(row)] = 1
        return ids, mask

    def embed(self, texts):
        ids, mask = self.encode(texts)
        states = self.states(ids, mask)
        full = mask.all()
        pooled = states.mean(1) if full else (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


class Torch(Peer):
    def __init__(self, model, threads, kind):
        super().__init__(model)
        import torch
        from transformers import AutoModel
        torch.set_num_threads(threads)
        self.torch, self.encoder = torch, AutoModel.from_pretrained(model).eval()
        if kind == "bf16":
            self.encoder = self.encoder.to(torch.bfloat16)
        if kind == "int8":
            torch.backends.quantized.engine = "onednn"
            self.encoder = torch.ao.quantization.quantize_dynamic(self.encoder, {torch.nn.Linear}, dtype=torch.qint8)
        self.name = f"PyTorch {torch.__version__} {'dynamic int8' if kind == 'int8' else kind}"

    def states(self, ids, mask):
        with self.torch.inference_mode():
            return self.encoder(input_ids=self.torch.from_numpy(ids), attention_mask=self.torch.from_numpy(mask)).last_hidden_state.float().numpy()


class OnnxRuntime(Peer):
    def __init__(self, model, file, threads):
        super().__init__(model)
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        self.name = f"ONNX Runtime {onnxruntime.__version__} {'int8' if 'int8' in file else 'f32'}"

    def states(self, ids, mask):
        return self.session.run(None, {"input_ids": ids, "attention_mask": mask})[0]


class OpenVino(Peer):
    def __init__(self, model, file, threads, kind):
        super().__init__(model)
        import openvino
        core = openvino.Core()
        hints = {"INFERENCE_PRECISION_HINT": kind, "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        self.request = core.compile_model(core.read_model(file), "CPU", hints).create_infer_request()
        self.name = f"OpenVINO {openvino.__version__.split('-')[0]} {kind}"

    def states(self, ids, mask):
        return self.request.infer({"input_ids": ids, "attention_mask": mask})[0]


class CTranslate2(Peer):
    def __init__(self, model, folder, threads, int8):
        super().__init__(model)
        import ctranslate2
        self.encoder = ctranslate2.Encoder(folder, intra_threads=threads, compute_type="int8" if int8 else "float32")
        self.name = f"CTranslate2 {ctranslate2.__version__} {'int8' if int8 else 'f32'}"

    def states(self, ids, mask):
        rows = [row[:count].tolist() for row, count in zip(ids, mask.sum(1))]
        return np.array(self.encoder.forward_batch(rows).last_hidden_state)


def engine(arguments):
    kind, model, file = arguments[:3]
    threads = int(dict(word.split("=", 1) for word in arguments[3:]).get("threads", "0")) or cores()
    if kind.startswith("torch"):
        return Torch(model, threads, kind.split("-")[1])
    if kind.startswith("ct2"):
        return CTranslate2(model, file, threads, kind.endswith("int8"))
    if kind.startswith("openvino"):
        return OpenVino(model, file, threads, kind.split("-")[1])
    return OnnxRuntime(model, file, threads)


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(*sys.argv[2:4])
    else:
        from encoders import serve
        serve(engine)
