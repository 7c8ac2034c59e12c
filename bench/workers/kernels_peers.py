"""Peers for single ops: one JSON request per line, one answer per line, as in bench/kernels.

    {"engine": "openblas|torch|ort|torch-int8|ort-int8", "m": 512, "n": 768, "k": 768, "seconds": 0.3}   y = x w^T, float32 in and out
    {"engine": "torch-attention", "t": 512, "h": 12, "d": 64, "causal": 1, "seconds": 0.3}
    {"engine": "torch-attention-grad", "b": 16, "t": 256, "h": 6, "d": 64, "causal": 1, "seconds": 0.3}   forward and backward

An answer has median_ns, best_ns and max_error: the largest difference from double, in units of the sum of the terms' magnitudes. int8 engines
quantise x while they run, and that time counts.
"""

import ctypes
import json
import os
import pathlib
import statistics
import sys
import time
import warnings

if " avx512vl " in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
    # OpenBLAS 0.3.21 does not know newer CPUs, and falls back to SSE3. It believes what it is told: without these instructions it would end.
    os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
os.environ.setdefault("OPENBLAS_NUM_THREADS", str(len(os.sched_getaffinity(0))))
os.environ.setdefault("OMP_PROC_BIND", "true")
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402

THREADS = len(os.sched_getaffinity(0))


def numbers(rows, columns, seed):
    return np.random.default_rng(seed).standard_normal((rows, columns), dtype=np.float32)


def openblas(x, w):
    lib = ctypes.CDLL("libopenblas.so.0")
    lib.openblas_set_num_threads(THREADS)
    (M, K), N = x.shape, w.shape[0]
    y = np.empty((M, N), np.float32)
    p = ctypes.c_void_p
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    return lambda: lib.cblas_sgemm(101, 111, 112, M, N, K, one, p(x.ctypes.data), K, p(w.ctypes.data), K, zero, p(y.ctypes.data), N), lambda: y


def torch_linear(x, w, quantised):
    import torch
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    layer = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
    layer.weight = torch.nn.Parameter(torch.from_numpy(w))
    if quantised:
        torch.backends.quantized.engine = "onednn"
        layer = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(layer), {torch.nn.Linear}, dtype=torch.qint8)
    given, kept = torch.from_numpy(x), []

    def run():
        kept[:] = [layer(given)]
    return run, lambda: kept[0].numpy()


def onnxruntime(x, w, quantised):
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
    columns = np.ascontiguousarray(w.T)
    if quantised:
        scale = np.float32(np.abs(columns).max() / 127)
        weights = [numpy_helper.from_array(np.rint(columns / scale).astype(np.int8), "w"), numpy_helper.from_array(np.array([scale], np.float32), "s")]
        node = helper.make_node("DynamicQuantizeMatMul", ["x", "w", "s"], ["y"], domain="com.microsoft")
    else:
        weights = [numpy_helper.from_array(columns, "w")]
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(x.shape))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [x.shape[0], w.shape[0]])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    onnx.checker.check_model(model) if not quantised else None
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    kept = []

    def run():
        kept[:] = session.run(None, {"x": x})
    return run, lambda: kept[0]


MATMULS = {"openblas": openblas, "torch": lambda x, w: torch_linear(x, w, False), "torch-int8": lambda x, w: torch_linear(x, w, True),
           "ort": lambda x, w: onnxruntime(x, w, False), "ort-int8": lambda x, w: onnxruntime(x, w, True)}
made = {}


def matmul(r):
    x, w = numbers(r["m"], r["k"], 1), numbers(r["n"], r["k"], 2)
    run, result = MATMULS[r["engine"]](x, w)
    run()
    rows = slice(0, min(16, r["m"]))
    want = x[rows].astype(np.float64) @ w.T.astype(np.float64)
    terms = np.abs(x[rows]).astype(np.float64) @ np.abs(w.T).astype(np.float64)
    return run, float((np.abs(result()[rows] - want) / terms).max()), 2 * r["m"] * r["n"] * r["k"]


def attention(r):
    import torch
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    T, H, D = r["t"], r["h"], r["d"]
    q, k, v = (torch.randn(1, H, T, D) for _ in range(3))
    kept = []

    def run():
        kept[:] = [torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(r.get("causal")))]
    run()
    want = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=bool(r.get("causal")))
    pairs = T * (T + 1) / 2 if r.get("causal") else T * T
    return run, float((kept[0] - want).abs().max()), 4 * pairs * H * D


def attention_grad(r):
    """Forward and backward, as in a training step."""
    import torch
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(True)
    B, T, H, D = r["b"], r["t"], r["h"], r["d"]
    product = torch.randn(B, T, 3 * H * D, requires_grad=True)  # q, k and v are slices of it
    dy = torch.randn(B, T, H, D).transpose(1, 2)
    kept = []

    def run(product=product, dy=dy):
        q, k, v = (x.view(B, T, H, D).transpose(1, 2) for x in product.split(H * D, 2))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(r.get("causal")))
        kept[:] = torch.autograd.grad(y, product, dy)
    run(product.detach().double().requires_grad_(), dy.double())
    want = kept[0]
    run()
    pairs = T * (T + 1) / 2 if r.get("causal") else T * T
    return run, float((kept[0] - want).abs().max()), 14 * pairs * B * H * D


def answer(r):
    key = json.dumps(r, sort_keys=True)
    if key not in made:
        made.clear()
        made[key] = {"torch-attention": attention, "torch-attention-grad": attention_grad}.get(r["engine"], matmul)(r)
    run, error, flops = made[key]
    times, begun = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begun < r.get("seconds", 0.3):
        at = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - at)
    median = statistics.median(times)
    return {"median_ns": median, "best_ns": min(times), "gflops": flops / median, "max_error": error}


def main():
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            print(json.dumps(answer(json.loads(line))), file=out)
        except Exception as error:  # pylint: disable=broad-except
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=out)


main()
