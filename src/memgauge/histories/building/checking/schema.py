"""The form of the exported files, checked strictly: unknown and missing fields are problems, types are exact."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Image(_Strict):
    """A picture of a turn."""

    file: str
    image_url: str
    blip_caption: str


class Turn(_Strict):
    """A message. `images` is always there."""

    role: Literal["user", "assistant"]
    content: str
    images: list[Image]
    has_answer: bool


class Record(_Strict):
    """A line of `dataset_<length>.jsonl`."""

    question_id: str
    question_type: str
    question: str
    answer: str
    question_date: str
    haystack_dates: list[str]
    haystack_session_ids: list[str]
    haystack_sessions: list[list[Turn]]
    answer_session_ids: list[str]


class Picture(_Strict):
    """What the sidecar says about a picture."""

    file: str
    width: int
    height: int
    kind: str
    truth: dict[str, Any]
    seed: int


class MetaFact(_Strict):
    """A fact of a session."""

    id: str
    key: list[str]
    role: Literal["evidence", "contrast", "decoy"]
    text: str
    mentions: dict[str, Any]
    protected: list[str] = []
    """Builds may leave it out: it is as long as the rest of the sidecar."""
    pictures: list[Picture]


class MetaSession(_Strict):
    """A session of the longest history and what it carries."""

    session_id: str
    slot: int
    kind: Literal["picture", "filler"]
    facts: list[MetaFact]


class LengthFigures(_Strict):
    """Sizes of a history at one length."""

    sessions: int
    fillers: int
    pictures: int
    text_tokens: int
    picture_tokens: int
    tokens: int
    cut_after_exchanges: int | None


class SeedPath(_Strict):
    """Place of a question in the plan of its build."""

    line: str
    index: int
    revision: int


class OtherPicture(_Strict):
    """A picture of the counterfactual."""

    fact: str
    kind: str
    truth: dict[str, Any]
    seed: int


class Counterfactual(_Strict):
    """Other pictures under the same texts, and the answer that they give."""

    answer: str
    pictures: list[OtherPicture]


class Meta(_Strict):
    """A line of `meta.jsonl`: the gold side of a question. Newer builders may add fields."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    question_id: str
    builder: str
    refusal: bool
    subtype: str
    mode: str
    visual_need: Literal["essential", "supportive", "sufficient"]
    key: list[str]
    ask: dict[str, Any]
    answer_session_ids: list[str]
    contrast_session_ids: list[str]
    critical_files: list[str]
    answer_space: list[str]
    floor: str
    gold: dict[str, Any]
    counterfactual: Counterfactual | None
    lengths: dict[str, LengthFigures]
    sessions: list[MetaSession]
    seed_path: SeedPath


def described(error: ValidationError) -> str:
    """Return the first faults of a line, each with its field."""
    faults = error.errors(include_url=False, include_input=False)
    said = [f"{'.'.join(map(str, fault['loc'])) or 'the line'}: {fault['msg']}" for fault in faults[:3]]
    return "; ".join(said) + (f"; and {len(faults) - 3} more" if len(faults) > 3 else "")
