"""One log of one of memgauge's own Inspect tasks as responses.

Every question is made again from the parameters that the log recorded, the recorded request is compared with it, and
the recorded reply is graded here by the grader of `memgauge run`; the score in the log must agree. So the rows are
those that `memgauge run` would have written for the same replies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgauge.drive import Asked, Wanted
from memgauge.errors import InputError
from memgauge.files import file_sha256
from memgauge.importers.inspect_log import InspectLog
from memgauge.inspect_tasks import conversations
from memgauge.inspect_tasks.asked import Asking, TaskPlan
from memgauge.inspect_tasks.plan import PARAMETERS, VERSION, plan_of
from memgauge.inspect_tasks.replies import NoReply, clean, read_output
from memgauge.inspect_tasks.verdicts import judged_row
from memgauge.progress import Progress
from memgauge.rows import Asker, row_of, wanted_of
from memgauge.system import Answer

if TYPE_CHECKING:
    from memgauge.systems.models.pricing import Pricer

PREFIX = "memgauge/"
VERSIONS = {**dict.fromkeys(PARAMETERS, VERSION), conversations.NAME: conversations.VERSION}
"""The tasks whose logs are read, and the version of each."""
NEUTRAL = frozenset(
    (
        *("max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections"),
        *("adaptive_connections", "cache_prompt", "batch", "cache", "max_tool_output", "parallel_tool_calls"),
        *("internal_tools", "fail_on_refusal"),
    )
)
"""Settings that change no answer: how long to wait, how many at a time."""


@dataclass(frozen=True, slots=True)
class Options:
    """How logs are read."""

    label: str | None = None
    """The name of the system, instead of the model and its settings."""
    epoch: int | None = None
    """The epoch to take, for logs in which questions were asked more than once."""
    partial: bool = False
    """Take what there is of an evaluation that did not end well, or that left questions out."""
    check_truncation: bool = True
    """Count an answer as refused when the server read fewer tokens than the stream has symbols or frames."""
    pricer: Pricer | None = None
    """What gives costs to answers; it is handed in, since importers know no system."""
    data: Path | None = None
    """For conversations: where the histories are, if they are no longer where the log says."""


class Reading:
    """One log being read. Raises `InputError` for what is said at `memgauge.importers.inspect_run.import_inspect`."""

    def __init__(self, log: InspectLog, options: Options) -> None:
        self.log = log
        self.options = options
        self.notes: list[str] = []
        self.spec: dict[str, Any] = log.header["eval"]
        self.plan = self._plan()
        self._check_status()
        self.epoch = self._epoch()
        self.system = self._system()
        self.source = {
            "file": log.path.name,
            "sha256": file_sha256(log.path),
            "eval_id": _text(self.spec.get("eval_id")),
            "created": _text(self.spec.get("created")),
            "status": _text(log.header.get("status")),
            "inspect_ai": _text(_dict(self.spec.get("packages")).get("inspect_ai")),
        }
        if options.pricer is not None:
            self.plan.check_price(options.pricer)

    def _wrong(self, what: str) -> InputError:
        return InputError(f"{self.log.path}: {what}")

    def _plan(self) -> TaskPlan:
        named = str(self.spec.get("task_registry_name") or self.spec.get("task"))[:100]
        name = named.removeprefix(PREFIX)
        if not named.startswith(PREFIX) or name not in VERSIONS:
            known = ", ".join(PREFIX + known for known in VERSIONS)
            raise self._wrong(
                f"a log of the task {_printable(named)!r}; memgauge reads those of its own tasks: {known}"
            )
        version = self.spec.get("task_version")
        if version != VERSIONS[name]:
            raise self._wrong(
                f"version {str(version)[:20]} of {named}; this memgauge reads version {VERSIONS[name]}: import it with "
                "the memgauge that ran it, or run it again"
            )
        metadata = _dict(self.spec.get("metadata"))
        try:
            plan = self._plan_of(name, _dict(self.spec.get("task_args")), _dict(metadata.get("places")))
            expected = plan.recorded
        except InputError as error:
            raise self._wrong(f"its task_args cannot be used: {error}") from error
        recorded = _dict(metadata.get("memgauge"))
        if recorded != expected:
            names = [n for n in {**recorded, **expected} if recorded.get(n) != expected.get(n)]
            differ = _printable(", ".join(sorted(names)))[:200]
            needed = ", and with the data that it was run on" if name == conversations.NAME else ""
            raise self._wrong(
                f"its data is not what this memgauge makes ({differ} differ): import it with the memgauge that ran "
                f"it{needed}"
            )
        return plan

    def _plan_of(self, name: str, parameters: dict[str, Any], places: dict[str, Any]) -> TaskPlan:
        if name != conversations.NAME:
            if self.options.data is not None:
                raise InputError(f"--data is for logs of {PREFIX}{conversations.NAME}; {name} makes its own streams")
            return plan_of(name, parameters)
        # Paths as they were typed mean nothing in another folder; the log keeps whole ones as well.
        whole = {n: places[n] for n in conversations.PLACES if n in places and parameters.get(n) is not None}
        moved = {} if self.options.data is None else {"data": str(self.options.data)}
        return conversations.conversation_plan({**parameters, **whole, **moved})

    def _check_status(self) -> None:
        status = str(self.log.header.get("status"))[:40]
        error = self.log.header.get("error")
        said = f": {_said(error)}" if error else ""
        if status != "success":
            if not self.options.partial:
                raise self._wrong(
                    f"the evaluation did not succeed (status {status!r}{said}); finish it with `inspect eval-retry`, "
                    "or give --partial to import what there is"
                )
            self.notes.append(f"{self.log.path.name}: status {status!r}{said}")
        if self.log.header.get("config_updates"):
            self.notes.append(f"{self.log.path.name}: settings were changed while it ran (`inspect ctl config`)")

    def _epoch(self) -> int:
        """Return the epoch to read."""
        epochs = sorted({epoch for _, epoch in self.log.samples}) or [1]
        if self.options.epoch is not None:
            if self.options.epoch not in epochs:
                raise self._wrong(f"no epoch {self.options.epoch}; it has {', '.join(map(str, epochs[:20]))}")
            return self.options.epoch
        if len(epochs) > 1:
            raise self._wrong(
                f"each question was asked {len(epochs)} times (epochs), and a run has one answer to each: choose one "
                "with --epoch, or run with --epochs 1"
            )
        return epochs[0]

    def _system(self) -> dict[str, Any]:
        """Return what `run.json` says of the model: its name, and all settings that may change an answer."""
        model = self.spec.get("model")
        if not isinstance(model, str) or not model:
            raise self._wrong("it does not name its model")
        settings = {**_dict(self.spec.get("model_generate_config"))}
        settings |= _dict(_dict(self.log.header.get("plan")).get("config"))
        settings = {n: v for n, v in settings.items() if v is not None and n not in NEUTRAL}
        if settings.get("system_message"):
            raise self._wrong("a system message was put before the task's prompt: the question is another one")
        delivery = dict(self.plan.delivery)
        arguments = {n: v for n, v in _dict(self.spec.get("model_args")).items() if v is not None}
        changed = {n: v for n, v in settings.items() if self.plan.standard.get(n) != v} | delivery
        if arguments:
            changed["model_args"] = arguments
        name = _printable(model) + "".join(f",{n}={_short(v)}" for n, v in sorted(changed.items())).replace(",", ":", 1)
        identity = {
            "model": model,
            "settings": settings,
            "model_args": arguments,
            **delivery,
            "version": self.plan.version,
        }
        if self.options.pricer is not None:
            identity["price"] = self.options.pricer.identity
        if not self.options.check_truncation:
            identity["check_truncation"] = False
        # Only a hash of the settings is kept: headers and arguments may hold a key.
        digest = hashlib.blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=16).hexdigest()
        return {
            "name": _printable(self.options.label) if self.options.label else name,
            "spec": f"inspect {_printable(model)}",
            "fingerprint": f"inspect {digest}",
            "description": "a model asked through Inspect AI",
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the log, in the order of the task."""
        asker = Asker("", self.system["name"], self.system["fingerprint"])
        left = {name for name, epoch in self.log.samples if epoch == self.epoch}
        found, missing = [], 0
        with Progress("samples", len(left)) as bar:
            keys: dict[str, Wanted] = {}
            episode = None
            for asking in self.plan.askings():
                if asking.episode is not episode:
                    episode = asking.episode
                    keys = {f"{w.query.id} {w.arm}": w for w in wanted_of(episode, asker, self.plan.arms)}
                if asking.id not in left:
                    missing += 1
                    continue
                left.remove(asking.id)
                sample = self.log.sample(asking.id, self.epoch)
                wanted = keys[f"{asking.query.id} {asking.arm}"]
                found.append(self._scored(sample, row_of(self._asked(asking, wanted, sample), asking.episode, asker)))
                bar.advance(1)
        if left:
            why = "".join(f"; {note}" for note in self.plan.notes())
            raise self._wrong(f"sample {sorted(left)[0][:80]!r} is not one of the task's{why}")
        if missing:
            if not self.options.partial:
                raise self._wrong(
                    f"{missing} of {missing + len(found)} samples are missing (was it run with --limit or --sample-id, "
                    "or without logging samples?); give --partial to import the others"
                )
            self.notes.append(f"{self.log.path.name}: {missing} of {missing + len(found)} questions were not asked")
        self.notes += [f"{self.log.path.name}: {note}" for note in self.plan.notes()]
        empty = sum(row["refused_kind"] == "empty" for row in found)
        if empty:
            self.notes.append(
                f"{self.log.path.name}: {empty} replies without any text count as refused; Inspect does not tell a "
                "missing text from an empty one"
            )
        if not found:
            raise self._wrong("it holds no sample: nothing to import")
        return found

    def _asked(self, asking: Asking, wanted: Wanted, sample: Mapping[str, Any]) -> Asked:
        """Return what came back for one question; the request must be the one that the task makes."""
        where = f"sample {asking.id}"
        if sample.get("target") != asking.query.gold:
            raise self._wrong(f"{where}: its target is not the right answer; the log was made or changed elsewhere")
        different = self.plan.different(asking, _dict(sample.get("metadata")))
        if different:
            raise self._wrong(f"{where}: {different}")
        if sample.get("invalidation"):
            raise self._wrong(f"{where} was invalidated; run it again (`inspect eval-retry`), and import that log")
        output = _dict(sample.get("output"))
        seconds = output.get("time")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e9:
            seconds = None
        asked = Asked(wanted, seconds_read=seconds)
        error = sample.get("error")
        if error:
            return replace(asked, error=f"Inspect: {_said(error)}")
        if sample.get("limit"):
            kind = str(_dict(sample["limit"]).get("type"))[:40]
            return replace(asked, error=f"Inspect stopped it at its {_printable(kind)} limit")
        if sample.get("model_fallbacks"):
            return replace(asked, error="another model than the one that was asked served the request (fallback)")
        self._check_request(asking, sample, where)
        back = read_output(
            output,
            images=asking.images,
            least_tokens=asking.least_tokens if self.options.check_truncation else None,
            counted=self.plan.counted,
        )
        if isinstance(back, NoReply):
            return replace(asked, error=back.said)
        request = "\n".join((*asking.texts, str(asking.images), asking.episode.fingerprint))
        digest = hashlib.blake2b(request.encode(), digest_size=16).hexdigest()
        return replace(asked, returned=self._priced(asking, replace(back, rereads=True, prompt_hash=digest)))

    def _priced(self, asking: Asking, back: Answer) -> Answer:
        if self.options.pricer is None or back.refused is not None:
            return back
        try:
            priced = self.plan.price(self.options.pricer, asking, back.tokens_in)
        except InputError as error:
            raise self._wrong(f"sample {asking.id}: {error}") from error
        return back if priced is None else replace(back, flops_write=priced.write, price=priced.read)

    def _check_request(self, asking: Asking, sample: Mapping[str, Any], where: str) -> None:
        """Compare the recorded conversation with what the task asks."""
        messages = sample.get("messages")
        roles = [_dict(m).get("role") for m in messages] if isinstance(messages, list) else []
        # Some failures leave the request alone in the log; what came back is then read from the output.
        if roles not in (["user", "assistant"], ["user"]) or not isinstance(messages, list):
            raise self._wrong(
                f"{where}: the conversation is not one question and one answer ({', '.join(map(str, roles))[:80]}); "
                "was it run with a solver of your own?"
            )
        content = messages[0].get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        parts = [_dict(part) for part in parts] if isinstance(parts, list) else []
        texts = tuple(part.get("text") for part in parts if part.get("type") == "text")
        kinds = tuple(str(part.get("type")) for part in parts)
        if texts != asking.texts or kinds != asking.kinds:
            raise self._wrong(f"{where}: the request in the log is not the one that this task makes")

    def _scored(self, sample: Mapping[str, Any], row: dict[str, Any]) -> dict[str, Any]:
        """Compare the score in the log, where there is one, with the row; returns it with the verdict of a judge."""
        score = _dict(_dict(sample.get("scores")).get(self.plan.scorer))
        told = _dict(score.get("metadata"))
        if not score or row["outcome"] == "model_error":
            return row  # an error is no answer, whatever a scorer saw
        for name, value in self.plan.scored.items():
            if told.get(name) != value:
                raise self._wrong(
                    f"sample {sample['id']} was scored by {name} {str(told.get(name))[:20]} of our scorer, this is "
                    f"{name} {value}: score it again (`inspect score`), or import it with the memgauge that scored it"
                )
        if row["outcome"] == "pending":
            row = judged_row(row, told) or row
        value = {None: None, True: "C", False: "N" if row["outcome"] == "abstained" else "I"}[row["correct"]]
        given = score.get("value")
        agrees = told.get("outcome") == row["outcome"] and (value is None or given == value)
        # Whether a request that was cut short counts as refused is an option, of the scorer and here.
        if not agrees and not (row["refused_kind"] == "too_long" or told.get("refused_kind") == "too_long"):
            raise self._wrong(
                f"sample {sample['id']} is scored {str(told.get('outcome'))[:30]} {str(given)[:30]!r}; its answer says "
                f"{row['outcome']} {value!r}: the log was changed, or scored by other rules"
            )
        return row


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return None if value is None else _printable(str(value))[:200]


def _said(error: object) -> str:
    """Return an error's message on one line: its two ends, since Inspect may put the whole request between them."""
    text = " ".join(str(_dict(error).get("message") or error).replace("\\n", " ").split())
    text = _printable(text)
    return text if len(text) <= 400 else f"{text[:80]} ... {text[-300:]}"


def _printable(text: str) -> str:
    """Replace control characters, which could change what a terminal shows, and lone surrogates."""
    return "".join(c if c.isprintable() else "?" for c in clean(text))


def _short(value: object) -> str:
    """Show a setting; what is long or has parts is shown by a hash, which also hides keys."""
    text = str(value)
    if isinstance(value, dict | list) or len(text) > 40:
        return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=4).hexdigest()
    return _printable(text)
