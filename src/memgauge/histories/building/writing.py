"""From a finished candidate to what its files say: public part and gold sidecar, apart from each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memgauge.histories.building.config import BuildConfig
from memgauge.histories.building.model import BUILDERS, TYPES, Fact, Session
from memgauge.histories.building.pictures import caption
from memgauge.histories.building.timeline import stamp

if TYPE_CHECKING:
    from memgauge.histories.building.question import Written

HIDDEN = ("has_answer", "answer_session_ids", "answer")
"""Gold fields of a public record, which no system under test may see."""


def body_of(config: BuildConfig, written: Written) -> dict[str, Any]:
    """Return everything that the exported files say about a candidate, as JSON values."""
    asked = written.blueprint
    order = {session.slot: place for place, session in enumerate(written.sessions)}
    kinds = {fact.id: fact for carriers in written.haystack.carriers.values() for fact in carriers.facts}
    evidence, contrast = _sessions_of(written, "evidence"), _sessions_of(written, "contrast")
    return {
        "question_id": asked.id,
        "question_type": TYPES[asked.builder.split("_")[0]],
        "question": asked.question,
        "answer": asked.answer,
        "question_date": stamp(written.question_date),
        "answer_session_ids": evidence,
        "sessions": [
            {"session_id": s.id, "date": stamp(s.date), "turns": _turns(config, written, s, kinds)}
            for s in written.sessions
        ],
        "members": {
            name: {
                "sessions": [order[slot] for slot in sorted({*member.pictured, *member.fillers})],
                "cut": [written.sessions[order[member.cut[0]]].id, member.cut[1]] if member.cut else None,
            }
            for name, member in written.members.items()
        },
        "meta": _meta(written, evidence, contrast),
    }


def _sessions_of(written: Written, role: str) -> list[str]:
    """Return the ids of the sessions that carry a fact of the question in this role."""
    wanted = {fact.id for fact in written.blueprint.facts if fact.role == role}
    return [s.id for s in written.sessions if any(fact.id in wanted for fact in _facts(written, s))]


def _facts(written: Written, session: Session) -> tuple[Fact, ...]:
    return written.haystack.carriers[session.slot].facts if session.kind == "picture" else ()


def _turns(config: BuildConfig, written: Written, session: Session, facts: Mapping[str, Fact]) -> list[dict[str, Any]]:
    turns = []
    for turn in session.turns:
        images = []
        for name in turn.facts:
            for number, spec in enumerate(facts[name].images):
                said = caption(spec, rich=config.captions == "rich")
                images.append([written.pictures[name, number].file, said])
        turns.append(
            {
                "role": turn.role,
                "content": turn.content,
                "images": images,
                "has_answer": any(name in written.needed for name in turn.facts),
            }
        )
    return turns


def _meta(written: Written, evidence: list[str], contrast: list[str]) -> dict[str, Any]:
    """Return the line of meta.jsonl: gold, never shown to a system under test."""
    asked, original, place = written.blueprint, written.original, written.place
    critical = _files(written, original.gold.get("critical", ()))
    by_order = _files(written, original.gold.get("critical_by_order", ()))
    return {
        "question_id": asked.id,
        "builder": original.builder,
        "refusal": place.line.refusal,
        "subtype": "answer_refusal" if place.line.refusal else BUILDERS[original.builder],
        "mode": original.mode,
        "visual_need": asked.visual_need,
        "key": list(asked.key),
        "ask": dict(asked.ask),
        "answer_session_ids": evidence,
        "contrast_session_ids": contrast,
        "critical_files": critical,
        "critical_by_order_files": by_order,
        "answer_space": list(asked.answer_space),
        "floor": str(asked.floor),
        "gold": dict(asked.gold),
        "counterfactual": written.counterfactual,
        "lengths": {name: _length(written, name) for name in written.members},
        "sessions": [
            {
                "session_id": s.id,
                "slot": s.slot,
                "kind": s.kind,
                "facts": [_fact(written, fact) for fact in _facts(written, s)],
            }
            for s in written.sessions
        ],
        "seed_path": {"line": place.line.name, "index": place.index, "revision": place.revision},
        "validators": written.log.as_dict(),
    }


def _files(written: Written, indices: Any) -> list[str]:
    """Return the pictures of the facts at these places of the blueprint, as far as they are in the history."""
    inside = {fact.id for fact in written.blueprint.facts}
    named = [written.original.facts[index] for index in indices]
    return [written.pictures[f.id, n].file for f in named if f.id in inside for n in range(len(f.images))]


def _length(written: Written, name: str) -> dict[str, Any]:
    member = written.members[name]
    pictures = sum(written.haystack.carriers[slot].pictures for slot in member.pictured)
    return {
        "sessions": len(member.pictured) + len(member.fillers),
        "fillers": len(member.fillers),
        "pictures": pictures,
        "text_tokens": member.text,
        "picture_tokens": member.pictures,
        "tokens": member.text + member.pictures,
        "cut_after_exchanges": member.cut[1] if member.cut else None,
    }


def _fact(written: Written, fact: Fact) -> dict[str, Any]:
    pictures = []
    for number, spec in enumerate(fact.images):
        stored = written.pictures[fact.id, number]
        pictures.append(
            {
                "file": stored.file,
                "width": stored.width,
                "height": stored.height,
                "kind": spec.kind,
                "truth": spec.truth,
                "seed": spec.seed,
            }
        )
    return {
        "id": fact.id,
        "key": list(fact.key),
        "role": fact.role,
        "text": fact.text,
        "mentions": dict(fact.mentions),
        "protected": list(fact.protected),
        "pictures": pictures,
    }
