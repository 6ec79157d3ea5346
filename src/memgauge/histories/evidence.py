"""What is known about the answer to a question: from the gold sidecar of a built folder, else from marked turns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.grading.taxonomy import Evidence, read_values, subset_sums
from memgauge.histories.reading import Faults, open_histories, raw_records
from memgauge.histories.records import Record, parse_date

OPEN = (
    "ie_arithmetic", "ie_disambiguation", "ie_spatial", "ie_chat", "ie_app", "ie_photo", "msr_arithmetic", "tr_date_b",
    "tr_date_c", "tr_date_d",
)  # fmt: skip
"""Builders whose answers nobody guesses: amounts, codes, dates, names of places. The others ask for a colour, a small
count, a kind of thing, yes or no, a letter or an order, which may stand elsewhere by chance."""
_DIGITS = re.compile(r"[$€£]?\d[\d,.:/-]*\d|[$€£]?\d")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_MANY_WORDS = 4
_TURN_CHARS = 1500
"""Of an evidence turn, as much is told to a judge."""


def read_evidence(data: Path, wanted: Iterable[str]) -> dict[str, Evidence]:
    """Return what a dataset knows about the answers to some of its questions.

    Parameters
    ----------
    data : a folder of histories, or one file.
    wanted : ids of questions; those that are not there are left out.

    Raises `InputError` where the data cannot be read.
    """
    histories = open_histories(data)
    missing = set(wanted)
    folder = data.expanduser() if data.expanduser().is_dir() else data.expanduser().parent
    gold = {name: line for name, line in _gold_lines(folder / "meta.jsonl") if name in missing}
    found: dict[str, Evidence] = {}
    # Evidence is the same at every length: the shortest split tells it, longer ones only what that lacks.
    for split in histories.splits:
        if not missing:
            break
        for record in histories.records(split, Faults(), keep=missing):
            found[record.question_id] = evidence_of(record, gold.get(record.question_id))
        missing -= found.keys()
    return found


def _gold_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not path.is_file():
        return
    for number, line in enumerate(raw_records(path, Faults(strict=True)), 1):
        if not isinstance(line, dict) or not isinstance(line.get("question_id"), str):
            raise InputError(f"{path}, line {number}: no object with a question_id")
        if isinstance(line.get("sessions"), list):  # others name a kind alone
            yield line["question_id"], line


def evidence_of(record: Record, gold: Mapping[str, Any] | None = None) -> Evidence:
    """Return what is known about one question; `gold` is its line of `meta.jsonl`."""
    if gold is None:
        return _marked(record)
    return _Gold(record, gold).evidence()


def _marked(record: Record) -> Evidence:
    """What marked turns tell: the figures beside the answer, and the words for a judge."""
    turns = [turn for place in record.evidence for turn in record.sessions[place].turns if turn.has_answer]
    figures = [figure for turn in turns if turn.role == "user" for figure in _DIGITS.findall(turn.content)]
    shown = any(turn.images for turn in turns) if turns else None
    if record.visual_need is not None:
        shown = record.visual_need != "sufficient"
    return Evidence(beside=_apart(figures, record), shown=shown, texts=_told(record, {}))


def _told(record: Record, truths: Mapping[str, Any]) -> tuple[str, ...]:
    """Say in words what the evidence sessions hold; `truths` are known contents of pictures by file."""
    texts = []
    for place in record.evidence:
        session = record.sessions[place]
        marked = [turn for turn in session.turns if turn.has_answer] or [t for t in session.turns if t.role == "user"]
        for turn in marked:
            said = f"({session.date}) {turn.role}: {turn.content[:_TURN_CHARS]}"
            for image in turn.images:
                known = truths.get(image.file)
                shows = image.caption if known is None else json.dumps(known, ensure_ascii=False)
                said += f"\n  picture: {shows[:_TURN_CHARS]}" if shows else ""
            texts.append(said)
    return tuple(texts)


def _apart(values: Iterable[str], record: Record) -> tuple[str, ...]:
    """Drop what the question itself names, and the right answer."""
    asked, right = read_values(record.question), read_values(record.answer)
    return tuple(v for v in dict.fromkeys(values) if v and not asked.holds(v) and not right.holds(v))


class _Gold:
    """Reads one line of the sidecar. Fields of another form than builders write count as absent."""

    def __init__(self, record: Record, line: Mapping[str, Any]) -> None:
        self.record, self.line = record, line
        self.builder = str(line.get("builder", ""))
        self.ask, self.gold = _mapping(line.get("ask")), _mapping(line.get("gold"))
        facts = [
            fact for s in _list(line.get("sessions")) for fact in _list(_mapping(s).get("facts")) if _mapping(fact)
        ]
        self.needed = [fact for fact in facts if fact.get("role") == "evidence"]
        self.others = [fact for fact in facts if fact.get("role") != "evidence"]

    def evidence(self) -> Evidence:
        """Return what the line tells."""
        record = self.record
        truths = {str(p.get("file")): p.get("truth") for fact in self.needed for p in _pictures(fact)}
        elsewhere = _apart((v for fact in self.others for v in _fact_values(fact)), record)
        fields: dict[str, Any] = {
            "elsewhere": elsewhere,
            "open": self.builder in OPEN,
            "shown": self.line.get("visual_need") != "sufficient" if self.line.get("visual_need") else None,
            "texts": _told(record, truths),
        }
        if record.subtype != "AR":
            fields["beside"] = _apart((v for fact in self.needed for v in _fact_values(fact)), record)
            more = _READERS.get(self.builder)
            fields |= more(self) if more else {}
        return Evidence(**fields)

    def entities(self) -> list[str]:
        """Return what the pictures of the evidence show, one a fact, in order."""
        names = [_mapping(p.get("truth")).get("entity") for fact in self.needed for p in _pictures(fact)]
        return [name for name in names if isinstance(name, str)]

    def session_dates(self) -> list[str]:
        """Return the dates of the evidence sessions as an answer gives them."""
        dates = [parse_date(self.record.sessions[place].date) for place in self.record.evidence]
        return [f"{date:%Y/%m/%d}" for date in dates if date is not None]


def _total(known: _Gold) -> dict[str, Any]:
    cents = [value for value in _list(known.gold.get("cents")) if isinstance(value, int)]
    sums = sorted(subset_sums([Fraction(value) for value in cents]))
    partial = _apart((dollars(int(value)) for value in sums), known.record)
    return {"operands": tuple(map(dollars, cents)), "computed": True, "partial": partial, "beside": ()}


def _multiple(known: _Gold) -> dict[str, Any]:
    total, times = known.gold.get("cents"), known.ask.get("times")
    if not isinstance(total, int) or not isinstance(times, int) or times < 1:
        return {}
    price = total // times
    others = [c for fact in known.needed for p in _pictures(fact) for c in _cents(p.get("truth")) if c != price]
    beside = [dollars(value) for c in others for value in (c * times, c)]
    return {"operands": (dollars(price),), "computed": True, "beside": _apart(beside, known.record)}


def _counted(known: _Gold) -> dict[str, Any]:
    entities = [str(name) for name in _list(known.gold.get("entities"))] or known.entities()
    if not known.record.answer.strip().isdigit():  # whether two are the same
        places = [place for place in _list(known.gold.get("critical")) if isinstance(place, int)]
        asked = [entities[place] for place in places if 0 <= place < len(entities)]
        return {"operands": _apart(asked, known.record), "computed": True, "beside": ()}
    return {
        "operands": _apart(entities, known.record),
        "computed": True,
        "beside": (),
        "fewest": int(known.record.answer),
        "most": len(entities),
    }


def _durations(known: _Gold) -> dict[str, Any]:
    dates = [v for fact in known.needed for v in _fact_values(fact) if re.fullmatch(r"\d{4}/\d\d/\d\d", v)]
    return {"operands": _apart(dates, known.record), "computed": True, "beside": ()}


def _ordered(known: _Gold) -> dict[str, Any]:
    return {"operands": _apart(known.session_dates(), known.record), "computed": True, "beside": ()}


def _dated(known: _Gold) -> dict[str, Any]:
    space = [str(value) for value in _list(known.line.get("answer_space"))]
    return {"rivals": _apart(space, known.record), "beside": ()}


def _dated_by_session(known: _Gold) -> dict[str, Any]:
    # "Last Monday": the date of the session is the operand, and no answer.
    return _dated(known) | {"computed": True, "slips": _apart(known.session_dates(), known.record)}


def _dated_by_picture(known: _Gold) -> dict[str, Any]:
    found = [v for fact in known.needed for v in _fact_values(fact)]
    return {"beside": _apart([*found, *known.session_dates()], known.record)}


def _updated(known: _Gold) -> dict[str, Any]:
    chain = [str(value) for value in _list(known.gold.get("chain"))]
    return {"outdated": _apart(chain[:-1], known.record), "beside": ()}


_READERS: dict[str, Callable[[_Gold], dict[str, Any]]] = {
    "msr_arithmetic": _total,
    "ie_arithmetic": _multiple,
    "msr_counting": _counted,
    "msr_entity": _counted,
    "tr_duration": _durations,
    "tr_order": _ordered,
    "tr_date_b": _dated_by_picture,
    "tr_date_c": _dated,
    "tr_date_d": _dated_by_session,
    "ku_update": _updated,
}


def dollars(cents: int) -> str:
    """Write an amount as answers do.

    >>> dollars(123456)
    '$1,234.56'
    """
    return f"${cents // 100:,}.{cents % 100:02d}"


def _fact_values(fact: Mapping[str, Any]) -> list[str]:
    """Return what a fact states and its pictures show, as texts."""
    parts = [fact.get("mentions"), *(picture.get("truth") for picture in _pictures(fact))]
    return [value for part in parts for value in _leaves(part)]


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        if {"year", "month", "day"} <= value.keys():
            yield "/".join(str(value[part]).zfill(2) for part in ("year", "month", "day"))
        elif {"hour", "minute"} <= value.keys():
            yield f"{value['hour']}:{str(value['minute']).zfill(2)}"
        else:
            for key, part in value.items():
                if key != "sender":
                    yield from _leaves(part, str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for part in value:
            yield from _leaves(part, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield dollars(value) if name.endswith("cents") else str(value)
    elif isinstance(value, str):
        iso = _ISO.fullmatch(value)
        if iso is not None:
            yield "/".join(iso.groups())
        else:
            if len(value.split()) <= _MANY_WORDS:
                yield value
            if len(value.split()) > 1:
                yield from _DIGITS.findall(value)


def _cents(value: Any) -> Iterator[int]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if str(key).endswith("cents") and isinstance(part, int):
                yield part
            else:
                yield from _cents(part)
    elif isinstance(value, list):
        for part in value:
            yield from _cents(part)


def _pictures(fact: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [picture for picture in _list(fact.get("pictures")) if isinstance(picture, Mapping)]


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
