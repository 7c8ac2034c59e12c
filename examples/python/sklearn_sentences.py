#!/usr/bin/env python3
"""Sentence vectors as a step of a scikit-learn pipeline: a classifier of texts from a few examples of each label.

    pip install tessera_cl…whl scikit-learn
    python3 examples/python/sklearn_sentences.py [MODEL]

Learns to tell questions about money from questions about travel, and prints the label of two new ones. MODEL: as for tessera_cl.Embedder.
"""

import sys
from typing import Any, Iterable, Optional

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import tessera_cl


class SentenceVectors(TransformerMixin, BaseEstimator):
    """Texts as vectors of length 1, float32 [n, width]. The model is opened when it is first needed; a copy or a pickle opens it again."""

    def __init__(self, model: str = "all-MiniLM-L6-v2", device: Optional[str] = None, dtype: Optional[str] = None) -> None:
        self.model = model
        self.device = device
        self.dtype = dtype

    def fit(self, texts: Iterable[str], labels: Any = None) -> "SentenceVectors":
        return self

    def transform(self, texts: Iterable[str]) -> "np.ndarray":
        if not hasattr(self, "_embedder"):
            self._embedder = tessera_cl.Embedder(self.model, self.device, self.dtype)
        return self._embedder.encode(list(texts), normalize_embeddings=True)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getstate__(self) -> Any:
        return {name: value for name, value in self.__dict__.items() if name != "_embedder"}


TEXTS = ["what is my balance", "transfer fifty dollars", "when is my bill due", "freeze my card", "book a flight to Rome", "is my train late",
         "find a hotel near the sea", "how long is the drive"]
LABELS = ["money"] * 4 + ["travel"] * 4


def main() -> None:
    pipeline = make_pipeline(SentenceVectors(*sys.argv[1:]), LogisticRegression())
    pipeline.fit(TEXTS, LABELS)
    for text in ("pay my rent", "cheapest way to Paris"):
        print(f"{pipeline.predict([text])[0]}  {text}")


if __name__ == "__main__":
    main()
