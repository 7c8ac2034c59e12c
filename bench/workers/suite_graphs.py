"""ONNX Runtime and OpenVINO for suite_peer.py: prompts without a past, and vectors. Both get the model that transformers reads, traced by PyTorch."""

import os
import pathlib
import time

from protocol import ids_of


class Unsupported(Exception):
    """The engine can't do what it was asked for."""


def traceable(model, encoder):
    """ids [B, T] to logits [B, V] of the last token, or to means [B, C] of the last states."""
    os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
    import torch
    from transformers import AutoModel, AutoModelForCausalLM
    inner = (AutoModel if encoder else AutoModelForCausalLM).from_pretrained(model, dtype=torch.float32)

    class Traced(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, input_ids):
            if encoder:
                return self.inner(input_ids=input_ids).last_hidden_state.mean(1)
            at = torch.arange(input_ids.shape[1])  # transformers' own mask can't be exported
            mask = torch.where(at[None, :] > at[:, None], torch.finfo(torch.float32).min, 0.0)[None, None]
            return self.inner(input_ids=input_ids, attention_mask=mask, position_ids=at[None], use_cache=False, logits_to_keep=1).logits[:, -1]

    return Traced().eval(), torch.ones(2, 16, dtype=torch.long), inner.config.vocab_size


class Graph:
    """What both have in common; `compute(ids)` gives the outputs for an array of ids."""

    compute = rows = vocabulary = None

    def __init__(self, threads):
        import numpy
        import torch  # noqa: F401  # pylint: disable=unused-import  # it traces the model
        self.np, self.threads = numpy, threads

    def open(self, model, work, dtype, gpu, encoder):
        import torch
        self.compute = None
        if dtype not in self.dtypes:
            raise Unsupported(f"weights in {dtype} are not given to it")
        if gpu and not self.has_gpu():
            raise Unsupported("it has no GPU here")
        with torch.no_grad():
            traced, ids, self.vocabulary = traceable(model, encoder)
            self.make(traced, ids, pathlib.Path(work), dtype, gpu)

    def outputs(self, ids):
        return self.compute(self.np.array([ids], self.np.int64))[0].tolist()

    logits = vector = outputs

    def begin(self, kind, tokens, depth, batch):
        if kind not in ("prompt", "embed") or depth:
            raise Unsupported("it is given neither keys and values of earlier tokens nor generation: only prompts without a past, and vectors")
        self.rows = self.np.array([[i % self.vocabulary for i in ids_of(tokens)]] * batch, self.np.int64)

    def run(self):
        begun = time.perf_counter()
        self.compute(self.rows)
        return time.perf_counter() - begun


class OnnxRuntime(Graph):
    """f32, and for q8 its own dynamic quantisation of weights to int8."""

    dtypes = ("f32", "q8")

    def __init__(self, threads):
        super().__init__(threads)
        import onnxruntime
        import onnx  # noqa: F401  # pylint: disable=unused-import  # torch.onnx.export needs it
        self.ort = onnxruntime
        self.name = f"onnxruntime {onnxruntime.__version__}"

    def has_gpu(self):
        return "CUDAExecutionProvider" in self.ort.get_available_providers()

    def make(self, traced, ids, work, dtype, gpu):
        import torch
        path, eight = work / "model.onnx", work / "model.int8.onnx"
        axes = {"input_ids": {0: "b", 1: "t"}, "out": {0: "b"}}
        if not path.exists():
            torch.onnx.export(traced, (ids,), str(path), input_names=["input_ids"], output_names=["out"], dynamic_axes=axes, opset_version=17, dynamo=False)
        if dtype == "q8":
            from onnxruntime.quantization import QuantType, quantize_dynamic
            quantize_dynamic(str(path), str(eight), weight_type=QuantType.QInt8)
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 3
        session = self.ort.InferenceSession(str(eight if dtype == "q8" else path), options,
                                            providers=["CUDAExecutionProvider"] * gpu + ["CPUExecutionProvider"])
        self.compute = lambda rows: session.run(None, {"input_ids": rows})[0]


class OpenVino(Graph):
    """f32, and f16, which its GPUs compute in."""

    dtypes = ("f32", "f16")

    def __init__(self, threads):
        super().__init__(threads)
        import openvino
        self.openvino = openvino
        self.core = openvino.Core()
        self.name = f"openvino {openvino.__version__.split('-')[0]}"

    def has_gpu(self):
        return any(name.startswith("GPU") for name in self.core.available_devices)

    def make(self, traced, ids, work, dtype, gpu):  # pylint: disable=unused-argument  # it needs no files of its own
        if dtype == "f16" and not gpu:
            raise Unsupported("weights in f16 are not given to it on a CPU")
        hints = {"INFERENCE_PRECISION_HINT": dtype, "PERFORMANCE_HINT": "LATENCY", **({} if gpu else {"INFERENCE_NUM_THREADS": self.threads})}
        graph = self.openvino.convert_model(traced, example_input={"input_ids": ids})
        request = self.core.compile_model(graph, "GPU" if gpu else "CPU", hints).create_infer_request()
        self.compute = lambda rows: request.infer([rows])[0]
