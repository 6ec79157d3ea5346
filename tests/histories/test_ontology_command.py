"""`memgauge histories ontology`: show, lint and expand, and what `build` says of the same bad files."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_server import Response, Server, completion

from memgauge.cli.app import run
from memgauge.histories.building import abstraction, expansion, ontology
from memgauge.histories.building.findings import locate, path_text, with_lines
from memgauge.histories.building.ontology import built_in, load_ontology
from memgauge.histories.building.text.chat import NoReplyError

DATA = files("memgauge.histories.building") / "data"
WORDS = (
    *("amber", "birch", "cedar", "dusk", "ember", "flint", "grove", "haze", "inlet"),
    *("jetty", "knoll", "ledge", "moss", "nook", "pond", "reed", "slate", "thorn"),
)


def small():
    document = built_in().to_json()
    document["tracks"] = document["tracks"][:1]
    groups = document["tracks"][0]["sub_attributes"] = document["tracks"][0]["sub_attributes"][:1]
    groups[0]["topics"] = groups[0]["topics"][:2]
    return document


@pytest.fixture
def mine(tmp_path):
    def write(change=lambda document: None, document=None):
        content = small() if document is None else document
        change(content)
        path = tmp_path / "mine.json"
        path.write_text(json.dumps(content, indent=1))
        return path

    return write


def test_show(capsys, mine, tmp_path):
    assert run(["histories", "ontology", "show"]) == 0
    said = capsys.readouterr().out
    assert "100 topics, 800 subtopics; tracks: identification 40%, experience 40%, document 20%" in said
    assert run(["histories", "ontology", "show", "--file", str(mine()), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"tracks": 1, "sub_attributes": 1, "topics": 2, "subtopics": 16}
    out = tmp_path / "out.json"
    assert run(["histories", "ontology", "show", "--out", str(out)]) == 0
    assert load_ontology(out) == built_in()
    assert found["tracks"][0]["share"] == found["tracks"][0]["sub_attributes"][0]["share"] == 1


def test_the_built_in_files_keep_every_rule(capsys, tmp_path):
    for name in ("ontology.json", "abstraction.json"):
        path = tmp_path / name
        path.write_text((DATA / name).read_text("utf-8"), "utf-8")
        assert run(["histories", "ontology", "lint", str(path), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["problems"], found["notes"]) == ([], [])
    assert found["counts"]["phrases"] == 170


def line_of(path, text):
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_every_problem_of_a_file_is_named_with_its_line(capsys, mine):
    def change(document):
        group = document["tracks"][0]["sub_attributes"][0]
        first, second = group["topics"]
        first["subtopics"][0] = "the corner with 9 red owls"
        first["say"] = "the {t}?"
        del second["alt"]
        second["image_kinds"] = ["recipt"]
        second["subtopics"] = ["one corner", "one corner"]
        group["id"] = "garages"

    path = mine(change)
    assert run(["histories", "ontology", "lint", str(path)]) == 1
    said = capsys.readouterr().out
    topics = "tracks[0].sub_attributes[0].topics"
    line = line_of(path, "9 red owls")
    for problem in ("begins with an article", "digit: '9'", "colour: 'red'", "name of a thing: 'owl'"):
        assert f"{path}: line {line}, {topics}[0].subtopics[0]: 'the corner with 9 red owls'" in said
        assert problem in said
    assert (
        f"line {line_of(path, 'the {t}?')}, {topics}[0].say: 'the {{t}}?' of the topic 'shelves': holds '{{}}?'" in said
    )
    assert f"{topics}[1]: the field 'alt' is missing; add it" in said
    assert "unknown kind of picture 'recipt'; did you mean 'receipt'" in said
    assert "subtopics[1]: the subtopic of" in said
    assert "note: line" in said
    assert "no advice of its own for 'garages'" in said
    # The same file stops a build with the same words, and nothing is written.
    assert run(["histories", "build", "--ontology", str(path), "--out", str(path.parent / "H")]) == 2
    error = capsys.readouterr().err
    assert f"line {line}, {topics}[0].subtopics[0]" in error
    assert not (path.parent / "H").exists()
    assert run(["histories", "ontology", "show", "--file", str(path)]) == 2


def test_every_problem_of_a_phrase_file_is_named(capsys, mine):
    document = json.loads((DATA / "abstraction.json").read_text("utf-8"))

    def change(content):
        museum, gallery, park = content["categories"][:3]
        museum["phrases"][0] = "the old Louvre museum <image>"
        gallery["phrases"] = gallery["phrases"][:2]
        park["phrases"][1] = "a park"
        content["categories"][3]["phrases"][2] = "this place <image> <image>"
        tool = next(category for category in content["categories"] if category["id"] == "tool")
        tool["phrases"][0] = "the tool like a guitar <image>"
        content["names"]["castle"].append("louvre")
        del content["categories"][-1]

    path = mine(change, document)
    assert run(["histories", "ontology", "lint", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    said = {problem["entry"]: [] for problem in found["problems"]}
    for problem in found["problems"]:
        said[problem["entry"]].append(problem["said"])
    assert found["kind"] == "phrases"
    assert found["problems"][0]["line"] == line_of(path, "old Louvre")
    assert any("leave 'old' out" in text for text in said["categories[0].phrases[0]"])
    assert any("holds a name or a digit" in text for text in said["categories[0].phrases[0]"])
    assert "gallery has 2 different phrases, 3 are needed; add some" in said["categories[1].phrases"]
    assert {"'a park' of park must hold <image> exactly once, where the picture stands",
            "'a park' of park must begin with the, that or this"} <= set(said["categories[2].phrases[1]"])  # fmt: skip
    assert "exactly once" in said["categories[3].phrases[2]"][0]
    assert any("name of a thing: 'guitar'" in text for texts in said.values() for text in texts)
    assert any("belongs to" in text for texts in said.values() for text in texts)
    assert [note["said"][:32] for note in found["notes"]] == ["1 of the 55 built-in categories "]


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', "[" * 100_000, "\ud800".encode("utf-16", "surrogatepass")])
def test_what_is_no_such_file(capsys, tmp_path, text):
    path = tmp_path / "odd.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert run(["histories", "ontology", "lint", str(path)]) == 2
    assert str(path) in capsys.readouterr().err
    assert run(["histories", "ontology", "lint", str(tmp_path / "none.json")]) == 2


def test_values_are_located_in_any_spacing():
    document = {"a": [{"b\n": 'x]}"', "c": []}, [1, [2]]], "d": {"e": None}}
    paths = [("a", 0, "b\n"), ("a", 1, 1, 0), ("d", "e"), ("a", 0, "c", 3), ("x",)]
    for indent in (None, 0, 3):
        text = json.dumps(document, indent=indent)
        found = locate(text, paths)
        assert text[found["a", 0, "b\n"] :].startswith('"x]}')
        assert text[found["a", 1, 1, 0] :].startswith("2")
        assert text[found["d", "e"] :].startswith("null")
        assert text[found["a", 0, "c", 3] :].startswith("[]")  # the list that lacks it
        assert found[("x",)] == 0
    assert path_text(()) == ""


def lists(request):
    """A model that lists what it is asked for, with a duplicate and a banned phrase each time."""
    text = request.body["messages"][-1]["content"]
    fresh = [f"{WORDS[n % 18]} {WORDS[(n // 18 + n) % 18]} corners" for n in (next(lists.counter) for _ in range(6))]
    if '"topics"' in text:
        rows = [{"title": name, "say": f"the {name}", "alt": f"places with {name}"} for name in (*fresh, fresh[0])]
        return Response(body=completion(json.dumps({"topics": rows})))
    return Response(body=completion(json.dumps({"subtopics": [*fresh, fresh[0], "my owl", "the nook"]})))


def expand(path, url, *more):
    words = ["histories", "ontology", "expand", str(path), "--out", str(path.parent / "out.json"), "--topics", "3"]
    return run([*words, "--subtopics", "10", "--writer", f"model:name=m,base_url={url}", *more])


def test_a_model_grows_a_file_and_goes_on_where_it_stopped(capsys, mine):
    lists.counter = count()
    path = mine()
    out = path.parent / "out.json"
    with Server(lists) as server:
        assert expand(path, server.url + ",max_calls=2") == 2
        assert "budget of 2 model calls is used up" in capsys.readouterr().err
        assert not out.exists()
        before = server.count
        assert expand(path, server.url, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert server.count - before == found["requests"] - 2  # the first two replies were kept
    assert found["after"] == {"tracks": 1, "sub_attributes": 1, "topics": 3, "subtopics": 30}
    assert found["rejected"]["duplicate"] > 0
    assert found["rejected"]["lint"] > 0
    assert found["short"] == {"topics": 0, "subtopics": 0}
    assert sorted(p.name for p in path.parent.iterdir()) == ["mine.json", "out.json"]
    assert sum(1 for _ in load_ontology(out).leaves()) == 30
    assert run(["histories", "ontology", "lint", str(out)]) == 0
    assert expand(path, "http://127.0.0.1:9") == 2  # the file is there
    assert "is there already" in capsys.readouterr().err


def test_endpoints_that_cannot_be_used_are_named(capsys, mine, monkeypatch):
    path = mine()

    class Dead:
        def __init__(self, options, model, endpoint):
            self.calls = 0

        def __call__(self, messages):
            self.calls += 1
            raise NoReplyError("APIConnectionError: no route")

    monkeypatch.setattr(expansion, "EndpointChat", Dead)
    assert expand(path, "http://127.0.0.1:9/v1") == 2
    error = capsys.readouterr().err
    assert "the endpoint http://127.0.0.1:9/v1 failed 3 times in a row (APIConnectionError: no route)" in error
    assert run(["histories", "ontology", "expand", str(path), "--writer", "procedural", "--out", "x.json"]) == 2
    assert "write model:name=MODEL" in capsys.readouterr().err

    class Prose(Dead):
        def __call__(self, messages):
            return "Sure, here are some topics!"

    monkeypatch.setattr(expansion, "EndpointChat", Prose)
    assert expand(path, "http://127.0.0.1:9/v1") == 2
    assert "added nothing in" in capsys.readouterr().err
    assert not (path.parent / "out.json").exists()

    class Few(Dead):
        def __call__(self, messages):
            return json.dumps({"subtopics": ["quiet corners"]})

    monkeypatch.setattr(expansion, "EndpointChat", Few)
    for kept in path.parent.glob(".out*"):
        kept.unlink()
    assert expand(path, "http://127.0.0.1:9/v1") == 1
    assert "lists of subtopics stayed shorter" in capsys.readouterr().out


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """Every path in a JSON value."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in pairs:
        yield from places(inner, (*path, part))


def few_phrases():
    content = json.loads((DATA / "abstraction.json").read_text("utf-8"))
    content["categories"] = [c for c in content["categories"] if c["id"] in ("museum", "thing")]
    content["names"], content["words"] = {"museum": ["louvre"]}, {"museum": ["museum"]}
    return content


ABOUT = ((small(), ontology.examine), (few_phrases(), abstraction.examine))
PLACES = [[path for path in places(document) if path] for document, _ in ABOUT]


@given(st.sampled_from((0, 1)), st.integers(0, 10_000), JUNK)
@settings(max_examples=150, deadline=None)
def test_whatever_stands_in_a_file_is_named_and_not_tripped_over(which, place, junk):
    document, examine = ABOUT[which]
    path = PLACES[which][place % len(PLACES[which])]
    changed = json.loads(json.dumps(document))
    inner = changed
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = junk
    _, found = examine(changed)
    text = json.dumps(changed)
    for finding in with_lines(found.found, text):
        assert finding.line == 1
        assert finding.said
    if path[-1] in ("tracks", "sub_attributes", "topics", "subtopics", "say", "categories", "phrases"):
        # A number, a list of junk or an empty text is none of these.
        assert found.problems or isinstance(junk, str)
