#!/usr/bin/env python3
"""Models by name: folders of GGUF files."""

from support.command import GOLDEN, equal, main, refused, run

GGUF = GOLDEN / "gpt2-tiny/model.gguf"


def opened(name, **options):
    """The file or folder that a name opens."""
    return run("info", "-m", name, **options).text.split("\n")[0].split(maxsplit=1)[1].rpartition(" (")[0]


def test_a_folder_of_gguf_files(folder):
    (folder / "m-Q8_0.gguf").symlink_to(GGUF)
    (folder / "mmproj-f16.gguf").symlink_to(GGUF)
    (folder / "README.md").write_text("two")
    equal(opened(folder), f"{folder}/m-Q8_0.gguf")
    (folder / "m-f16.gguf").symlink_to(GGUF)
    refused(2, "give the path of one of m-Q8_0.gguf, m-f16.gguf", "info", "-m", folder)
    (folder / "m.q4_k_m.gguf").symlink_to(GGUF)
    (folder / "m-Q4_K_S.gguf").symlink_to(GGUF)
    equal(opened(folder), f"{folder}/m.q4_k_m.gguf")


main(globals())
