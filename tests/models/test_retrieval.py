"""Retrieval: windows, embedders, what the model is shown, hits and costs."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import itertools
import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_server import Response, Server, completion, reader

from memgauge.costs import retrieval_cost, window_count
from memgauge.costs.tables import printed_table
from memgauge.episode import ARMS, Observation, Question
from memgauge.errors import InputError, RunStoppedError
from memgauge.prompts import ecc_prompt, text_request
from memgauge.streams.video_frames import Frames
from memgauge.systems.registry import make_system
from memgauge.systems.retrieval.embedders import Ngrams, Thumbnails, WordLlama, read_embeddings, unit
from memgauge.systems.retrieval.system import DISCLOSURE
from memgauge.systems.retrieval.windows import best, holds, merged, windows_of


@given(st.integers(1, 2000), st.integers(1, 40), st.integers(1, 40))
def test_windows_cover_the_stream(length, window, stride):
    stride = min(stride, window)
    spans = windows_of(length, window, stride)
    seen = np.zeros(length, bool)
    for start, end in spans:
        assert 0 <= start < end <= length
        assert end - start == min(window, length)
        seen[start:end] = True
    assert seen.all()
    assert window_count(length, window, stride) <= len(spans) <= window_count(length, window, stride) + 1


@pytest.mark.parametrize(("length", "count"), [(8, 1), (16, 1), (64, 13), (128, 29), (512, 125)])
def test_the_papers_lengths_need_no_window_of_our_own(length, count):
    assert len(windows_of(length)) == window_count(length) == count


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=8))
def test_merging_keeps_what_is_covered(pairs):
    spans = [(start, start + size) for start, size in pairs]
    found = merged(spans)
    assert {i for a, b in spans for i in range(a, b)} == {i for a, b in found for i in range(a, b)}
    assert all(first[1] < second[0] for first, second in itertools.pairwise(found))


def test_the_best_windows_and_ties():
    vectors = unit(np.array([[1, 0], [0, 1], [1, 0], [1, 1]]))
    assert [i for i, _ in best(vectors, vectors[0], 3)] == [0, 2, 3]
    assert best(vectors, vectors[0], 1)[0][1] == pytest.approx(1.0)


def test_hits_need_order_and_lanes():
    symbols, lanes = np.array([1, 2, 3, 4, 5], np.uint8), np.array([0, 1, 2, 0, 1], np.uint8)
    none, empty = np.empty(0, np.uint8), np.empty(0, np.uint8)
    assert holds([(0, 5)], symbols, empty, symbols[1:3], none)
    assert not holds([(0, 2), (2, 5)], symbols, empty, symbols[1:3], none)
    assert not holds([(0, 5)], symbols, empty, symbols[1:3][::-1], none)
    assert holds([(0, 5)], symbols, lanes, symbols[1:3], lanes[1:3])
    assert not holds([(0, 5)], symbols, lanes, symbols[1:3], lanes[0:2])
    assert not holds([(0, 2)], symbols, empty, none, none)


def run(embedder, items):
    return asyncio.run(embedder.embed(items))


def test_local_embedders_find_the_window_of_a_candidate():
    rng = np.random.default_rng(0)
    symbols = rng.integers(0, 16, 200)
    texts = [", ".join(map(str, symbols[a:b])) for a, b in windows_of(200)]
    candidate = ", ".join(map(str, symbols[81:87]))
    vectors, query = run(Ngrams(), texts), run(Ngrams(), [candidate])[0]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    start, end = windows_of(200)[best(vectors, query, 1)[0][0]]
    assert start <= 81
    assert end >= 87
    with pytest.raises(InputError, match="takes text"):
        run(Ngrams(), [None])
    with pytest.raises(InputError, match="takes frames"):
        run(Thumbnails(), ["text"])


def test_wordllama_reads_its_weights_without_its_loader():
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    if importlib.util.find_spec("wordllama") is None:
        pytest.skip("wordllama, which carries the weights, is not installed")
    vectors = run(WordLlama(), ["a cat sat on the mat", "the kitten is on a rug", "quarterly revenue grew", ""])
    assert vectors.shape == (4, 256)
    close, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert close > far + 0.2
    assert not vectors[3].any()


def chat(request):
    """Answer from the excerpt alone, by exact matching; `...` keeps parts apart."""
    return reader(request)


def test_text_pipeline_answers_and_tells_hits(ask_model):
    with Server(chat) as server:
        spec = f"retrieval:name=m,base_url={server.url},embedder=ngram,price=qwen3-vl-8b"
        _, rows = ask_model(spec, lengths=(64, 160), count=2, queries=8, arms=("none", "B"))
    assert set(rows["outcome"]) == {"answered"}
    retrieved = rows["retrieved"].str.json_decode(pl.List(pl.String))
    rows = rows.with_columns(hit=retrieved.list.first() == "hit", windows=retrieved.list.len() - 1)
    assert set(rows.filter(pl.col("length") == 64)["windows"]) == {1}
    assert set(rows.filter(pl.col("length") == 160)["windows"]) == {3}
    # The reader matches exactly, so it says yes exactly where the excerpt holds the candidate.
    assert ((rows["answer"] == "yes") == rows["hit"]).all()
    assert not rows.filter(pl.col("gold") == "no")["hit"].any()
    assert rows.filter(pl.col("gold") == "yes")["hit"].mean() > 0.7
    assert set(rows["write_shared"]) == {True}
    assert set(rows["flops_write"]) == {0}
    assert rows["state_bits"].null_count() == 0
    for request in server.requests:
        prompt, _, note = request.text.rpartition("\n\n")
        assert note == DISCLOSURE["text"]
        arm = "B" if "Scoring" in prompt else "none"
        stream, candidate = prompt.split("Main sequence: ")[1].split("\nCandidate sequence: ")
        assert prompt == text_request(stream, candidate, arm)
        assert len(stream.replace(" ...", ",").split(", ")) in range(16, 49)


def test_the_score_is_shown_where_asked_for(ask_model):
    with Server(chat) as server:
        ask_model(f"retrieval:name=m,base_url={server.url},embedder=ngram,show_score=true", count=1)
    assert all("The similarity of the best part is 0." in request.text for request in server.requests)
    with Server(chat) as server:
        _, rows = ask_model(f"retrieval:name=m,base_url={server.url},embedder=ngram,top=2", out="two", count=1)
    assert all(len(json.loads(text)) == 3 for text in rows["retrieved"])


def vector_of(data: bytes) -> list[float]:
    """A vector that depends on the bytes alone."""
    word = np.frombuffer(hashlib.sha256(data).digest(), np.uint8).astype(float)
    return (word - 127.5).tolist()


class WithEmbeddings:
    """Chat and embeddings: a text's vector counts its bigrams; a clip's is the sum of its frames'."""

    def __init__(self):
        self.embedded = 0

    def __call__(self, request):
        if request.path.endswith("/chat/completions"):
            return Response(body=completion("{0}", tokens_in=99_999, tokens_out=3))
        assert request.path.endswith("/embeddings")
        if "input" in request.body:
            vectors = [sum(np.array(vector_of(w.encode())) for w in t.split(", ")) for t in request.body["input"]]
        else:
            vectors = [sum(np.array(vector_of(url.encode())) for url in request.media)]
        self.embedded += len(vectors)
        data = [{"index": i, "embedding": list(v)} for i, v in enumerate(vectors)]
        return Response(body={"object": "list", "data": data[::-1]})


def test_an_endpoint_embeds_each_window_once_and_each_candidate_once(ask_model):
    handle = WithEmbeddings()
    with Server(handle) as server:
        spec = f"retrieval:name=m,base_url={server.url},embed_name=e,embed_price=qwen3-vl-8b"
        _, rows = ask_model(spec, lengths=(96,), count=2, queries=4, arms=("none", "A"))
    assert handle.embedded == 2 * (window_count(96) + 4)
    assert {r.body["model"] for r in server.requests if r.path.endswith("/embeddings")} == {"e"}
    assert set(rows["retrieved"].str.contains("hit|miss")) == {True}
    assert rows["flops_write"].n_unique() == 1


def video_memory(spec, length):
    rng = np.random.default_rng(1)
    symbols, lanes = rng.integers(0, 16, length).astype(np.uint8), rng.integers(0, 3, length).astype(np.uint8)
    memory = make_system(spec).start(0)
    for frame in Frames(symbols, lanes):
        memory.write(frame)
    return memory, symbols, lanes


def ask_video(spec, length, *, at=None, size=5, payoff=None):
    """Ask about a candidate of `size` frames; returns the answer, the write cost and the memory's system."""
    memory, symbols, lanes = video_memory(spec, length)
    at = length // 2 if at is None else at
    question = Question(
        symbols[at : at + size],
        payoff=payoff,
        lanes=lanes[at : at + size],
        clip=Frames(symbols[at : at + size], lanes[at : at + size]),
    )

    async def ask():
        await memory.settle()
        answer = await memory.aread(question)
        await memory._system.aclose()
        return answer

    return asyncio.run(ask()), memory.cost()


PAPER = "name=Qwen3-Omni,price=qwen3-omni-30b-a3b,embed_name=e,embed_price=qwen3-vl-8b"


@pytest.mark.parametrize("index_frame", [None, "640x360"])
def test_a_synthetic_video_costs_what_table_9_says(index_frame):
    """Per answer 23 TF; the index 0.43 PF as printed (640x360), 0.38 PF at the frames' own size (B.7)."""
    with Server(WithEmbeddings()) as server:
        option = "" if index_frame is None else f",index_frame={index_frame}"
        answer, written = ask_video(f"retrieval:{PAPER},base_url={server.url}{option}", 64)
    frame = None if index_frame is None else (640, 360)
    cost = retrieval_cost("ecc-video", 64, index_frame=frame)
    assert written.flops == cost.F_index
    assert answer.price(Fraction(3)) == cost.F_answer
    if index_frame:
        printed = printed_table(9)
        row = next(cells for name, cells in printed.items() if "synthetic" in name)
        assert any(str(value).replace(",", "") in ("453", "453.0") for value in row.values())
        assert round((written.flops + answer.price(Fraction(3))) / 1e12) == 453
    chat_request = next(r for r in server.requests if "chat" in r.path)
    assert len(chat_request.media) == 16 + 5
    assert chat_request.text.endswith(DISCLOSURE["video"])
    assert ecc_prompt("video") in chat_request.text


def test_the_query_may_be_charged():
    with Server(WithEmbeddings()) as server:
        plain, _ = ask_video(f"retrieval:{PAPER},base_url={server.url}", 64)
        counted, _ = ask_video(f"retrieval:{PAPER},base_url={server.url},query_embed=counted", 64)
    assert counted.price(Fraction(3)) - plain.price(Fraction(3)) == retrieval_cost("ecc-video", 64).F_query


def test_a_natural_video_costs_what_table_9_says():
    """Frames of 640x360 and a question in words: 18.74 TF an answer, 0.43 PF an index, 449 TF for one query."""
    import io

    import PIL.Image

    rng = np.random.default_rng(0)
    pictures = []
    for _ in range(64):
        data = io.BytesIO()
        PIL.Image.fromarray(rng.integers(0, 255, (9, 16), np.uint8)).resize((640, 360)).save(data, "PNG")
        pictures.append(data.getvalue())
    with Server(WithEmbeddings()) as server:
        memory = make_system(f"retrieval:{PAPER},base_url={server.url}").start(0)
        for picture in pictures:
            memory.write(Observation("frame", render_image=lambda p=picture: p))

        async def ask():
            await memory.settle()
            return await memory.aread(Question(np.empty(0, np.uint8), words="Did a red card appear in this video?"))

        answer = asyncio.run(ask())
    cost = retrieval_cost("natural-video", 64)
    assert memory.cost().flops == cost.F_index
    assert answer.price(Fraction(3)) == cost.F_answer
    assert round((cost.F_index + cost.F_answer) / 1e12) == 449


def test_thumbnails_retrieve_frames_without_an_endpoint():
    with Server(lambda _: Response(body=completion("{0}", tokens_in=99_999))) as server:
        spec = f"retrieval:name=m,base_url={server.url},embedder=thumbnails,price=qwen3-vl-8b"
        found = [ask_video(spec, 64, at=at, payoff=ARMS["A"])[0].retrieved[0] for at in (3, 20, 41)]
    assert found.count("hit") >= 2


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("", "needs embed_name="),
        (",embedder=magic", "unknown embedder 'magic'"),
        (",embedder=nowhere:Thing", "nowhere"),
        (",embedder=json:JSONDecoder", "has no name"),
        (",embedder=ngram,embed_name=e", "embed_name belongs to embedder=endpoint"),
        (",embedder=ngram,stride=20", "parts would never be embedded"),
        (",embedder=ngram,window=0", "window is 0"),
    ],
)
def test_parameters_that_cannot_be_used(parameters, said):
    with pytest.raises(InputError) as error:
        make_system(f"retrieval:name=m,base_url=http://127.0.0.1:1/v1{parameters}")
    assert said in str(error.value)


def test_an_embedder_for_the_wrong_kind_stops_the_run():
    with Server() as server, pytest.raises(RunStoppedError, match="takes text"):
        ask_video(f"retrieval:name=m,base_url={server.url},embedder=ngram", 16)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "without data"),
        ({"data": []}, "0 embeddings for 2"),
        ({"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}, "of one width"),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}, "are numbered"),
        ({"data": [{"embedding": [1.0]}, {"embedding": "AAAA"}]}, "of one width"),
        ({"data": [{"embedding": [1.0]}, {"embedding": [float("nan")]}]}, "not finite"),
        ({"data": [{"embedding": [[1.0]]}, {"embedding": [[1.0]]}]}, "of one width"),
        ({"data": [{"index": "x", "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]}, "are numbered"),
    ],
)
def test_embeddings_that_are_none(body, said):
    assert said in read_embeddings(body, 2).said


def test_identity_tells_embedders_apart():
    base = "retrieval:name=m,base_url=http://127.0.0.1:1/v1"
    first = make_system(f"{base},embedder=ngram")
    second = make_system(f"{base},embed_name=e,embed_base_url=http://127.0.0.1:2/v1")
    third = make_system(f"{base},embed_name=e,embed_base_url=http://127.0.0.1:3/v1")
    assert first.identity != second.identity
    assert second.identity == third.identity
    assert first.name == "retrieval:embedder=ngram,name=m"
