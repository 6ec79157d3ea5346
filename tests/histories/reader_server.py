"""An OpenAI-compatible server that really reads: OCR on every picture it receives, simple rules on what it read.

It knows nothing of the data beyond the words of the request. Texts of pictures are kept by the picture's hash, so that
each is read once a process.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import PIL.Image
from numpy.typing import NDArray
from scripted_server import Request, Response, completion

INSUFFICIENT = "Insufficient information"
SESSION = re.compile(r"^=== (?:Session|Fact) (\d+) \(Date: (.*)\) ===$", re.MULTILINE)


@dataclass(frozen=True)
class Box:
    """A piece of text in a picture: its middle and its height."""

    x: float
    y: float
    height: float
    text: str

    @staticmethod
    def of(corners, text) -> Box:
        xs, ys = [c[0] for c in corners], [c[1] for c in corners]
        return Box(sum(xs) / 4, sum(ys) / 4, max(ys) - min(ys), text)


def in_rows(boxes: list[Box]) -> list[str]:
    """Texts that stand side by side make one line."""
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: box.y):
        if rows and abs(rows[-1][-1].y - box.y) < 0.6 * min(rows[-1][-1].height, box.height):
            rows[-1].append(box)
        else:
            rows.append([box])
    return ["  ".join(box.text for box in sorted(row, key=lambda box: box.x)) for row in rows]


def in_columns(boxes: list[Box]) -> list[str]:
    """Of a chart with a few bars: each label with the number above it."""
    numbers = [box for box in boxes if box.text.isdigit()]
    labels = [box for box in boxes if not any(c.isdigit() for c in box.text)]
    if not 2 <= len(numbers) <= 9:
        return []
    found = []
    for label in labels:
        above = [n for n in numbers if n.y < label.y and abs(n.x - label.x) < 30]
        if above:
            found.append(f"{label.text} {max(above, key=lambda n: n.y).text}")
    return found


def ringed(picture: NDArray[np.int64], boxes: list[Box]) -> list[str]:
    """Of a calendar page: the number inside the coloured ring, as `((n))`."""
    numbers = [box for box in boxes if re.fullmatch(r"[0-9OIl]{1,2}", box.text)]
    if len(numbers) < 10:
        return []
    coloured = np.ptp(picture, axis=2) > 84
    coloured[: int(min(box.y for box in numbers)) - 20] = False
    if coloured.sum() < 20:
        return []
    y, x = (float(part.min() + np.ptp(part) / 2) for part in np.nonzero(coloured))
    near = min(numbers, key=lambda box: (box.x - x) ** 2 + (box.y - y) ** 2)
    digits = near.text.replace("O", "0").replace("I", "1").replace("l", "1")
    return [f"(({int(digits)}))"] if (near.x - x) ** 2 + (near.y - y) ** 2 < 900 else []


class Reader:
    """Turns a request into a text with `[[...]]` in each picture's place, and answers by the first rule that can."""

    def __init__(self, rules: Callable[[str, str], str | None]) -> None:
        import rapidocr_onnxruntime

        self._ocr = rapidocr_onnxruntime.RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()
        self.rules = rules
        self.pictures = 0

    def look(self, data: bytes) -> str:
        """The lines that a picture shows, from top to bottom."""
        key = hashlib.sha256(data).hexdigest()
        with self._lock:
            self.pictures += 1
            if key not in self._known:
                colours = np.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB"))
                found, _ = self._ocr(np.ascontiguousarray(colours[:, :, ::-1]))
                boxes = [Box.of(corners, text) for corners, text, _ in found or ()]
                lines = [*in_rows(boxes), *in_columns(boxes), *ringed(colours.astype(int), boxes)]
                self._known[key] = "\n".join(lines)
            return self._known[key]

    def text(self, request: Request) -> str:
        """The request's message with what its pictures say."""
        content = request.body["messages"][0]["content"]
        if isinstance(content, str):
            return content
        parts = []
        for part in content:
            if part["type"] == "text":
                parts.append(part["text"])
            else:
                data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
                parts.append(f"[[{self.look(data)}]]")
        return "".join(parts)

    def __call__(self, request: Request) -> Response:
        text = self.text(request)
        conversation, _, asked = text.rpartition("\n\nDirectly output the answer")
        question = asked.rpartition("\nQuestion: ")[2]
        answer = self.rules(conversation.partition("Conversation:\n")[2], question)
        return Response(body=completion(answer or INSUFFICIENT, tokens_in=2 * len(text.split()) + 50, tokens_out=8))


def sessions_of(conversation: str) -> list[tuple[str, str]]:
    """Date and text of each session, as a reader of the request sees them."""
    marks = list(SESSION.finditer(conversation))
    ends = [mark.start() for mark in marks[1:]] + [len(conversation)]
    return [(mark[2], conversation[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
