"""Every structural gate holds on a fresh build and fails on a folder that is broken in its own way."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import struct
import zlib

import pytest
from broken import Broken

from memgauge.errors import InputError
from memgauge.histories.building.checking.folder import Folder
from memgauge.histories.building.checking.run import structural_gates
from memgauge.histories.building.store import picture_file


def failing(folder):
    gates, _ = structural_gates(Folder(folder))
    return {gate.name: gate for gate in gates if gate.verdict != "holds"}


def test_a_fresh_build_holds(built):
    gates, sample = structural_gates(Folder(built))
    assert {gate.name: gate.problems for gate in gates if gate.verdict != "holds"} == {}
    assert all(gate.n > 0 for gate in gates)
    assert sum(sample.evidence) > 10


def chat(b):
    return b.number(builder="ie_chat")


def change_field(b):
    b.records(0)[0]["haystack_sessions"][0][0]["has_answer"] = "no"


def drop_images(b):
    del b.records(0)[0]["haystack_sessions"][0][0]["images"]


def extra_field(b):
    b.records(0)[1]["has_evidence"] = True


def meta_without_gold(b):
    del b.meta[0]["gold"]


def drop_date(b):
    del b.records(0)[0]["haystack_dates"][-1]


def drop_marker(b):
    name = b.meta[0]["sessions"][[s["kind"] for s in b.meta[0]["sessions"]].index("picture")]["session_id"]
    for turns in b.turns(0, name):
        for turn in turns:
            turn["content"] = turn["content"].replace("<image>", "", 1)


def marker_in_question(b):
    for record in b.records(0):
        record["question"] += " <image>"


def half_exchange(b):
    del b.records(0)[-1]["haystack_sessions"][filler_at(b)][-1]


def filler_at(b):
    record = b.records(0)[-1]
    kinds = {s["session_id"]: s["kind"] for s in b.meta[0]["sessions"]}
    return next(i for i, name in enumerate(record["haystack_session_ids"]) if kinds[name] == "filler")


def evidence_elsewhere(b):
    record = b.records(0)[-1]
    session = next(i for i, n in enumerate(record["haystack_session_ids"]) if n not in record["answer_session_ids"])
    record["haystack_sessions"][session][0]["has_answer"] = True


def unmarked_evidence(b):
    for turns in b.turns(0, b.meta[0]["answer_session_ids"][0]):
        for turn in turns:
            turn["has_answer"] = False


def refusal_with_evidence(b):
    for record in b.records(b.number(refusal=True)):
        record["answer_session_ids"] = record["haystack_session_ids"][:1]


def evidence_left_out(b):
    record = b.records(0)[0]
    place = record["haystack_session_ids"].index(b.meta[0]["answer_session_ids"][0])
    for name in ("haystack_session_ids", "haystack_dates", "haystack_sessions"):
        del record[name][place]


def wrong_weekday(b):
    record = b.records(0)[0]
    days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Mon"]
    said = record["haystack_dates"][3]
    record["haystack_dates"][3] = said.replace(said[12:15], days[days.index(said[12:15]) + 1])


def dates_swapped(b):
    dates = b.records(0)[0]["haystack_dates"]
    dates[2], dates[3] = dates[3], dates[2]


def asked_too_early(b):
    for record in b.records(0):
        record["question_date"] = record["haystack_dates"][4]


def another_text_when_short(b):
    record = b.records(0)[0]
    record["haystack_sessions"][0][1]["content"] = record["haystack_sessions"][0][1]["content"].replace(" the ", " a ")


def another_date_when_short(b):
    dates = b.records(0)[0]["haystack_dates"]
    dates[0] = dates[0][:-1] + ("1" if dates[0][-1] != "1" else "2")


def talkative(b):
    b.records(0)[1]["haystack_sessions"][filler_at(b)][1]["content"] += " Indeed." * 400


def short_of_text(b):
    for number in range(len(b.meta)):
        for record in b.records(number):
            for turns in record["haystack_sessions"]:
                for turn in turns:
                    if not turn["images"]:
                        turn["content"] = turn["content"][: len(turn["content"]) * 4 // 5]


def miscounted(b):
    b.meta[0]["lengths"]["32k"]["text_tokens"] += 1


def picture_lost(b):
    turn = next(t for turns in b.records(0)[-1]["haystack_sessions"] for t in turns if t["images"])
    turn["images"].pop()
    turn["content"] = turn["content"].replace("<image>", "", 1)


def rename(b, number, old, new):
    b.meta[number] = json.loads(json.dumps(b.meta[number]).replace(old, new))
    for name, split in b.splits.items():
        b.splits[name][number] = json.loads(json.dumps(split[number]).replace(old, new))


def role_in_session_id(b):
    rename(b, 0, b.meta[0]["answer_session_ids"][0], "s_evidence0001")


def another_session_id(b):
    rename(b, 0, b.meta[0]["sessions"][0]["session_id"], "s_0123456789ab")


def role_in_question_id(b):
    rename(b, 0, b.meta[0]["question_id"], "q_0msr00000")


def fact_not_said(b):
    fact = b.facts(0, "decoy")[0]
    session = next(s["session_id"] for s in b.meta[0]["sessions"] if fact in s["facts"])
    for turns in b.turns(0, session):
        for turn in turns:
            turn["content"] = turn["content"].replace(fact["text"][:10], fact["text"][:10].swapcase())


def mark_on_another_turn(b):
    for turns in b.turns(0, b.meta[0]["answer_session_ids"][0]):
        for turn in turns:
            turn["has_answer"] = not turn["images"]


def chain_reversed(b):
    number = b.number(builder="ku_update")
    facts = b.facts(number, "evidence")
    facts[0]["id"], facts[1]["id"] = facts[1]["id"], facts[0]["id"]


def two_chains_of_one_key(b):
    own = b.facts(0, "decoy")
    other = next(f for f in own if f["id"].split("/")[0] != own[0]["id"].split("/")[0])
    other["key"] = own[0]["key"]


def another_gold(b):
    number = b.number(builder="tr_duration")
    for record in b.records(number):
        record["answer"] = {"A": "B", "B": "A"}[record["answer"]]
    b.meta[number]["counterfactual"]["answer"] = {"A": "B", "B": "A"}[b.meta[number]["counterfactual"]["answer"]]


def another_picture_truth(b):
    b.facts(b.number(builder="msr_arithmetic"), "evidence")[0]["mentions"] = {"cents": 1}


def no_picture_truth(b):
    b.facts(chat(b), "evidence")[0]["pictures"][0]["truth"] = {}


def question_answered_twice(b):
    """A decoy adds to the sum that is asked for."""
    number = b.number(builder="msr_arithmetic")
    b.facts(number, "decoy")[0].update(key=b.meta[number]["key"], mentions={"cents": 100})


def refusal_that_could_answer(b):
    number = b.number(refusal=True)
    other = b.number(builder=b.meta[number]["builder"])
    fact = copy.deepcopy(b.facts(other, "evidence")[0])
    mine = b.facts(number, "decoy")[0]
    mine["key"], mine["mentions"], mine["role"] = b.meta[number]["key"], fact["mentions"], "evidence"
    mine["pictures"][0]["kind"], mine["pictures"][0]["truth"] = (
        fact["pictures"][0]["kind"],
        fact["pictures"][0]["truth"],
    )


def no_counterfactual(b):
    b.meta[chat(b)]["counterfactual"] = None


def counterfactual_that_does_not_flip(b):
    number = chat(b)
    facts = b.facts(number, "evidence")
    b.meta[number]["counterfactual"]["pictures"] = [
        {"fact": f["id"], "kind": p["kind"], "truth": p["truth"], "seed": 1} for f in facts for p in f["pictures"]
    ]


def counterfactual_with_the_same_answer(b):
    number = chat(b)
    b.meta[number]["counterfactual"]["answer"] = b.records(number)[0]["answer"]


def counterfactual_of_other_facts(b):
    b.meta[chat(b)]["counterfactual"]["pictures"][0]["fact"] += "x"


def gold_that_no_grader_accepts(b):
    for record in b.records(b.number(builder="msr_counting")):
        record["answer"] = "some of them"


def answer_outside_its_space(b):
    number = b.number(builder="ku_update")
    b.meta[number]["answer_space"].remove(b.records(number)[0]["answer"])


def answer_in_the_question(b):
    number = chat(b)
    for record in b.records(number):
        record["question"] = f"Was it {record['answer']}? " + record["question"]


def answer_in_its_session(b):
    number = b.number(builder="ku_update")
    for turns in b.turns(number, b.meta[number]["answer_session_ids"][-1]):
        turns[1]["content"] += f" So it is the {b.records(number)[0]['answer']} now, is it not?"


def telling_caption(b):
    number = b.number(builder="ku_update")
    for turns in b.turns(number, b.meta[number]["answer_session_ids"][-1]):
        for image in (image for turn in turns for image in turn["images"]):
            image["blip_caption"] = f"a photo of a {b.records(number)[0]['answer']}"


def personal_caption(b):
    for record in b.records(0):
        image = next(i for turns in record["haystack_sessions"] for t in turns for i in t["images"])
        image["blip_caption"] += " on a rainy day"


def question_asked_twice(b):
    for record, other in zip(b.records(0), b.records(1), strict=True):
        record["question"] = other["question"]


def question_with_another_name(b):
    one, other = b.number(builder="ie_chat"), b.number(builder="ie_app")
    b.meta[other]["seed_path"]["line"] = "ie_chat"
    for record, mine in zip(b.records(other), b.records(one), strict=True):
        record["question"] = mine["question"].replace(b.meta[one]["key"][1], b.meta[other]["key"][1])


def question_left_out(b):
    b.splits["32k"].pop()


def question_twice(b):
    b.splits["64k"].append(b.splits["64k"][0])


def another_order(b):
    b.splits["32k"].reverse()


def no_json(b):
    b.splits["32k"][0] = ["not a record"]


def wrong_count(b):
    b.manifest["counts"]["types"]["knowledge_update"] += 1


def question_missing_everywhere(b):
    b.meta.pop()
    for split in b.splits.values():
        split.pop()


def uniform_mix(b):
    mix = b.manifest["decoy_mix"]
    b.manifest["decoy_mix"] = dict.fromkeys(mix, round(1 / len(mix), 6))


def another_subset(b):
    path = b.folder / b.manifest["subset"]["file"]
    document = json.loads(path.read_text())
    document["question_ids"] = [
        next(m["question_id"] for m in b.meta if m["question_id"] not in document["question_ids"])
    ]
    path.write_text(json.dumps(document))


def files_of(b, extension):
    return sorted((b.folder / "images").rglob(f"*.{extension}"))


def no_picture(b):
    files_of(b, "png")[0].unlink()


def another_picture(b):
    files_of(b, "png")[0].write_bytes(files_of(b, "png")[1].read_bytes())


def restored(b, path, data):
    """Put a picture under the name of its new bytes, everywhere."""
    old = str(path.relative_to(b.folder / "images"))
    new = picture_file(data, path.suffix[1:])
    (b.folder / "images" / new).parent.mkdir(exist_ok=True)
    (b.folder / "images" / new).write_bytes(data)
    path.unlink()
    for number in range(len(b.meta)):
        rename(b, number, old, new)
    b.manifest["pictures"] = {"files": 0, "bytes": 0, "names_sha256": ""}


def text_in_a_png(b):
    path = files_of(b, "png")[0]
    body = b"Comment\0evidence"
    chunk = struct.pack(">I", len(body)) + b"tEXt" + body + struct.pack(">I", zlib.crc32(b"tEXt" + body))
    data = path.read_bytes()
    restored(b, path, data[:33] + chunk + data[33:])


def text_behind_a_png(b):
    path = files_of(b, "png")[0]
    restored(b, path, path.read_bytes() + b"evidence")


def comment_in_a_jpeg(b):
    path = files_of(b, "jpg")[0]
    data = path.read_bytes()
    restored(b, path, data[:2] + b"\xff\xfe\x00\x0aevidence" + data[2:])


def text_behind_a_jpeg(b):
    path = files_of(b, "jpg")[0]
    restored(b, path, path.read_bytes() + b"evidence\xff\xd9")


def unused_picture(b):
    data = files_of(b, "png")[0].read_bytes()[:-1] + b"\0"
    name = picture_file(data, "png")
    (b.folder / "images" / name).parent.mkdir(exist_ok=True)
    (b.folder / "images" / name).write_bytes(data)


def picture_of_another_size(b):
    for session in b.meta[0]["sessions"]:
        for fact in session["facts"]:
            fact["pictures"][0]["width"] += 1


def shown(b, number):
    return [i for turns in b.records(number)[-1]["haystack_sessions"] for t in turns for i in t["images"]]


def picture_twice_in_a_history(b):
    images = shown(b, 0)
    images[1]["file"] = images[0]["file"]


def evidence_in_another_history(b):
    number = b.number(builder="ku_update")
    evidence = b.facts(number, "evidence")[0]["pictures"][0]["file"]
    shown(b, (number + 1) % len(b.meta))[0]["file"] = evidence


def stray_file(b):
    (b.folder / "answers.txt").write_text("A")


def left_over_work(b):
    (b.folder / ".build").mkdir()


def another_licence(b):
    # The manifest keeps the old hash.
    b.manifest["files"]["LICENSES.md"]["sha256"] = hashlib.sha256(b"").hexdigest()
    b.keep = "LICENSES.md"


def split_not_described(b):
    b.croissant["distribution"] = [e for e in b.croissant["distribution"] if e["@id"] != "dataset_32k.jsonl"]


def parquet_of_another_build(b):
    import polars as pl

    path = b.folder / "dataset_32k.parquet"
    frame = pl.read_parquet(path)
    frame.with_columns(answer=pl.lit("A")).write_parquet(path)


MUTATIONS = [
    ("schema", change_field),
    ("schema", drop_images),
    ("schema", extra_field),
    ("schema", meta_without_gold),
    ("parallel_lists", drop_date),
    ("markers", drop_marker),
    ("markers", marker_in_question),
    ("turns", half_exchange),
    ("evidence", evidence_elsewhere),
    ("evidence", unmarked_evidence),
    ("evidence", refusal_with_evidence),
    ("evidence", evidence_left_out),
    ("dates", wrong_weekday),
    ("dates", dates_swapped),
    ("dates", asked_too_early),
    ("nested", another_text_when_short),
    ("nested", another_date_when_short),
    ("fill", talkative),
    ("fill", miscounted),
    ("text_per_picture", short_of_text),
    ("pictures_per_length", picture_lost),
    ("ids", role_in_session_id),
    ("ids", another_session_id),
    ("ids", role_in_question_id),
    ("sidecar", fact_not_said),
    ("sidecar", mark_on_another_turn),
    ("chains", chain_reversed),
    ("chains", two_chains_of_one_key),
    ("oracle", another_gold),
    ("oracle", another_picture_truth),
    ("oracle", no_picture_truth),
    ("oracle", refusal_that_could_answer),
    ("solver", question_answered_twice),
    ("solver", refusal_that_could_answer),
    ("counterfactual", no_counterfactual),
    ("counterfactual", counterfactual_that_does_not_flip),
    ("counterfactual", counterfactual_with_the_same_answer),
    ("counterfactual", counterfactual_of_other_facts),
    ("grader", gold_that_no_grader_accepts),
    ("grader", answer_outside_its_space),
    ("answer_not_told", answer_in_the_question),
    ("answer_not_told", answer_in_its_session),
    ("captions", telling_caption),
    ("captions", personal_caption),
    ("questions_unique", question_asked_twice),
    ("questions_unique", question_with_another_name),
    ("same_questions", question_left_out),
    ("same_questions", question_twice),
    ("same_questions", another_order),
    ("same_questions", no_json),
    ("counts", wrong_count),
    ("counts", question_missing_everywhere),
    ("decoy_mix", uniform_mix),
    ("subset", another_subset),
    ("pictures", no_picture),
    ("pictures", another_picture),
    ("pictures", text_in_a_png),
    ("pictures", text_behind_a_png),
    ("pictures", comment_in_a_jpeg),
    ("pictures", text_behind_a_jpeg),
    ("pictures", unused_picture),
    ("pictures", picture_of_another_size),
    ("duplicate_pictures", picture_twice_in_a_history),
    ("duplicate_pictures", evidence_in_another_history),
    ("hashes", stray_file),
    ("hashes", left_over_work),
    ("hashes", another_licence),
    ("croissant", split_not_described),
    ("other_forms", parquet_of_another_build),
]


@pytest.mark.parametrize(("gate", "mutate"), MUTATIONS, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_a_broken_folder_fails(built, tmp_path, gate, mutate):
    broken = Broken(shutil.copytree(built, tmp_path / "H"))
    mutate(broken)
    found = failing(broken.save())
    assert found[gate].verdict == "fails"
    assert found[gate].problems
    assert found[gate].advice


def test_every_structural_gate_has_a_mutation(built):
    gates, _ = structural_gates(Folder(built))
    assert {gate.name for gate in gates} == {name for name, _ in MUTATIONS}


def test_a_split_that_breaks_off_is_named(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "H")
    path = folder / "dataset_32k.jsonl"
    path.write_bytes(path.read_bytes()[:-2000])
    found = failing(folder)
    assert "dataset_32k.jsonl" in " ".join(found["hashes"].problems)
    assert "holds no whole record" in " ".join(found["other_forms"].problems)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda f: (f / "manifest.json").unlink(), "manifest.json"),
        (lambda f: (f / "manifest.json").write_text("{}"), "not the manifest"),
        (lambda f: (f / "manifest.json").write_text("[1"), "cannot be read"),
        (lambda f: (f / "dataset_32k.jsonl").unlink(), "dataset_32k.jsonl"),
        (lambda f: (f / "meta.jsonl").unlink(), "meta.jsonl"),
    ],
)
def test_an_unreadable_folder_is_refused(built, tmp_path, damage, said):
    folder = shutil.copytree(built, tmp_path / "H")
    damage(folder)
    with pytest.raises(InputError, match=said):
        Folder(folder)


def test_no_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        Folder(tmp_path / "nothing")
