"""Training: AdamW under a cosine, lengths that grow with accuracy, checkpoints from which a run goes on exactly.

Several processes (torchrun) each take their part of every batch and average the gradients.
"""

from __future__ import annotations

import contextlib
import csv
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

from memgauge import seeding
from memgauge.errors import InputError, MemgaugeError
from memgauge.systems.backbones.checkpoint import Loop, resume, save_training
from memgauge.systems.backbones.config import TrainConfig
from memgauge.systems.backbones.model import Backbone
from memgauge.systems.backbones.task import accuracy, sequences

COLUMNS = ("step", "length", "batch", "loss", "accuracy", "learning_rate", "tokens", "seconds")
LOG = "log.csv"
Reason = Literal["steps", "minutes", "accuracy", "epochs", "interrupted"]


class DivergedError(MemgaugeError):
    """The loss or the gradients are no longer numbers; the last checkpoint is from before."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training came to."""

    folder: Path
    reason: Reason
    """What ended it."""
    loop: Loop

    @property
    def validation(self) -> dict[str, float]:
        """Accuracy by length at the last validation."""
        found: dict[str, float] = self.loop.history[-1]["accuracy"] if self.loop.history else {}
        return found


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes of a training: this one's rank, how many there are, and the device."""

    rank: int
    count: int
    device: str

    def part(self, total: int) -> tuple[int, int]:
        """Return first and count of this process's share of `total` sequences."""
        first = total * self.rank // self.count
        return first, total * (self.rank + 1) // self.count - first

    def mean(self, values: list[torch.Tensor]) -> None:
        """Replace each tensor by its mean over the processes."""
        if self.count > 1 and values:
            flat = torch.cat([v.reshape(-1).float() for v in values])
            dist.all_reduce(flat)
            flat /= self.count
            start = 0
            for value in values:
                value.copy_(flat[start : start + value.numel()].view_as(value))
                start += value.numel()


@contextlib.contextmanager
def workers(device: str) -> Iterator[Workers]:
    """Join the processes that torchrun started, or be the only one."""
    count, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        if not torch.cuda.is_available():
            raise InputError("--device cuda: torch finds no CUDA device")
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        torch.use_deterministic_algorithms(True, warn_only=True)
    elif device != "cpu":
        raise InputError(f"--device is {device!r}: choose auto, cpu or cuda")
    if count == 1:
        yield Workers(0, 1, device)
        return
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        yield Workers(rank, count, device)
    finally:
        dist.destroy_process_group()


def make_optimizer(config: TrainConfig, model: Backbone) -> torch.optim.AdamW:
    """Return AdamW with decay on matrices alone."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, 0.98))


def choose_length(config: TrainConfig, loop: Loop) -> int:
    """Return the length of the next step: the longest so far, sometimes one shorter; any, once all have passed."""
    draw = seeding.generator(config.seed, "length", loop.step).random()
    if loop.passed:
        return config.lengths[int(draw * len(config.lengths))]
    return config.lengths[max(0, loop.top - 1) if draw < config.shorter else loop.top]


def advance(config: TrainConfig, loop: Loop, length: int, right: float) -> None:
    """Fold a step's accuracy into the running one, and open the next length when it passes the gate."""
    if length != config.lengths[loop.top]:
        return
    loop.running = 0.97 * loop.running + 0.03 * right
    if loop.running > config.gate:
        if loop.top + 1 < len(config.lengths):
            loop.top, loop.running = loop.top + 1, 0.5
        else:
            loop.passed = True


def train(
    config: TrainConfig,
    folder: Path,
    *,
    minutes: float | None = None,
    device: str = "auto",
    tensorboard: bool = False,
    quiet: bool = False,
) -> Trained:
    """Train, or go on training, in `folder`; stop after the recipe's steps, `minutes`, or the wanted accuracy.

    `minutes` counts this call alone and changes no step. Raises `DivergedError` when the loss is no number, and
    `InputError` for a folder of another recipe or a batch that does not fit the memory.
    """
    if minutes is not None and not 0 < minutes < math.inf:
        raise InputError(f"--minutes is {minutes}: give a number over 0")
    with workers(device) as team:
        torch.manual_seed(config.seed)
        model = Backbone(config.model).to(team.device).train()
        optimizer = make_optimizer(config, model)
        folder.mkdir(parents=True, exist_ok=True)
        loop = resume(folder, config, model, optimizer)
        run = _Run(config, folder, team, model, optimizer, loop, minutes, quiet, saved=loop.step)
        with run.logs(tensorboard), _stop_signals() as asked_to_stop:
            reason = run.go(asked_to_stop)
    return Trained(folder, reason, loop)


@dataclass(slots=True)
class _Run:
    """One call of `train`."""

    config: TrainConfig
    folder: Path
    team: Workers
    model: Backbone
    optimizer: torch.optim.AdamW
    loop: Loop
    minutes: float | None
    quiet: bool
    saved: int = 0
    """Step of the last checkpoint."""
    writer: Any = None
    board: Any = None
    file: Any = None

    @contextlib.contextmanager
    def logs(self, tensorboard: bool) -> Iterator[None]:
        """Open the CSV log, cut back to the step that is resumed from, and the TensorBoard log."""
        if self.team.rank:
            yield
            return
        path = self.folder / LOG
        kept: list[list[str]] = []
        if self.loop.step and path.exists():
            with path.open(newline="") as file:
                rows = [row for row in csv.reader(file) if len(row) == len(COLUMNS) and row[0].isdigit()]
            kept = [row for row in rows if int(row[0]) <= self.loop.step]
        if tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise InputError("--tensorboard needs the package tensorboard: pip install tensorboard") from error
            self.board = SummaryWriter(str(self.folder / "tensorboard"), purge_step=self.loop.step + 1)
        try:
            with path.open("w", newline="") as file:
                self.file, self.writer = file, csv.writer(file)
                self.writer.writerows([list(COLUMNS), *kept])
                file.flush()
                yield
        finally:
            if self.board is not None:
                self.board.close()

    def go(self, asked_to_stop: threading.Event) -> Reason:
        """Run steps until something ends the training."""
        loop, config = self.loop, self.config
        started, before = time.monotonic(), loop.seconds
        spoke, tokens = started, loop.tokens
        reason = self.over()
        while reason is None:
            row = self.step()
            now = time.monotonic()
            loop.seconds = before + now - started
            if self.writer is not None:
                self.writer.writerow([*row, f"{loop.seconds:.2f}"])
                if self.board is not None:
                    for name in ("loss", "accuracy", "length"):
                        self.board.add_scalar(name, row[COLUMNS.index(name)], loop.step)
            if loop.step % config.validate_every == 0:
                self.validate()
            reason = self.over()
            if reason is None and self.minutes is not None and now - started > 60 * self.minutes:
                reason = "minutes"
            if reason is None and asked_to_stop.is_set():
                reason = "interrupted"
            reason = self.agreed(reason)
            if reason is not None and reason != "interrupted" and loop.step % config.validate_every:
                self.validate()
            if reason is not None or loop.step % config.checkpoint_every == 0:
                self.save()
            if not self.quiet and not self.team.rank and now - spoke > 10:
                self.tell(row, (loop.tokens - tokens) / (now - spoke), started, now)
                spoke, tokens = now, loop.tokens
        return reason

    def over(self) -> Reason | None:
        """Say whether the recipe is done."""
        loop, config = self.loop, self.config
        if loop.step >= config.steps:
            return "steps"
        if sum(loop.seen.values()) >= config.epochs * config.for_training:
            return "epochs"
        if loop.history and loop.history[-1]["step"] == loop.step:
            found = loop.history[-1]["accuracy"].values()
            if sum(found) / len(found) >= config.stop_at:
                return "accuracy"
        return None

    def agreed(self, reason: Reason | None) -> Reason | None:
        """Return the first process's reason: clocks differ, and all must stop at the same step."""
        if self.team.count == 1:
            return reason
        box = [reason]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def step(self) -> list[Any]:
        """Do one step; return the row of the log."""
        config, loop, team = self.config, self.loop, self.team
        length = choose_length(config, loop)
        total = max(config.batch_at(length), team.count)
        seen = loop.seen.get(str(length), 0)
        first, count = team.part(total)
        rate = config.rate_at(loop.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        sums = torch.zeros(2, device=team.device)
        try:
            for start in range(0, count, -(-count // config.accumulate)):
                size = min(-(-count // config.accumulate), count - start)
                sums += self.backward(length, seen + first + start, size, size / count)
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error):
                raise InputError(
                    f"no memory for {count} sequences of length {length}: lower `batch` and `min_batch`, or set "
                    f"`accumulate` (now {config.accumulate}) to compute a batch in parts; the last checkpoint is kept"
                ) from error
            raise
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        team.mean([*gradients, sums])
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        loss, right = sums.tolist()
        if not (math.isfinite(loss) and math.isfinite(float(norm))):
            kept = (
                f"the last good checkpoint in {self.folder} is from step {self.saved}"
                if self.saved
                else "none is saved"
            )
            raise DivergedError(
                f"step {loop.step + 1}: the loss is {loss} and the gradient's norm {float(norm)}; {kept}. Lower "
                "learning_rate or clip, in another --out"
            )
        self.optimizer.step()
        loop.step += 1
        loop.seen[str(length)] = seen + total
        loop.tokens += total * (length + config.queries)
        advance(config, loop, length, right)
        return [loop.step, length, total, loss, right, rate, loop.tokens]

    def backward(self, length: int, first: int, count: int, share: float) -> torch.Tensor:
        """Add the gradients of `count` sequences, weighed by `share`; return weighed loss and accuracy."""
        config, device = self.config, self.team.device
        batch = sequences(config.seed, length, first, count, config.queries, config.for_training)
        labels = batch.labels.to(device)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            logits = self.model(batch.symbols.to(device), batch.candidates.to(device))
        loss = cross_entropy(logits.float().flatten(0, 1), labels.flatten())
        extra = self.model.extra_loss()
        ((loss if extra is None else loss + extra) * share).backward()
        right = (logits.argmax(-1) == labels).float().mean()
        return torch.stack([loss.detach(), right]) * share

    def validate(self) -> None:
        """Add the accuracy at every length to the history."""
        config, loop = self.config, self.loop
        found = {
            str(length): accuracy(
                self.model, config.seed, length, config.for_training, config.validation_streams, config.queries
            )
            for length in config.lengths
        }
        entry = {"step": loop.step, "seconds": round(loop.seconds, 1), "tokens": loop.tokens, "accuracy": found}
        loop.history.append(entry)
        if self.board is not None:
            for length, value in found.items():
                self.board.add_scalar(f"validation/{length}", value, loop.step)

    def save(self) -> None:
        """Write the log and the checkpoint."""
        self.saved = self.loop.step
        if not self.team.rank:
            self.file.flush()
            save_training(self.folder, self.config, self.model, self.optimizer, self.loop)

    def tell(self, row: list[Any], speed: float, started: float, now: float) -> None:
        """Say on standard error where the training is, how fast, and how long it will take."""
        step, length, _, loss, right, *_ = row
        left = (self.config.steps - step) * self.loop.seconds / step
        if self.minutes is not None:
            left = min(left, 60 * self.minutes - (now - started))
        print(
            f"{self.config.model.backbone}: step {step} of {self.config.steps}, L = {length}, loss {loss:.3f}, "
            f"accuracy {right:.3f}, {speed:,.0f} tokens/s, {max(left, 0) / 60:.1f} min left",
            file=sys.stderr,
        )


@contextlib.contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """Turn an interrupt or a termination into an event, so that a step is finished and saved before the end."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def ask(number: int, frame: FrameType | None) -> None:
        event.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
