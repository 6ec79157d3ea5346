"""The systems that can be named on the command line, and how they are made.

A name is looked up here first and then among the entry points of the group `memgauge.systems` of installed packages. A
system of one's own needs neither: `import:package.module:Name` imports it, also from the current directory, which is
put in front of `sys.path` for that.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from dataclasses import fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, MemgaugeError, unknown_name
from memgauge.systems.spec import (
    Spec,
    canonical_spec,
    constructor_parameters,
    convert_parameters,
    parse_spec,
    without_secrets,
)

GROUP = "memgauge.systems"
_KNOWN = "memgauge.systems.known"
BUILT_IN: dict[str, str] = {
    "exact": f"{_KNOWN}.exact:Exact",
    "window": f"{_KNOWN}.window:Window",
    "blocks": f"{_KNOWN}.blocks:Blocks",
    "bloom": f"{_KNOWN}.bloom:Bloom",
    "trigram-bloom": f"{_KNOWN}.bloom:TrigramBloom",
    "ngram-set": f"{_KNOWN}.ngram_set:NgramSet",
    "lz78": f"{_KNOWN}.lz78:Lz78",
    "codec": f"{_KNOWN}.codec:Codec",
    "model": "memgauge.systems.models.system:ModelSystem",
    "retrieval": "memgauge.systems.retrieval.system:RetrievalSystem",
    "backbone": "memgauge.systems.backbones.system:BackboneSystem",
    "always-yes": f"{_KNOWN}.stateless:AlwaysYes",
    "always-no": f"{_KNOWN}.stateless:AlwaysNo",
    "always-abstain": f"{_KNOWN}.stateless:AlwaysAbstain",
    "coin": f"{_KNOWN}.stateless:Coin",
    "oracle": f"{_KNOWN}.stateless:Oracle",
    "lane-map": f"{_KNOWN}.lane_map:LaneMap",
}
"""Name to `module:class`; a module is imported when its system is wanted."""


def make_system(spec: str) -> Any:
    """Make the system that `spec` names (see `memgauge.systems.spec`).

    Raises `InputError` for an unknown name or parameter (with the nearest ones), a value of the wrong type or out of
    range, an import that fails, and an object with neither `start` nor `read_batch`; a key that somebody put into the
    spec is not repeated in it.

    >>> make_system("window:bits=1024").name
    'window:bits=1024'
    """
    try:
        return _make(spec)
    except InputError as error:
        said = without_secrets(str(error))
        if said == str(error):
            raise
        raise InputError(said) from None


def _make(spec: str) -> Any:
    parsed = parse_spec(spec)
    make = _resolve(parsed)
    if not callable(make):
        if parsed.parameters:
            raise InputError(f"{parsed.head} is an object, not a class or function: it takes no parameters")
        system = make
    else:
        values = convert_parameters(parsed, make)
        try:
            system = make(**values)
        except MemgaugeError as error:
            raise InputError(f"{spec}: {error}") from error
        except (Exception, SystemExit) as error:
            raise InputError(f"{spec}: making the system failed with {_said(error)}") from error
    if not callable(getattr(system, "start", None)) and not callable(getattr(system, "read_batch", None)):
        raise InputError(
            f"{spec}: {type(system).__name__} is no memory system: it has neither start(seed) nor read_batch(batch)"
        )
    return system


def system_name(system: Any, spec: str) -> str:
    """Return what stands in the `system` column: the object's own `name`, else the canonical spec."""
    try:
        name = getattr(system, "name", None)
    except Exception as error:  # a user's property may raise anything; it is reported, never hidden
        raise InputError(f"{spec}: its name raised {_said(error)}") from error
    if name is None:
        return _canonical(spec)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(f"{spec}: its name is {name!r}; a system's name is a printable text on one line")
    return name


def fingerprint(system: Any, spec: str) -> str:
    """Return a text that changes when the system's answers may: canonical spec, `version`, and for foreign code a hash.

    A system with parameters that leave its answers alone (an address, a budget) says what counts by its `identity`.

    The hash is the SHA-256 of the source file of the module that the spec names; what that file imports is not seen,
    so such a system should raise its `version` when something below it changes.
    """
    parsed = parse_spec(spec)
    own = getattr(system, "identity", None)
    parts = [own if isinstance(own, str) else _canonical(spec), f"version={getattr(system, 'version', None)}"]
    entry = None if parsed.module or parsed.name in BUILT_IN else _entries().get(parsed.name)
    if entry is not None and entry.dist is not None:
        parts.append(f"distribution={entry.dist.name}-{entry.dist.version}")
    module = parsed.module or (entry.module if entry is not None else None)
    if module is not None:
        source = inspect.getsourcefile(_import(module, spec))
        data = Path(source).read_bytes() if source is not None else b""
        parts.append(f"sha256={hashlib.sha256(data).hexdigest()}")
    return " ".join(parts)


def list_systems() -> list[dict[str, Any]]:
    """Return name, description and parameters of every system that can be named, sorted by name.

    A parameter is `{"name", "type", "default", "required", "help"}`; a package whose system cannot be loaded is listed
    with the reason.
    """
    names = sorted(BUILT_IN.keys() | _entries().keys())
    return [_entry(name) for name in names]


def _entry(name: str) -> dict[str, Any]:
    try:
        make = _resolve(Spec(name))
    except InputError as error:
        cause, why = error.__cause__, f"cannot be loaded: {error}"
        if isinstance(cause, ModuleNotFoundError) and name in BUILT_IN:
            extra = "backbones" if ".backbones" in BUILT_IN[name] else "models"
            why = f"needs pip install 'memgauge[{extra}]' (no {cause.name})"
        return {"name": name, "description": why, "parameters": []}
    helps = {f.name: f.metadata.get("help", "") for f in fields(make)} if is_dataclass(make) else {}
    parameters = [
        {
            "name": parameter.name,
            "type": parameter.type_text,
            "default": None if parameter.required else parameter.default,
            "required": parameter.required,
            "help": helps.get(parameter.name, ""),
        }
        for parameter in (constructor_parameters(make)[0] if callable(make) else [])
    ]
    about = getattr(make, "description", None)
    description = about if isinstance(about, str) else (inspect.getdoc(make) or "").split("\n")[0]
    return {"name": name, "description": description, "parameters": parameters}


def _canonical(spec: str) -> str:
    parsed = parse_spec(spec)
    make = _resolve(parsed)
    return canonical_spec(parsed, make) if callable(make) else parsed.head


def _entries() -> dict[str, EntryPoint]:
    """Entry points by name; a name of ours cannot be taken over."""
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}


def _resolve(spec: Spec) -> Any:
    """Return the class, function or object that a spec names."""
    if spec.module is not None and spec.attribute is not None:
        here = str(Path.cwd())
        if here not in sys.path and "" not in sys.path:
            sys.path.insert(0, here)
        return _attribute(_import(spec.module, spec.head), spec.attribute, spec.head)
    if spec.name in BUILT_IN:
        module, _, attribute = BUILT_IN[spec.name].partition(":")
        return _attribute(_import(module, spec.name), attribute, spec.name)  # an extra may be missing
    entries = _entries()
    if spec.name not in entries:
        raise unknown_name("system", spec.name, [*BUILT_IN, *entries, "import"])
    entry = entries[spec.name]
    return _attribute(_import(entry.module, spec.name), entry.attr, spec.name)


def _import(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"{what}: importing {module} failed with {_said(error)}") from error


def _attribute(module: Any, path: str, what: str) -> Any:
    found: Any = module
    for name in path.split("."):
        if not hasattr(found, name):
            public = [n for n in vars(module) if not n.startswith("_")]
            raise InputError(f"{what}: {unknown_name(f'name in {module.__name__}', name, public)}")
        found = getattr(found, name)
    return found


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
