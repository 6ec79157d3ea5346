"""A model that follows its instructions, as a function of the request: turns, wordings of questions, judgements."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from functools import cache
from random import Random

from scripted_server import Response, completion

from memgauge.histories.building.text import ProceduralWriter
from memgauge.histories.building.topics import draw_topics

SAID = (
    ("leaks", "Does the message itself tell", {"leaks": False, "quote": ""}),
    ("disambiguates", "narrow down which thing", {"disambiguates": False, "quote": ""}),
    ("same", "ask for exactly the same thing, about", {"same": True, "difference": ""}),
    ("answer", "Answer the question from the text below", {"answer": "", "confidence": 0.0}),
)
"""What a judge is asked, a part of its prompt, and what it says."""


@cache
def pool():
    """Sentences of procedural sessions, by role."""
    sessions = [
        ProceduralWriter().session(draw_topics(Random(seed)), (), datetime(2023, 5, 1), Random(seed))
        for seed in range(60)
    ]
    turns = {half: [t.content for session in sessions for t in session[half::2]] for half in (0, 1)}
    return [text for text in turns[0] if len(text.split()) < 22], turns[1]


def role_of(request):
    """Return `user`, `assistant`, `question`, or what a judge is asked."""
    first, last = request.body["messages"][0]["content"], request.body["messages"][-1]["content"]
    for name, part, _ in SAID:
        if part in first:
            return name
    if first.startswith("You reword questions"):
        return "question"
    assert first.startswith(("You write the messages", "You are a helpful assistant")), (first, last)
    return "user" if first.startswith("You write") else "assistant"


def valid_text(request):
    """Return the reply to a request."""
    role = role_of(request)
    messages = request.body["messages"]
    choice = Random(hashlib.sha256(json.dumps(messages).encode()).digest())
    for name, _, reply in SAID:
        if role == name:
            return json.dumps(reply)
    asked = "\n".join(message["content"] for message in messages[-2:])
    if role == "question":
        head = re.search(r"Draft: (.*)", messages[1]["content"])[1]
        return json.dumps({"question": f"Could you tell me, {head[0].lower()}{head[1:]}"})
    text = choice.choice(pool()[role == "assistant"])
    carried = re.search(r'word for word.*?: "(.*)" Keep', asked) if role == "user" else None
    return f"{text} {carried[1]}" if carried else text


def valid(request):
    """Return the response to a request."""
    return Response(body=completion(valid_text(request)))
