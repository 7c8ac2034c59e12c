#!/usr/bin/env python3
"""Weights that are larger than one buffer of a device: a layer reports small buffers, and refuses larger ones."""

from support.command import BUILD, PLAY, environment, equal, has_device, main, run, skip, small_buffers

ASKED = ("generate", "-m", PLAY, "-d", "pocl", "--temp", "0", "-n", "12", "-c", "32", "--print-ids", "ROMEO:")


def small(most, *others):
    return environment(**small_buffers(most, *others))


def test_the_same_tokens(_):
    """393 KB of embeddings, tied to the output, and 295 KB of the feed-forward matrices, in halves."""
    for most, *options in ((260000,), (100000, "--dtype", "q8")):
        parts = run(*ASKED, *options, env=small(most))
        equal(parts.out, run(*ASKED, *options).out, f"{most} bytes {options}")
        assert "small_layer:" not in parts.err and "reference" not in parts.err, parts.err


def test_on_a_gpu(_):
    whole = run(*ASKED, env=environment(OPENCL_LAYERS=BUILD / "tests/gpu_layer.so")).out
    parts = run(*ASKED, env=small(260000, "gpu"))
    equal(parts.out, whole)
    assert "small_layer:" not in parts.err, parts.err


def test_activations_in_several_buffers(_):
    """A prompt of up to 64 tokens has 344 KB of activations, of which 131 KB are the largest."""
    asked = [*ASKED[:-1], "the king and his lord said to the queen of the house that no man should go " * 3, "-c", "80", "-n", "3"]
    for layers in ((), ("gpu",)):
        whole = run(*asked, env=environment(OPENCL_LAYERS=BUILD / "tests/gpu_layer.so") if layers else None).out
        parts = run(*asked, env=small(200000, *layers))
        equal(parts.out, whole, layers)
        assert "small_layer:" not in parts.err, parts.err


def test_what_can_not_be_split(_):
    text = run(*ASKED, env=small(30000), code=4).err
    assert "weight layers.0.down.weight needs 0 MiB in one buffer" in text, text
    text = run(*ASKED, "-c", "512", "-n", "250", env=small(100000), code=4).err
    assert "keys and values of a layer need" in text and "tokens fit (-c)" in text, text


if not has_device("pocl"):
    skip("pocl is not installed")
main(globals())
