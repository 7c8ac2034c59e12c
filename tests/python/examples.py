#!/usr/bin/env python3
"""The examples in Python, on the reference device: as programs, and as the libraries that they are for use them. Those whose libraries are not installed
are skipped; ci/test installs them."""

import importlib.util
import json
import os
import pickle
import subprocess
import sys

from support import binding  # noqa: F401  # pylint: disable=unused-import
from support.command import SOURCE, equal, main, skip

import numpy as np

EXAMPLES = SOURCE / "examples" / "python"
sys.path.insert(0, str(EXAMPLES))
MODEL, DEVICE = "intents", "reference"
os.environ |= {"PYTHONPATH": str(SOURCE / "python"), "TESSERA_DEVICE": DEVICE}  # of the programs and of the notebook's kernel


def needs(*modules):
    missing = [name for name in modules if not importlib.util.find_spec(name)]
    if missing:
        skip(f"Python has no {' and no '.join(missing)}")


def program(name, *arguments):
    return subprocess.run([sys.executable, EXAMPLES / name, *arguments], check=True, capture_output=True, text=True, timeout=300).stdout


def test_langchain_embeddings(_):
    from langchain_embeddings import SENTENCES, TesseraEmbeddings
    embeddings = TesseraEmbeddings(MODEL, device=DEVICE)
    vectors = embeddings.embed_documents(SENTENCES)
    equal([len(vectors), {type(x) for x in vectors[0]}], [3, {float}])
    equal(embeddings.embed_query(SENTENCES[1]), vectors[1], "a question and a document of the same words")
    assert abs(sum(x * x for x in vectors[0]) - 1) < 1e-5
    equal(len(program("langchain_embeddings.py", "when do you open?", MODEL).splitlines()), 3)


def test_langchain_finds_a_document(_):
    needs("langchain_core")
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_embeddings import SENTENCES, TesseraEmbeddings
    embeddings = TesseraEmbeddings(MODEL, device=DEVICE)
    assert isinstance(embeddings, Embeddings)
    store = InMemoryVectorStore(embeddings)
    store.add_texts(SENTENCES)
    equal(store.similarity_search(SENTENCES[2], k=1)[0].page_content, SENTENCES[2])


def test_a_scikit_learn_pipeline(_):
    needs("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn_sentences import LABELS, TEXTS, SentenceVectors
    vectors = SentenceVectors(MODEL, DEVICE)
    made = vectors.fit_transform(TEXTS)
    equal([made.shape[0], str(made.dtype)], [len(TEXTS), "float32"])
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    equal(vectors.get_params(), {"model": MODEL, "device": DEVICE, "dtype": None})
    for other in (clone(vectors), pickle.loads(pickle.dumps(vectors))):
        assert np.array_equal(other.transform(TEXTS), made), "a copy gives other vectors"
    pipeline = make_pipeline(vectors, LogisticRegression(C=100)).fit(TEXTS, LABELS)
    equal(list(pipeline.predict(TEXTS)), LABELS, "the texts that it learnt")
    equal(len(program("sklearn_sentences.py", MODEL, DEVICE).splitlines()), 2)


def test_the_notebook(folder):
    """Executed as Jupyter does it: no cell fails, and the last one draws a picture."""
    needs("nbclient", "ipykernel", "matplotlib")
    import nbformat
    from nbclient import NotebookClient
    notebook = nbformat.read(EXAMPLES / "attention.ipynb", as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    shown = {cell["id"]: cell.get("outputs", []) for cell in notebook["cells"]}
    equal(shown["sums"][0]["data"]["text/plain"], "True")
    assert any("image/png" in output.get("data", {}) for output in shown["draw"]), shown["draw"]
    equal(all(not cell.get("outputs") for cell in json.loads((EXAMPLES / "attention.ipynb").read_text())["cells"]), True, "the file itself has no outputs")


main(globals())
