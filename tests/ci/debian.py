#!/usr/bin/env python3
"""debian/: the packages have the project's version, their Python package the metadata of pyproject.toml, and the command
no commit of another repository. ci/debian builds and installs them."""

import email
import re
import subprocess
import sys

from support.command import SOURCE, equal, main, skip

VERSION = re.search(r"project\(tessera VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]


def test_version(_):
    equal(re.match(r"tessera \(([^)]+)\)", (SOURCE / "debian/changelog").read_text())[1], VERSION, "debian/changelog")


def test_licences(_):
    """Each licence that files are under is there: Debian's own copy is named, or there is the legal code, and not a summary of it (lintian, in ci/debian)."""
    paragraphs = [dict(re.findall(r"^(\S+): *(.*(?:\n .*)*)", part, re.M)) for part in (SOURCE / "debian/copyright").read_text().split("\n\n")]
    texts = {name: text for name, _, text in (part["License"].partition("\n") for part in paragraphs if "License" in part and "Files" not in part)}
    for part in paragraphs:
        if "Files" in part:
            text = texts[part["License"]]
            assert "/usr/share/common-licenses/" in text or "liability" in text.lower(), (part, text)


def test_python_package(folder):
    if sys.version_info < (3, 11):
        skip("debian/python-package needs Python 3.11")
    subprocess.run([sys.executable, SOURCE / "debian/python-package", folder], cwd=SOURCE, check=True)
    metadata = email.message_from_string((folder / f"tessera_cl-{VERSION}.dist-info/METADATA").read_text())
    equal((metadata["Name"], metadata["Version"]), ("tessera-cl", VERSION))
    assert any(needed.startswith("numpy") for needed in metadata.get_all("Requires-Dist")), metadata
    assert (folder / "tessera_cl/__init__.py").exists()


def test_commit(folder):
    """A tree that lies in another repository, as ci/debian's do, has no commit of its own."""
    subprocess.run(["cmake", f"-DSOURCE={SOURCE / 'debian'}", f"-DOUT={folder / 'commit.c'}", "-P", SOURCE / "cmake/commit.cmake"], check=True)
    assert 'tsri_cli_commit[] = ""' in (folder / "commit.c").read_text(), (folder / "commit.c").read_text()


main(globals())
