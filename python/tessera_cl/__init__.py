"""Tessera: transformers on any OpenCL device.

    from tessera_cl import Model
    with Model("shakespeare") as model:
        print(model.generate("ROMEO:", max_tokens=40))

Model, Embedder, Classifier, CrossEncoder, Answerer, Ranker, FillMask and Translator open a model on a device; `devices()` lists these,
and `notes()` says why others are missing. Errors are the classes of `tessera_cl.errors`. Lines for the user go to the logger "tessera_cl". Calls
release the interpreter's lock while they run; objects of one device run one call at a time. Fork before the first call, not after it.
"""

from ._declarations import (DeviceFacts, EmbedderInfo, ExplainedOp, ExplainedVariant, ModelInfo, ModelMemory, Perplexity, Profiled, TrainEvent, TrainPlan,
                            TrainResult, VerifyResult, VerifySummary)
from ._device import Device, DeviceInfo, devices, notes
from ._generate import Chat, Generation, Model, Sampling, Token
from ._library import lib as _lib
from ._measure import Verified, bench, explain, recipes, train, verify
from ._model import Attention, AttentionMap, Session, Tokenizer, models
from ._texts import Answer, Answerer, Classifier, CrossEncoder, Embedder, Filled, FillMask, Label, Ranked, Ranker, Span
from ._translate import TranslationResult, Translator
from .errors import (ArgumentError, BuildError, CancelledError, DeviceError, DeviceMemoryError, FileError, FormatError, HostMemoryError, InternalError,
                     PeerError, StateError, TesseraError, UnsupportedError)

__version__: str = _lib.tsr_version().decode()

__all__ = [
    "Answer", "Answerer", "ArgumentError", "Attention", "AttentionMap", "BuildError", "CancelledError", "Chat", "Classifier", "CrossEncoder", "Device", "DeviceError",
    "DeviceFacts", "DeviceInfo", "DeviceMemoryError", "Embedder", "EmbedderInfo", "ExplainedOp", "ExplainedVariant", "FileError", "FillMask", "Filled",
    "FormatError", "Generation", "HostMemoryError", "InternalError", "Label", "Model", "ModelInfo", "ModelMemory", "PeerError", "Perplexity", "Profiled",
    "Ranked", "Ranker", "Sampling", "Session", "Span", "StateError", "TesseraError", "Token", "Tokenizer", "TrainEvent", "TrainPlan", "TrainResult", "TranslationResult",
    "Translator", "UnsupportedError", "Verified", "VerifyResult", "VerifySummary", "bench", "devices", "explain", "models", "notes", "recipes", "train", "verify",
]
