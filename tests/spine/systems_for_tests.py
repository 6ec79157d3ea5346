"""Small systems for the run loop's tests: the same memory answering in three ways, and memories that misbehave."""

from __future__ import annotations

import asyncio
import time

import numpy as np

from memgauge.system import Answer, BatchAnswers, WriteCost


class LastMemory:
    """Keeps the last `keep` symbols."""

    def __init__(self, keep):
        self.keep = keep
        self.kept = b""
        self.seen = 0

    def write(self, observation):
        self.seen += len(observation.symbols)
        self.kept = (self.kept + observation.symbols.tobytes())[-self.keep :]

    def answer(self, question):
        found = question.candidate.tobytes() in self.kept
        return Answer(found, confidence=1.0 if found else 0.75, flops_read=len(question.candidate) * len(self.kept))

    def cost(self):
        return WriteCost(flops=self.seen, state_bits=4 * self.keep)


class ReadMemory(LastMemory):
    def read(self, question):
        return self.answer(question)


class AsyncMemory(LastMemory):
    async def aread(self, question):
        await asyncio.sleep(0.0005 * (question.seed % 3))
        return self.answer(question)


class Last:
    def __init__(self, keep: int = 40):
        self.keep = keep

    name = "last"

    def start(self, seed):
        return ReadMemory(self.keep)


class LastAsync(Last):
    def start(self, seed):
        return AsyncMemory(self.keep)


class LastBatch:
    name = "last"

    def __init__(self, keep: int = 40):
        self.keep = keep

    def read_batch(self, batch):
        count, per = batch.candidate_lengths.shape
        value = np.zeros((count, per), bool)
        flops = np.zeros((count, per), np.int64)
        for e in range(count):
            kept = batch.symbols[e].tobytes()[-self.keep :]
            for q in range(per):
                size = int(batch.candidate_lengths[e, q])
                value[e, q] = batch.candidates[e, q, :size].tobytes() in kept
                flops[e, q] = size * len(kept)
        length = batch.symbols.shape[1]
        return BatchAnswers(
            value=value,
            abstain=np.zeros_like(value),
            confidence=np.where(value, 1.0, 0.75),
            flops_write=np.full(count, length, np.int64),
            flops_read=flops,
            state_bits=np.full(count, 4 * self.keep, np.int64),
        )


class Misbehaving(Last):
    """Does one thing wrong in the episodes whose first symbol is even."""

    def __init__(self, fault: str):
        super().__init__()
        self.fault = fault

    def start(self, seed):
        return MisbehavingMemory(self.fault)


class MisbehavingMemory(ReadMemory):
    def __init__(self, fault):
        super().__init__(40)
        self.fault = fault
        self.bad = None
        self.asked = 0

    def write(self, observation):
        if self.bad is None:
            self.bad = bool(observation.symbols[0] % 2 == 0)
        if self.bad and self.fault == "write raises":
            raise ValueError("cannot write this")
        super().write(observation)

    def cost(self):
        return WriteCost(flops=-1) if self.bad and self.fault == "negative cost" else super().cost()

    def read(self, question):
        if not self.bad:
            return super().read(question)
        if self.fault == "raises":
            raise RuntimeError("no answer today")
        if self.fault == "exits":
            raise SystemExit(3)
        if self.fault == "cancels":
            raise asyncio.CancelledError
        if self.fault == "bad time":
            return Answer(True, t_ans=float("nan"))
        if self.fault == "huge cost":
            return Answer(True, flops_read=2**70)
        if self.fault == "bad evidence":
            return Answer(True, evidence=(object(),))
        if self.fault == "hangs":
            time.sleep(30)
        if self.fault == "nonsense":
            return {"answer": "yes"}
        if self.fault == "bad confidence":
            return Answer(True, confidence=1.5)
        if self.fault == "bad value":
            return Answer(42)
        if self.fault == "mutates":
            self.asked += 1
            return Answer(self.asked % 2 == 0)
        return super().read(question)


class AsyncFaults(Last):
    """Raises `error` in the questions whose seed is even, from a coroutine."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def start(self, seed):
        memory = AsyncMemory(40)
        plain = memory.aread

        async def aread(question):
            if question.seed % 2 == 0:
                raise self.error
            return await plain(question)

        memory.aread = aread
        return memory


class Counting(Last):
    """Reads change the memory, and it says so: every question sees the same state."""

    reads_mutate = True

    def start(self, seed):
        return CountingMemory(40)


class CountingMemory(ReadMemory):
    asked = 0

    def read(self, question):
        self.asked += 1
        return Answer(self.asked == 1)


class Text(Last):
    """Answers in a model's own words, from the words that it was shown."""

    def start(self, seed):
        return TextMemory()


class TextMemory:
    def __init__(self):
        self.parts = []

    def write(self, observation):
        self.parts.append(observation.text)

    def read(self, question):
        stream = " " + ", ".join(self.parts) + ","
        found = f" {question.text}," in stream
        return Answer(raw=f"I think {{{0 if found else 1}}}", tokens_out=5, tokens_in=len(stream), flops_write=7)
