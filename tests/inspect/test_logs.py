"""Logs that cannot be used: each is a clear error or a named outcome, never an answer."""

from __future__ import annotations

import copy
import json
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from changed_logs import with_one_field_changed

from memgauge.errors import InputError
from memgauge.importers import inspect_log
from memgauge.importers.inspect_log import InspectLog, find_logs
from memgauge.importers.inspect_rows import Options
from memgauge.importers.inspect_run import import_inspect
from memgauge.responses import load_responses

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")


@pytest.fixture
def made(good_log, tmp_path):
    """A good log: its path, and its content as JSON."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "good.eval").write_bytes(good_log[0])
    (tmp_path / "logs" / "same.json").write_bytes(good_log[1])
    return tmp_path / "logs" / "good.eval", json.loads(good_log[1])


@pytest.fixture
def refused(made, tmp_path):
    """Change the good log, import it, and return what is said."""
    content = made[1]

    def run(change, options=None):
        changed = copy.deepcopy(content)
        change(changed)
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(changed))
        with pytest.raises(InputError) as caught:
            import_inspect([file], options)
        assert str(file) in str(caught.value)
        return str(caught.value)

    return run


@pytest.fixture
def changed_rows(made, tmp_path):
    def run(change, options=None):
        changed = copy.deepcopy(made[1])
        change(changed["samples"][0])
        file = tmp_path / "changed.json"
        file.write_text(json.dumps(changed))
        return import_inspect([file], options).rows.sort("query").row(0, named=True)

    return run


def test_both_formats_say_what_inspect_says(made):
    """Inspect's own reader is the oracle for ours, which does without it."""
    from inspect_ai.log import read_eval_log

    path, _ = made
    theirs = {str(s.id): (s.output.completion, s.target, s.epoch) for s in read_eval_log(str(path)).samples}
    tables = []
    for file in (path, path.with_name("same.json")):
        with InspectLog(file) as log:
            ours = {name: log.sample(name, epoch) for name, epoch in log.samples}
        assert {n: (s["output"]["completion"], s["target"], s["epoch"]) for n, s in ours.items()} == theirs
        tables.append(import_inspect([file]).rows.drop("run"))
    assert tables[0].equals(tables[1])


def test_importing_needs_no_inspect(made, tmp_path):
    code = (
        "import sys; sys.modules['inspect_ai'] = None\nfrom memgauge.cli.app import run\n"
        f"sys.exit(run(['import-inspect', {str(made[0])!r}, '--out', {str(tmp_path / 'r')!r}, '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcomes"] == {"answered": 4}
    rows = load_responses(tmp_path / "r")
    assert rows["correct"].sum() == 2
    assert rows["finish_reason"].to_list() == ["stop"] * 4
    assert rows["tokens_out"].to_list() == [6] * 4
    assert rows["t_ans"].to_list() == [pytest.approx(6 * 6 / 10)] * 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an empty file"),
        (b"hello", "neither an .eval archive nor a JSON object"),
        (b"[]", "neither an .eval archive nor a JSON object"),
        (b"{", "not readable as JSON"),
        (b"{}", "format 'None'"),
        (b'{"version": 3}', "format '3'"),
        (b'{"version": 2}', "does not say what was evaluated"),
        (b'{"version": 2, "eval": []}', "does not say what was evaluated"),
        (b'{"version": 2, "eval": {}}', "a log of the task 'None'"),
        (b'{"version": 2, "eval": {"task": "\\u001b[31mgsm8k\\ud800"}}', "a log of the task '?[31mgsm8k?'"),
        (b'{"a":' * 100_000, "not readable as JSON"),
        (b'{"version": 2, "eval": {}, "samples": [{"id": 1}]}', "a sample without id and epoch"),
        (b'{"version": ' + b"9" * 5000 + b"}", "not readable as JSON"),
        (b"PK\x03\x04 cut", "a broken .eval archive"),
        (b"PK\x05\x06" + b"\0" * 18, "holds no header.json"),
        (b'\xff\xfe{"version": 2}', "neither an .eval archive nor a JSON object"),
        (b'{"version": "\xff"}', "not readable as JSON"),
    ],
)
def test_what_is_no_log(tmp_path, content, message):
    for name in ("x.eval", "x.json"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            import_inspect([path])
        assert message in str(caught.value)
        assert str(path) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path, made):
    with pytest.raises(InputError, match="no such file"):
        import_inspect([tmp_path / "nothing.eval"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no Inspect log in this folder"):
        import_inspect([tmp_path / "empty"])
    with pytest.raises(InputError, match="given twice"):
        find_logs([made[0], made[0]])
    with pytest.raises(InputError, match="not a file"):
        InspectLog(tmp_path / "empty")
    assert find_logs([made[0].parent]) == sorted([made[0], made[0].with_name("same.json")])


def test_every_cut_of_an_archive_is_an_error(made, tmp_path):
    """A log that was cut short when it was copied, at a hundred places, and one with a byte changed in each sample."""
    data = made[0].read_bytes()
    path = tmp_path / "cut.eval"
    for size in range(1, len(data), len(data) // 100):
        path.write_bytes(data[:size])
        with pytest.raises(InputError):
            import_inspect([path])
    with zipfile.ZipFile(made[0]) as archive:
        offsets = [i.header_offset + 30 + len(i.filename) + 40 for i in archive.infolist() if "samples/" in i.filename]
    for offset in offsets:
        changed = bytearray(data)
        changed[offset] ^= 0xFF
        path.write_bytes(changed)
        with pytest.raises(InputError, match="the log is broken"):
            import_inspect([path])


def archive(path, members, **options):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def test_archives_that_unpack_to_too_much(tmp_path, monkeypatch):
    """Sizes are bounded before and while a member is unpacked, whatever the archive claims."""
    monkeypatch.setattr(inspect_log, "MEMBER_LIMIT", 1 << 20)
    bomb = archive(tmp_path / "bomb.eval", {"header.json": b" " * (8 << 20)})
    with pytest.raises(InputError, match="MiB unpacked; at most 1"):
        InspectLog(bomb)
    # The same with a lie about the size, in both places where it stands.
    data = bomb.read_bytes().replace(struct.pack("<I", 8 << 20), struct.pack("<I", 100))
    bomb.write_bytes(data)
    with pytest.raises(InputError, match="not what the archive says it is"):
        InspectLog(bomb)
    monkeypatch.setattr(inspect_log, "JSON_LIMIT", 100)
    (tmp_path / "large.json").write_text('{"version": 2, "eval": "' + "x" * 200 + '"}')
    with pytest.raises(InputError, match="inspect log convert"):
        InspectLog(tmp_path / "large.json")
    monkeypatch.setattr(inspect_log, "MEMBERS_LIMIT", 2)
    with pytest.raises(InputError, match="an archive of 3 files"):
        InspectLog(archive(tmp_path / "many.eval", {str(i): b"" for i in range(3)}))


def test_members_that_are_not_what_they_should_be(tmp_path, made):
    with zipfile.ZipFile(archive(tmp_path / "a.eval", {"header.json": b"[1]"})):
        pass
    with pytest.raises(InputError, match="not a JSON object"):
        InspectLog(tmp_path / "a.eval")
    header = {k: v for k, v in made[1].items() if k not in ("samples", "reductions")}
    samples = made[1]["samples"]
    names = [f"samples/{s['id']}_epoch_1.json" for s in samples]
    swapped = dict(zip(names, (json.dumps(s) for s in samples[::-1]), strict=True))
    path = archive(tmp_path / "b.eval", {"header.json": json.dumps(header), **swapped})
    with pytest.raises(InputError, match="is another one"):
        import_inspect([path])
    strange = {"samples/../../../tmp/x_epoch_1.json": json.dumps(samples[0])}
    good = dict(zip(names, map(json.dumps, samples), strict=True))
    path = archive(tmp_path / "c.eval", {"header.json": json.dumps(header), **good, **strange})
    with pytest.raises(InputError, match="not one of the task's"):
        import_inspect([path])


def test_logs_of_other_tasks_and_versions(refused):
    def other(log):
        log["eval"]["task_registry_name"] = "inspect_evals/gsm8k"

    assert "a log of the task 'inspect_evals/gsm8k'" in refused(other)
    assert "version 2 of memgauge/ecc_text" in refused(lambda log: log["eval"].update(task_version=2))
    assert "law differ" in refused(lambda log: log["eval"]["metadata"]["memgauge"].update(law=0))
    assert "differ" in refused(lambda log: log["eval"].update(metadata=None))
    assert "seed is 'x'" in refused(lambda log: log["eval"]["task_args"].update(seed="x"))
    assert "unknown parameter" in refused(lambda log: log["eval"]["task_args"].update(model="x"))
    assert "another seed" not in refused(lambda log: log["eval"]["task_args"].update(seed=5))
    assert "does not name its model" in refused(lambda log: log["eval"].update(model=None))
    assert "system message" in refused(lambda log: log["plan"]["config"].update(system_message="Think."))


def test_evaluations_that_did_not_end_well(refused, made, tmp_path):
    def failed(log):
        log.update(status="error", error={"message": "boom\n\x1b[2J", "traceback": "", "traceback_ansi": ""})
        del log["samples"][1:]

    said = refused(failed)
    assert "status 'error': boom" in said
    assert "--partial" in said
    assert "status 'cancelled'" in refused(lambda log: log.update(status="cancelled"))
    assert "3 of 4 samples are missing" in refused(
        lambda log: log["samples"].pop() and log["samples"].__delitem__(slice(1, None))
    )
    assert "4 of 4 samples are missing" in refused(lambda log: log.update(samples=None))
    assert "holds no sample" in refused(lambda log: log.update(samples=None), Options(partial=True))
    changed = copy.deepcopy(made[1])
    failed(changed)
    (tmp_path / "part.json").write_text(json.dumps(changed))
    found = import_inspect([tmp_path / "part.json"], Options(partial=True))
    assert found.rows.height == 1
    assert [note.partition(": ")[2] for note in found.notes] == [
        "status 'error': boom ?[2J",
        "3 of 4 questions were not asked",
    ]


def test_a_log_that_is_still_being_written(made, tmp_path):
    """It has no header.json yet."""
    header = {k: made[1][k] for k in ("version", "eval", "plan")}
    sample = made[1]["samples"][0]
    members = {"_journal/start.json": json.dumps(header), f"samples/{sample['id']}_epoch_1.json": json.dumps(sample)}
    path = archive(tmp_path / "open.eval", members)
    with pytest.raises(InputError, match="status 'started'"):
        import_inspect([path])
    assert import_inspect([path], Options(partial=True)).rows.height == 1


def test_epochs(evaluate):
    log = evaluate(eval_epochs=2)
    with pytest.raises(InputError, match="asked 2 times"):
        import_inspect([Path(log.location)])
    with pytest.raises(InputError, match="no epoch 3; it has 1, 2"):
        import_inspect([Path(log.location)], Options(epoch=3))
    assert import_inspect([Path(log.location)], Options(epoch=2)).rows.height == 4


def test_samples_that_were_changed(refused):
    def first(**values):
        return lambda log: log["samples"][0].update(values)

    def score(**values):
        return lambda log: log["samples"][0]["scores"]["membership"].update(values)

    assert "its target is not the right answer" in refused(first(target="maybe"))
    assert "was invalidated" in refused(first(invalidation={"author": "me"}))
    assert "the request in the log is not" in refused(
        lambda log: log["samples"][0]["messages"][0].update(content="Is it {0}?")
    )
    assert "one question and one answer" in refused(
        lambda log: log["samples"][0]["messages"].insert(0, {"role": "system", "content": "x"})
    )
    assert "one question and one answer" in refused(first(messages=None))
    assert "scored answered 'N'" in refused(score(value="N"))
    assert "version 9 of our scorer" in refused(score(metadata={"version": 9}))
    assert "scored answered" in refused(
        lambda log: log["samples"][0]["output"]["choices"][0]["message"].update(content="prose")
    )


def test_a_log_without_scores_is_graded_all_the_same(changed_rows):
    assert changed_rows(lambda sample: sample.update(scores=None))["outcome"] == "answered"
    assert changed_rows(lambda sample: sample.update(scores={"other": {"value": 1}}))["outcome"] == "answered"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"error": "the provider said \ud800"}, {"outcome": "model_error", "error": "the provider said ?"}),
        ({"choices": []}, {"outcome": "refused_by_server", "refused_kind": "empty"}),
        ({"choices": [1]}, {"outcome": "model_error"}),
        ({"choices": [1, 2]}, {"outcome": "model_error"}),
        ({"choices": [{"message": {"content": "{0}"}, "stop_reason": "model_length"}]}, {"refused_kind": "too_long"}),
        (
            {
                "choices": [{"message": {"content": "so far"}, "stop_reason": "model_length"}],
                "usage": {"input_tokens": 99, "output_tokens": 9},
            },
            {"outcome": "abstained", "abstain_kind": "overflow", "finish_reason": "length", "tokens_out": 9},
        ),
        (
            {
                "choices": [
                    {"message": {"content": [{"type": "text", "text": "{0}", "refusal": True}]}, "stop_reason": "stop"}
                ]
            },
            {"refused_kind": "filtered", "correct": None},
        ),
        (
            {
                "choices": [
                    {
                        "message": {
                            "content": [
                                {"type": "reasoning", "reasoning": "ciphertext {1}", "redacted": True, "summary": "S"},
                                {"type": "text", "text": "\ud800{0}"},
                                {"type": "tool_use"},
                                7,
                            ]
                        },
                        "stop_reason": "stop",
                    }
                ],
                "usage": {"input_tokens": 10, "input_tokens_cache_read": 40, "output_tokens": -3},
            },
            {"raw_output": "<think>S</think>?{0}", "tokens_in": 50, "tokens_out": None, "answer": "yes"},
        ),
        ({"choices": [{"message": {"content": "{1}"}, "stop_reason": 7}], "usage": [1]}, {"answer": "no"}),
    ],
)
def test_replies(changed_rows, output, expected):
    row = changed_rows(lambda sample: sample.update(scores=None, output=output))
    assert {name: row[name] for name in expected} == expected


def test_samples_that_failed_are_errors_and_no_answers(changed_rows):
    """Each holds a good answer beside what went wrong."""
    for change, said in (
        ({"error": {"message": "HTTP 500"}}, "Inspect: HTTP 500"),
        ({"error": "odd"}, "Inspect: odd"),
        ({"limit": {"type": "time", "limit": 3}}, "Inspect stopped it at its time limit"),
        ({"model_fallbacks": [{"model": "a"}]}, "another model than the one that was asked"),
    ):
        row = changed_rows(lambda sample, change=change: sample.update(change))
        assert (row["outcome"], row["correct"], row["answer"]) == ("model_error", None, None)
        assert said in row["error"]


def test_a_request_that_was_cut_short_is_refused_unless_told_otherwise(changed_rows):
    def change(sample):
        sample["output"]["usage"]["input_tokens"] = 5

    assert changed_rows(change)["refused_kind"] == "too_long"
    assert changed_rows(change, Options(check_truncation=False))["outcome"] == "answered"


def test_several_logs_become_one_run(evaluate, tmp_path):
    logs = [Path(evaluate(folder=f"logs-{arm}", arms=arm).location) for arm in ("none", "A")]
    found = import_inspect([log.parent for log in logs])
    assert found.rows.height == 8
    assert set(found.rows["arm"]) == {"none", "A"}
    assert len(found.systems) == 1
    assert found.data == import_inspect(logs[:1]).data
    with pytest.raises(InputError, match=r"answers question max-32-0000/q00 \(arm A\) in .* already"):
        import_inspect([*logs, Path(evaluate(folder="again", arms="A").location)])
    other_seed = Path(evaluate(folder="other", seed=1).location)
    with pytest.raises(InputError, match="its data is not that of the logs before it"):
        import_inspect([logs[0], other_seed])
    warm = Path(evaluate(folder="warm", arms="B", eval_temperature=1.0).location)
    both = import_inspect([logs[0], warm])
    assert [s["name"] for s in both.systems] == ["mockllm/model", "mockllm/model:temperature=1.0"]
    with pytest.raises(InputError, match="ran with other settings"):
        import_inspect([logs[0], warm], Options(label="same"))


def test_keys_stay_out_of_the_run(evaluate, tmp_path):
    """Headers and model arguments may hold a key: settings are written down as a hash."""
    from memgauge.cli.app import run

    log = evaluate(eval_extra_headers={"X-Key": "sk-secret-123"}, eval_extra_body={"token": "sk-secret-123"})
    assert run(["import-inspect", log.location, "--out", str(tmp_path / "r")]) == 0
    assert b"sk-secret" not in b"".join(p.read_bytes() for p in (tmp_path / "r").iterdir())
    assert run(["import-inspect", log.location, "--out", str(tmp_path / "r")]) == 2  # not empty
    assert run(["import-inspect", log.location, "--out", str(tmp_path / "x"), "--label", " "]) == 2
    assert run(["import-inspect", log.location, "--out", str(tmp_path / "x"), "--price", "nothing"]) == 2
    assert not (tmp_path / "x").exists()


def test_show_prints_the_question_of_an_imported_run(evaluate, tmp_path, capsys):
    from memgauge.cli.app import run

    log = evaluate()
    assert run(["import-inspect", log.location, "--out", str(tmp_path / "r")]) == 0
    assert run(["show", str(tmp_path / "r"), "max-32-0000/q00"]) == 0
    assert "occurs" in capsys.readouterr().out


def test_any_field_may_hold_anything(made, tmp_path):
    """Any one field of a log replaced by a value of another kind: it is refused, or it changes nothing that matters.

    300 of some 2,700 pairs of field and value, with a fixed seed.
    """
    file, refused = tmp_path / "changed.json", 0
    for changed, rng in with_one_field_changed(made[1], 300, 7):
        file.write_text(json.dumps(changed))
        options = Options(partial=rng.random() < 0.5, label=rng.choice((None, "\udc80")))
        try:
            found = import_inspect([file], options)
        except InputError as error:
            assert str(file) in str(error)  # noqa: PT017 - most values are fine, so that nothing is raised
            refused += 1
        else:
            shutil.rmtree(tmp_path / "run", ignore_errors=True)
            found.write(tmp_path / "run")
            assert set(found.rows["gold"]) <= {"yes", "no"}
    assert 0 < refused < 300
