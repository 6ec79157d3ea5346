"""System specs: what the command line takes, and what is said when it does not."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.systems.spec import Spec, canonical_spec, convert_parameters, format_spec, parse_spec


def test_parts() -> None:
    assert parse_spec("exact") == Spec("exact")
    assert parse_spec(" window:bits=1024 ") == Spec("window", {"bits": "1024"})
    assert parse_spec("m:a=x=y:z, b = 2") == Spec("m", {"a": "x=y:z", "b": "2"})
    assert parse_spec("""m:a='1,2',b="it's",c=""").parameters == {"a": "1,2", "b": "it's", "c": ""}
    assert parse_spec("import:a.b:C") == Spec("import", {}, "a.b", "C")
    assert parse_spec("import:mod:make:url=http://x:1/a?b=c,n=3") == Spec(
        "import", {"url": "http://x:1/a?b=c", "n": "3"}, "mod", "make"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no name"),
        (":bits=1", "no name"),
        ("window:", "ends with a colon"),
        ("window:1024", "expected parameter=value at '1024'"),
        ("window:bits=1,", "ends with a comma"),
        ("window:bits=1,,a=2", "expected parameter=value"),
        ("window:=3", "expected parameter=value"),
        ("window:a b=3", "expected parameter=value"),
        ("window:bits=1,bits=2", "'bits' is given twice"),
        ("m:a='1,2", "quote of parameter 'a'"),
        ("m:a='1'2", "quote of parameter 'a'"),
        ("import:mod", "import:package.module:Name"),
        ("import:mod:", "import:package.module:Name"),
        ("import:../mod:Name", "import:package.module:Name"),
        ("import:mod:a.b", "import:package.module:Name"),
        ("x" * 5000, "at most 4096"),
    ],
)
def test_what_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(text)
    assert says in str(caught.value)


values = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=12).filter(
    lambda text: not ("'" in text and '"' in text)
)


@given(st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True), values, max_size=4))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_what_is_written_is_read(parameters: dict[str, str]) -> None:
    text = format_spec("name", parameters)
    assert dict(parse_spec(text).parameters) == parameters
    assert format_spec("name", parse_spec(text).parameters) == text


class Sample:
    def __init__(
        self,
        size: int,
        share: float = 0.5,
        loud: bool = False,
        mode: Literal["fast", "slow"] = "fast",
        limit: int | None = None,
        label: str | int = "a",
        plain=3,  # type: ignore[no-untyped-def]
        free="x",
    ) -> None:
        self.values = (size, share, loud, mode, limit, label, plain, free)


def convert(text: str) -> dict[str, Any]:
    return convert_parameters(parse_spec(f"sample:{text}"), Sample)


def test_conversion() -> None:
    assert convert("size=12") == {"size": 12}
    assert convert("size=1,share=1e-3,loud=True,mode=slow,limit=none,label=7,plain=4,free=5") == {
        "size": 1, "share": 0.001, "loud": True, "mode": "slow", "limit": None, "label": 7, "plain": 4, "free": "5",
    }  # fmt: skip
    assert convert("size=1,limit=9,label=b,loud=no")["limit"] == 9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("share=1", "needs the parameter 'size': write sample:size=..."),
        ("size=1.5", "parameter 'size' must be a whole number, got '1.5'"),
        ("size=1,share=much", "parameter 'share' must be a number, got 'much'"),
        ("size=1,loud=maybe", "parameter 'loud' must be true or false, got 'maybe'"),
        ("size=1,mode=fats", "parameter 'mode' must be one of fast, slow, got 'fats'; did you mean 'fast'?"),
        ("size=1,limit=x", "parameter 'limit' must be int or none, got 'x'"),
        ("sise=1", "unknown parameter of sample 'sise'; did you mean 'size'?"),
    ],
)
def test_wrong_values(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        convert(text)
    assert says in str(caught.value)


def test_canonical_specs_are_equal_for_equal_systems() -> None:
    same = {"sample:size=5,share=0.50", "sample:share=.5,size=05", "sample:size=5,mode=fast,limit=none"}
    assert {canonical_spec(parse_spec(text), Sample) for text in same} == {"sample:size=5"}
    assert canonical_spec(parse_spec("sample:mode=slow,size=1,loud=yes"), Sample) == "sample:loud=true,mode=slow,size=1"


def test_any_keyword() -> None:
    def make(size: int = 1, **options: str) -> Sample:
        return Sample(size)

    assert convert_parameters(parse_spec("make:size=2,other=3"), make) == {"size": 2, "other": "3"}
    with pytest.raises(InputError, match="takes no parameters"):
        convert_parameters(parse_spec("make:size=2"), lambda: None)


def test_a_type_that_a_spec_cannot_give() -> None:
    def make(items: list[int]) -> None: ...

    with pytest.raises(InputError, match="which a spec cannot give"):
        convert_parameters(parse_spec("make:items=2"), make)
