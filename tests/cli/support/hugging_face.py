"""PyTorch and transformers for tests that compare with them; importing this skips the test where they are missing."""

import os

from .command import skip

os.environ.update(TRANSFORMERS_OFFLINE="1", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1")
try:
    import numpy as np
    import torch
    import transformers as hf
    from safetensors.numpy import load_file
except ImportError as error:
    skip(f"{error.name} is missing (pip install torch transformers safetensors)")
if not hasattr(hf.LlamaConfig(), "rope_parameters"):
    skip(f"transformers 5 or later is needed; this is {hf.__version__}")
torch.set_num_threads(1)
hf.logging.disable_progress_bar()

__all__ = ["hf", "load_file", "np", "torch"]
