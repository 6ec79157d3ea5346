"""A small dataset of histories, written by hand: five abilities, pictures of one colour, and a sidecar."""

from __future__ import annotations

import io
import json
from pathlib import Path

import PIL.Image

COLOURS = {"red": (220, 20, 20), "green": (20, 160, 40), "blue": (20, 40, 200), "white": (250, 250, 250)}


def picture(colour="red", size=(8, 6), form="PNG", mode="RGB", **options) -> bytes:
    out = io.BytesIO()
    image = PIL.Image.new("RGB", size, COLOURS[colour])
    image.convert(mode).save(out, form, **options)
    return out.getvalue()


def turn(role, content, *images, has_answer=False):
    shown = [{"file": name, "image_url": "", "blip_caption": f"a {Path(name).stem} picture"} for name in images]
    return {"role": role, "content": content, "images": shown, "has_answer": has_answer}


def filler(day):
    return [
        turn("user", f"Good morning, this is day {day}. What should I cook?"),
        turn("assistant", "Perhaps a soup with beans."),
    ]


def record(name, kind, question, answer, evidence, *, sessions=6, date="2024/05/31 (Fri) 07:58", **more):
    """`evidence`: {place of the session: its user turn}."""
    days = [
        [evidence[i], turn("assistant", "Thank you for telling me.")] if i in evidence else filler(i + 1)
        for i in range(sessions)
    ]
    return {
        "question_id": name,
        "question_type": kind,
        "question": question,
        "answer": answer,
        "question_date": date,
        "haystack_dates": [f"2024/05/{i + 10:02d} (Mon) 10:00" for i in range(sessions)],
        "haystack_session_ids": [f"{name}_s{i}" for i in range(sessions)],
        "haystack_sessions": days,
        "answer_session_ids": [f"{name}_s{i}" for i in sorted(evidence)] if answer != "NOT_MENTIONED" else [],
        **more,
    }


def told(text, *images):
    return turn("user", text, *images, has_answer=True)


def records():
    return [
        record(
            "q_ie1",
            "information_extraction",
            "What colour is my bicycle?",
            "red",
            {2: told("I bought a bicycle <image>, here it is.", "a/red.png")},
        ),
        record(
            "q_ie2",
            "information_extraction",
            "When does my ferry leave?",
            "14:05",
            {4: told("My ferry leaves at 14:05.")},
        ),
        record("q_ie3", "information_extraction", "Which dog do I have?", "beagle", {1: told("My dog is a beagle.")}),
        record("q_ie4", "information_extraction", "Where do I work?", "bakery", {0: told("I work in a bakery.")}),
        record(
            "q_msr",
            "multi_session_reasoning",
            "How many lamps do I have?",
            "2",
            {1: told("A lamp <image>", "b/green.jpg"), 5: told("Another lamp", "b/blue.png")},
        ),
        record(
            "q_tr",
            "temporal_reasoning",
            "When did I move?",
            "2024/05/12",
            {2: told("I moved today.")},
        ),
        record(
            "q_ku",
            "knowledge_update",
            "Which tea do I drink now?",
            "oolong",
            {1: told("I drink assam."), 3: told("I drink oolong now.")},
        ),
        record("q_ar", "answer_refusal", "What is my cat called?", "NOT_MENTIONED", {3: turn("user", "I like cats.")}),
    ]


META = {
    "q_ie1": {"builder": "ie_disambiguation", "subtype": "entity", "visual_need": "essential"},
    "q_msr": {"builder": "msr_counting", "subtype": "counting", "visual_need": "supportive"},
    "q_ku": {"builder": "ku_update", "subtype": "knowledge_update", "gold": {"chain": ["assam", "oolong"]}},
    "q_ar": {"builder": "ie_counting", "subtype": "answer_refusal", "refusal": True},
}


def write_pictures(folder: Path) -> None:
    for name, data in {
        "a/red.png": picture("red"),
        "b/green.jpg": picture("green", form="JPEG"),
        "b/blue.png": picture("blue", mode="P"),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_dataset(folder: Path, made=None, *, lengths=("32k",), form="jsonl", meta=True, images="images") -> Path:
    """Write a dataset folder; the longer lengths have a few fillers more."""
    made = records() if made is None else made
    folder.mkdir(parents=True, exist_ok=True)
    write_pictures(folder / images)
    for length in lengths:
        path = folder / f"dataset_{length}.{form}"
        if form == "jsonl":
            path.write_text("".join(json.dumps(r) + "\n" for r in made))
        elif form == "json":
            path.write_text(json.dumps(made))
        else:
            import polars as pl

            pl.DataFrame(made, infer_schema_length=None).write_parquet(path)
    if meta:
        lines = [json.dumps({"question_id": name, **about}) + "\n" for name, about in META.items()]
        (folder / "meta.jsonl").write_text("".join(lines))
    return folder
