"""How a system is named on the command line: `NAME[:k=v,...]` or `import:package.module:Name[:k=v,...]`.

The text is split at the first colon and each parameter at its first `=`; a value that holds a comma, or begins with a
quote, is put in single or double quotes; a JSON object or list needs none. Values are converted by the annotations of
the constructor.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Literal, Union

from memgauge.errors import InputError, unknown_name

MAX_SPEC = 4096
"""The longest spec that is read, in characters."""
_SECRETS = (
    (re.compile(r"(?<=//)[^\s,'\"]*(?=@)"), "***"),  # user name and password of an address
    (re.compile(r"(?<=[?&])([\w.-]*)=[^\s,&'\"]+"), r"\1=***"),  # the query of an address
    (re.compile(r"(?i)\b(\w*(?:key|token|secret|password))=[^\s,]+"), r"\1=***"),
    (re.compile(r"\b(?:sk|hf|gsk|xai|key)[-_][\w-]{8,}"), "***"),  # as the keys of large services look
)
_TEXTS: dict[object, str] = {bool: "true or false", int: "a whole number", float: "a number", type(None): "none"}


def without_secrets(text: str) -> str:
    """Return a text about a spec without what may be a key that somebody put into it.

    >>> without_secrets("model:name=m,base_url=http://me:hidden@host/v1,api_key=hidden: unknown parameter")
    'model:name=m,base_url=http://***@host/v1,api_key=*** unknown parameter'
    """
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


@dataclass(frozen=True, slots=True)
class Spec:
    """A system spec, taken apart but not yet converted."""

    name: str
    """A registered name, or `import`."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    module: str | None = None
    """For `import`: the module."""
    attribute: str | None = None
    """For `import`: the class or function in it."""

    @property
    def head(self) -> str:
        """The spec without its parameters."""
        return f"import:{self.module}:{self.attribute}" if self.module else self.name


def parse_spec(text: str) -> Spec:
    """Take a system spec apart; raises `InputError` that says what is wrong with it.

    >>> parse_spec("window:bits=1024")
    Spec(name='window', parameters={'bits': '1024'}, module=None, attribute=None)
    >>> parse_spec("import:mine.memory:Best:note='a,b'").parameters
    {'note': 'a,b'}
    """
    if len(text) > MAX_SPEC:
        raise InputError(f"system spec of {len(text)} characters: at most {MAX_SPEC} are read")
    name, colon, rest = text.strip().partition(":")
    if not name:
        raise InputError(f"system spec {text!r} has no name; write NAME or NAME:parameter=value,...")
    if name != "import":
        if colon and not rest:
            raise InputError(f"system spec {text!r} ends with a colon; leave it out, or add parameter=value")
        return Spec(name, _parameters(rest, text))
    module, _, rest = rest.partition(":")
    attribute, _, rest = rest.partition(":")
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", module) or not attribute.isidentifier():
        raise InputError(f"system spec {text!r}: write import:package.module:Name[:parameter=value,...]")
    return Spec(name, _parameters(rest, text), module, attribute)


def _parameters(text: str, whole: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        equals = text.find("=", at)
        name = text[at:equals].strip() if equals >= 0 else text[at:]
        if equals < 0 or not name.isidentifier():
            raise InputError(f"system spec {whole!r}: expected parameter=value at {text[at:]!r}")
        if name in found:
            raise InputError(f"system spec {whole!r}: parameter {name!r} is given twice")
        at = equals + 1
        if text[at : at + 1] in ("'", '"'):
            end = text.find(text[at], at + 1)
            if end < 0 or text[end + 1 : end + 2] not in ("", ","):
                raise InputError(f"system spec {whole!r}: the quote of parameter {name!r} is not closed before a comma")
            found[name], at = text[at + 1 : end], end + 1
        else:
            end = text.find(",", _json_end(text, at))
            end = len(text) if end < 0 else end
            found[name], at = text[at:end].strip(), end
        if at < len(text):
            at += 1
            if at == len(text):
                raise InputError(f"system spec {whole!r} ends with a comma")
    return found


def _json_end(text: str, at: int) -> int:
    """Return where a JSON object or list that begins at `at` ends; `at` itself where there is none."""
    if text[at : at + 1] not in ("{", "["):
        return at
    try:
        return json.JSONDecoder().raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return at


def format_spec(head: str, parameters: Mapping[str, object]) -> str:
    """Return the canonical spec: parameters sorted by name, values quoted only where they must be.

    >>> format_spec("bloom", {"design_length": 256, "bits": 1024})
    'bloom:bits=1024,design_length=256'
    """
    parts = [f"{name}={_text(value)}" for name, value in sorted(parameters.items())]
    return f"{head}:{','.join(parts)}" if parts else head


def _text(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) or value is None else str(value)
    if _json_end(text, 0) == len(text) > 0:
        return text
    if "," in text or text[:1] in ("'", '"') or text != text.strip():
        quote = '"' if "'" in text else "'"
        return f"{quote}{text}{quote}"
    return text


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """A parameter of a constructor."""

    name: str
    kind: object
    """Its annotation; without one the type of its default, else `str`."""
    default: object
    """`inspect.Parameter.empty` where it must be given."""

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def type_text(self) -> str:
        """The type in words: `int`, `zlib|lzma`, `int|none`."""
        return "|".join(_type_names(self.kind))


def constructor_parameters(make: Callable[..., Any]) -> tuple[list[ParameterInfo], bool]:
    """Return the parameters of a class or function, and whether it takes any other keyword as well."""
    try:
        signature = inspect.signature(make, eval_str=True)
    except (NameError, AttributeError, SyntaxError, TypeError):  # an annotation that cannot be evaluated here
        try:
            signature = inspect.signature(make)
        except (TypeError, ValueError):
            return [], True
    except ValueError:
        return [], True
    hints: dict[str, object] = {}
    if is_dataclass(make):  # its annotations stand in the modules of its bases, not only in its own
        with suppress(NameError, AttributeError, SyntaxError, TypeError):
            hints = typing.get_type_hints(make)
    found, open_ended = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            default = parameter.default
            kind = parameter.annotation
            if kind is parameter.empty or isinstance(kind, str):
                guess = type(default) if isinstance(default, bool | int | float) else str
                kind = hints.get(parameter.name, guess)
            found.append(ParameterInfo(parameter.name, kind, default))
    return found, open_ended


def convert_parameters(spec: Spec, make: Callable[..., Any]) -> dict[str, Any]:
    """Convert a spec's texts by the annotations of `make`; raises `InputError` that names the parameter."""
    known, open_ended = constructor_parameters(make)
    by_name = {parameter.name: parameter for parameter in known}
    values: dict[str, Any] = {}
    for name, text in spec.parameters.items():
        if name in by_name:
            values[name] = _convert(text, by_name[name].kind, f"{spec.head}: parameter {name!r}")
        elif open_ended:
            values[name] = text
        elif not by_name:
            raise InputError(f"{spec.head} takes no parameters, got {name!r}")
        else:
            raise unknown_name(f"parameter of {spec.head}", name, by_name)
    for parameter in known:
        if parameter.required and parameter.name not in values:
            example = format_spec(spec.head, {parameter.name: "..."})
            raise InputError(f"{spec.head} needs the parameter {parameter.name!r}: write {example}")
    return values


def canonical_spec(spec: Spec, make: Callable[..., Any]) -> str:
    """Return the one text that all specs of an equal system share: converted, sorted, defaults left out."""
    known, _ = constructor_parameters(make)
    defaults = {parameter.name: parameter.default for parameter in known}
    values = convert_parameters(spec, make)
    return format_spec(spec.head, {k: v for k, v in values.items() if k not in defaults or not _same(v, defaults[k])})


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default


def _convert(text: str, kind: object, what: str) -> object:
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        for option in options:
            if text == str(option):
                return option
        near = difflib.get_close_matches(text, [str(o) for o in options], n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{what} must be one of {', '.join(map(str, options))}, got {text!r}{hint}")
    if origin in (Union, types.UnionType):
        # Text goes last, since everything is a text.
        for option in sorted(options, key=lambda o: (o is str, o is float)):
            try:
                return _convert(text, option, what)
            except InputError:
                continue
        raise InputError(f"{what} must be {' or '.join(_type_names(kind))}, got {text!r}")
    try:
        if kind is bool:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
        if kind is type(None):
            return {"none": None}[text.lower()]
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
    except (KeyError, ValueError):
        raise InputError(f"{what} must be {_TEXTS.get(kind)}, got {text!r}") from None
    if kind in (str, Any, object):
        return text
    raise InputError(f"{what} is of type {kind!r}, which a spec cannot give; it takes text, numbers, true and false")


def _type_names(kind: object) -> list[str]:
    origin = typing.get_origin(kind)
    if origin is Literal:
        return [str(option) for option in typing.get_args(kind)]
    if origin in (Union, types.UnionType):
        return [name for option in typing.get_args(kind) for name in _type_names(option)]
    return ["none"] if kind is type(None) else [getattr(kind, "__name__", str(kind))]
