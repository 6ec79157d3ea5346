"""Making systems by name, by entry point and by import."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from memgauge.errors import InputError
from memgauge.systems import fingerprint, list_systems, make_system, registry, system_name
from memgauge.systems.known.common import Known

KNOWN = {name for name, where in registry.BUILT_IN.items() if ".known." in where and "lane_map" not in where}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, with modules that are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.invalidate_caches()
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("user_"):
            del sys.modules[name]


MINE = """
from __future__ import annotations

class Memory:
    def write(self, observation): ...
    def read(self, question): ...

class Mine:
    "Remembers little."
    version = 3
    def __init__(self, size: int = 8, note: str = ""):
        self.size, self.note = size, note
    def start(self, seed):
        return Memory()

class Named(Mine):
    @property
    def name(self):
        return f"named-{self.size}"

def factory():
    return Mine(99)

ready = Mine(7)

class Batch:
    def read_batch(self, batch): ...

class NoSystem:
    pass

class Broken:
    def __init__(self):
        raise KeyError("no weights")
"""


def test_every_built_in_is_made_by_its_own_name() -> None:
    given = {"window": ":bits=64", "blocks": ":bits=64", "bloom": ":bits=64", "trigram-bloom": ":bits=64",
             "ngram-set": ":n=2", "lz78": ":bits=64", "codec": ":bits=64"}  # fmt: skip
    for name in registry.BUILT_IN:
        if name not in KNOWN:
            continue
        spec = name + given.get(name, "")
        system = make_system(spec)
        assert isinstance(system, Known)
        assert system.name == spec == system_name(system, spec)
        assert make_system(system.name) == system
        assert fingerprint(system, spec) == f"{spec} version={system.version}"


def test_names_are_canonical() -> None:
    assert make_system("bloom:design_length=1024,bits=64").name == "bloom:bits=64"
    assert make_system("bloom:design_length=64,bits=64").name == "bloom:bits=64,design_length=64"
    assert make_system("codec:codec=zstd,bits=64").name == "codec:bits=64,codec=zstd"
    for same in ("oracle", "oracle:accuracy=.9", "oracle:accuracy=0.900"):
        system = make_system(same)
        assert system.name == "oracle"
        assert fingerprint(system, same) == "oracle version=1"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("windw:bits=4", "unknown system 'windw'; did you mean 'window'"),
        ("window", "window needs the parameter 'bits': write window:bits=..."),
        ("window:bit=4", "unknown parameter of window 'bit'; did you mean 'bits'?"),
        ("window:bits=many", "parameter 'bits' must be a whole number"),
        ("window:bits=3", "bits must lie in 4 .. 2147483648 (one symbol takes 4), got 3"),
        ("window:bits=-8", "got -8"),
        ("window:bits=99999999999", "bits must lie in"),
        ("blocks:bits=20", "one block takes 24"),
        ("blocks:bits=20,block=0", "block must lie in"),
        ("bloom:bits=7", "bits must lie in"),
        ("bloom:bits=64,design_length=5", "design_length must lie in"),
        ("trigram-bloom:bits=0", "bits must lie in"),
        ("ngram-set:n=4", "n must lie in 1 .. 3, got 4"),
        ("lz78:bits=1", "the first phrase takes 4"),
        ("codec:bits=64,codec=zlip", "did you mean 'zlib'?"),
        ("coin:p=1.5", "p must lie in 0 .. 1, got 1.5"),
        ("coin:p=nan", "p must lie in 0 .. 1, got nan"),
        ("oracle:accuracy=-0.1", "accuracy must lie in"),
        ("exact:bits=4", "exact takes no parameters"),
    ],
)
def test_bad_specs(spec: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        make_system(spec)
    assert says in str(caught.value)


def test_imports(project: Path) -> None:
    (project / "user_mine.py").write_text(MINE)
    system = make_system("import:user_mine:Mine:size=12,note='a,b'")
    assert (system.size, system.note) == (12, "a,b")
    assert system_name(system, "import:user_mine:Mine:note='a,b',size=12") == "import:user_mine:Mine:note='a,b',size=12"
    assert (
        system_name(make_system("import:user_mine:Mine:size=8"), "import:user_mine:Mine:size=8")
        == "import:user_mine:Mine"
    )
    assert system_name(make_system("import:user_mine:Named"), "import:user_mine:Named") == "named-8"
    assert make_system("import:user_mine:factory").size == 99
    assert make_system("import:user_mine:ready").size == 7
    assert system_name(make_system("import:user_mine:ready"), "import:user_mine:ready") == "import:user_mine:ready"
    assert callable(make_system("import:user_mine:Batch").read_batch)
    assert str(project) in sys.path


def test_fingerprint_of_an_import_follows_its_source(project: Path) -> None:
    (project / "user_mine.py").write_text(MINE)
    spec = "import:user_mine:Mine"
    system = make_system(spec)
    first = fingerprint(system, spec)
    assert first.startswith("import:user_mine:Mine version=3 sha256=")
    (project / "user_mine.py").write_text(MINE + "\n# changed\n")
    assert fingerprint(system, spec) != first
    (project / "user_mine.py").write_text(MINE)
    assert fingerprint(system, spec) == first


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("import:user_absent:Mine", "importing user_absent failed with ModuleNotFoundError: No module named"),
        ("import:user_mine:Mino", "unknown name in user_mine 'Mino'; did you mean 'Mine'?"),
        ("import:user_mine:NoSystem", "NoSystem is no memory system: it has neither start(seed) nor read_batch(batch)"),
        ("import:user_mine:Broken", "making the system failed with KeyError: 'no weights'"),
        ("import:user_mine:Mine:size=big", "parameter 'size' must be a whole number"),
        ("import:user_mine:ready:size=3", "it takes no parameters"),
        ("import:user_raises:X", "importing user_raises failed with ZeroDivisionError: division by zero"),
        ("import:user_exits:X", "importing user_exits failed with SystemExit: 3"),
        ("import:user_syntax:X", "importing user_syntax failed with SyntaxError"),
    ],
)
def test_imports_that_fail(project: Path, spec: str, says: str) -> None:
    (project / "user_mine.py").write_text(MINE)
    (project / "user_raises.py").write_text("1 / 0\n")
    (project / "user_exits.py").write_text("raise SystemExit(3)\n")
    (project / "user_syntax.py").write_text("def (:\n")
    with pytest.raises(InputError) as caught:
        make_system(spec)
    assert says in str(caught.value)


def test_entry_points(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "user_mine.py").write_text(MINE)
    sys.path.insert(0, str(project))
    points = [
        EntryPoint("theirs", "user_mine:Mine", registry.GROUP),
        EntryPoint("broken", "user_absent:Mine", registry.GROUP),
        EntryPoint("exact", "user_mine:Mine", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    system = make_system("theirs:size=4")
    assert system.size == 4
    assert system_name(system, "theirs:size=4") == "theirs:size=4"
    assert fingerprint(system, "theirs:size=4").startswith("theirs:size=4 version=3 sha256=")
    assert isinstance(make_system("exact"), Known), "a built-in name cannot be taken over"
    with pytest.raises(InputError, match="importing user_absent failed"):
        make_system("broken")
    listed = {entry["name"]: entry for entry in list_systems()}
    assert listed["theirs"]["description"] == "Remembers little."
    assert [p["name"] for p in listed["theirs"]["parameters"]] == ["size", "note"]
    assert listed["broken"]["description"].startswith("cannot be loaded: broken: importing user_absent failed")
    with pytest.raises(InputError, match="did you mean 'theirs'"):
        make_system("thiers")


def test_the_list_tells_all_parameters() -> None:
    listed: dict[str, Any] = {entry["name"]: entry for entry in list_systems()}
    assert set(registry.BUILT_IN) <= set(listed)
    for entry in listed.values():
        assert entry["description"]
        json.dumps(entry)
        for parameter in entry["parameters"]:
            assert set(parameter) == {"name", "type", "default", "required", "help"}
    for name in registry.BUILT_IN:
        if name in KNOWN:
            assert all(parameter["help"] for parameter in listed[name]["parameters"])
    codec = listed["codec"]["parameters"]
    assert codec[0] == {
        "name": "bits", "type": "int", "default": None, "required": True, "help": "largest compressed size in bits",
    }  # fmt: skip
    assert (codec[1]["type"], codec[1]["default"]) == ("zlib|lzma|zstd|brotli", "zlib")
    assert "PRIVILEGED" in listed["oracle"]["description"]
    assert list(listed) == sorted(listed)
