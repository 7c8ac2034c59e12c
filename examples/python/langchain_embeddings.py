#!/usr/bin/env python3
"""Tessera as LangChain's embeddings: for vector stores, retrievers and whatever else takes an `Embeddings`.

    pip install tessera_cl…whl langchain-core
    python3 examples/python/langchain_embeddings.py "how do I get my money back?" [MODEL]

Prints the sentences below by how near they are to the question. MODEL: as for tessera_cl.Embedder (default: all-MiniLM-L6-v2).
"""

import sys
from typing import Any, List

import tessera_cl

try:
    from langchain_core.embeddings import Embeddings
except ImportError:  # the class has the two methods that LangChain calls; without LangChain they serve as well
    Embeddings = object


class TesseraEmbeddings(Embeddings):
    """Vectors by tessera_cl.Embedder, which takes the same arguments."""

    def __init__(self, model: str = "all-MiniLM-L6-v2", **options: Any) -> None:
        self.embedder = tessera_cl.Embedder(model, **options)

    def embed_documents(self, texts: List[str]) -> List[List[float]]:
        return self.embedder.encode(texts, normalize_embeddings=True).tolist()

    def embed_query(self, text: str) -> List[float]:
        return self.embed_documents([text])[0]


SENTENCES = ["Refunds are paid within five days.", "The office opens at nine.", "Passwords have twelve characters or more."]


def main() -> None:
    question, *model = sys.argv[1:] or ["how do I get my money back?"]
    embeddings = TesseraEmbeddings(*model)
    wanted = embeddings.embed_query(question)
    scores = [sum(a * b for a, b in zip(vector, wanted)) for vector in embeddings.embed_documents(SENTENCES)]
    for score, sentence in sorted(zip(scores, SENTENCES), reverse=True):
        print(f"{score:.3f}  {sentence}")


if __name__ == "__main__":
    main()
