"""A scripted judge: what is asked, retried, kept and never kept."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from memgauge.errors import InputError
from memgauge.grading.judge.asking import Asking, JudgeFailedError, JudgeItem, judge_all
from memgauge.grading.judge.cache import JudgeCache, cache_key

RIGHT, WRONG = '{"answer_score": 1}', '{"answer_score": 0}'


class Scripted:
    """Replies by prediction: a list of texts or exceptions, the last of which is repeated."""

    def __init__(self, script):
        self.script = script
        self.asked = Counter()
        self.running = self.most = 0

    async def __call__(self, messages):
        name = next(n for n in self.script if f"\n{n}\n" in messages[1]["content"])
        replies = self.script[name]
        reply = replies[min(self.asked[name], len(replies) - 1)]
        self.asked[name] += 1
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        if isinstance(reply, BaseException):
            raise reply
        return reply


SCRIPT = {
    "good": [RIGHT],
    "bad": [WRONG],
    "fenced": [f"```json\n{RIGHT}\n```"],
    "sentence": ["In summary, the student's answer deserves 1 point."],
    "line": ["[Score]: 0 points"],
    "agreeing": [f"[Score]: 1 point\n{RIGHT}"],
    "later": ["hm", RIGHT],
    "limited": [JudgeFailedError("429"), WRONG],
    "dropped": [ConnectionResetError("gone"), TimeoutError(), RIGHT],
    "contradicting": [f"[Score]: 0 points\n{RIGHT}"],
    "quoting": [f"The student wrote: {RIGHT}"],
    "quoting_then": [f"The student wrote: {RIGHT}\n{WRONG}"],
    "empty": [""],
    "html": ["<html>502</html>"],
    "prose": ["The answer is correct."],
    "two": ['{"answer_score": 2}'],
    "half": ["[Score]: 0.5 points"],
    "thinking": [f"<think>{RIGHT}"],
    "cut": ['{"answer_score":'],
    "failing": [JudgeFailedError("no quota")],
    "denied": [PermissionError("key")],
}
EXPECTED = {
    **dict.fromkeys(("good", "fenced", "sentence", "agreeing", "later", "dropped"), ("answered", 1)),
    **dict.fromkeys(("bad", "line", "limited", "quoting_then"), ("answered", 0)),
    **dict.fromkeys(
        ("contradicting", "quoting", "empty", "html", "prose", "two", "half", "thinking", "cut"), ("unparsed", None)
    ),
    **dict.fromkeys(("failing", "denied"), ("judge_error", None)),
}


def items():
    return [JudgeItem(name, "IE", "Q?", "R", name) for name in SCRIPT]


def run(judge, cache, **options):
    async def go():
        asking = Asking(judge, "judge-1", {"temperature": 0}, wait_s=0, **options)
        return {done.id: done async for done in judge_all(items(), asking, cache)}

    return asyncio.run(go())


def test_no_verdict_is_invented_and_only_clear_ones_are_kept(tmp_path):
    path = tmp_path / "judge.sqlite"
    judge = Scripted(SCRIPT)
    with JudgeCache(path) as cache:
        done = run(judge, cache, concurrency=4)
        assert {name: (str(d.outcome), d.value) for name, d in done.items()} == EXPECTED
        assert judge.most == 4
        assert judge.asked["later"] == 2
        assert judge.asked["dropped"] == 3
        assert judge.asked["failing"] == judge.asked["html"] == 3
        assert len(cache) == sum(outcome == "answered" for outcome, _ in EXPECTED.values())
        assert done["failing"].error == "JudgeFailedError: no quota"
    # A second run asks only what had no verdict, and a judge that has recovered is heard.
    recovered = Scripted({name: [RIGHT] for name in SCRIPT})
    with JudgeCache(path) as cache:
        again = run(recovered, cache)
    assert set(recovered.asked) == {name for name, (outcome, _) in EXPECTED.items() if outcome != "answered"}
    for name, (outcome, value) in EXPECTED.items():
        assert again[name].value == (value if outcome == "answered" else 1)
        assert again[name].cached is (outcome == "answered")


def test_another_judge_or_setting_shares_nothing():
    keys = {
        cache_key("a", "m", {}),
        cache_key("b", "m", {}),
        cache_key("a", "n", {}),
        cache_key("a", "m", {"temperature": 0}),
    }
    assert len(keys) == 4
    assert cache_key("a", "m", {"x": 1, "y": 2}) == cache_key("a", "m", {"y": 2, "x": 1})


def test_items_are_taken_lazily_and_a_stopped_run_leaves_nothing_running():
    taken = []

    def source():
        for item in items():
            taken.append(item.id)
            yield item

    async def go():
        with JudgeCache(None) as cache:
            stream = judge_all(source(), Asking(Scripted(SCRIPT), "m", concurrency=2, wait_s=0), cache)
            await anext(stream)
            await stream.aclose()
            return len(asyncio.all_tasks())

    assert asyncio.run(go()) == 1
    assert len(taken) <= 4


def test_a_bug_in_the_judge_is_not_swallowed():
    with JudgeCache(None) as cache, pytest.raises(ZeroDivisionError):
        run(Scripted(SCRIPT | {"good": [ZeroDivisionError()]}), cache)


def test_a_file_that_is_no_cache(tmp_path):
    file = tmp_path / "no.sqlite"
    file.write_text("not a database, but longer than a header of one hundred bytes " * 4)
    with pytest.raises(InputError, match="judge cache"):
        JudgeCache(file)
    with JudgeCache(None) as cache, pytest.raises(ValueError, match="0 or 1"):
        cache.put("k", 2, "")
