"""What an answer costs: the paper's numbers, the server's count, and none without a price."""

from __future__ import annotations

from fractions import Fraction

import pytest
from scripted_server import Response, Server, completion

from memgauge.costs import load_price, price_response, vlm_price
from memgauge.drive import Asked, Wanted
from memgauge.episode import Episode, Query, Question
from memgauge.errors import InputError, RunStoppedError
from memgauge.rows import Asker, row_of
from memgauge.system import Answer
from memgauge.systems.models.pricing import Pricer, pricer_of


@pytest.mark.parametrize("name", ["qwen3-vl-8b", "glm-4.5v", "minicpm-v-2.6-8b"])
def test_text_and_video_are_priced_as_the_cost_room_does(name):
    price = vlm_price(name)
    for frame, task, frames in ((None, "ecc-text", 0), ((448, 448), "ecc-video", 5), ((640, 360), "natural-video", 0)):
        answer = Fraction(11600, 61)
        cost = price_response(price, task, 64, answer, frame=frame, option_frames=frames)
        got = Pricer(price).answer(64, frame=frame, option_frames=frames, natural=task == "natural-video")
        assert (got.write, got.read(answer)) == (cost.F_write, cost.F_read)


def test_the_servers_count_replaces_the_papers():
    price = vlm_price("qwen3-vl-8b")
    pricer = Pricer(price, "server")
    cost = price_response(price, "ecc-text", 164, 3)
    got = pricer.answer(64, tokens_in=164)
    assert (got.write, got.read(Fraction(3))) == (cost.F_write, cost.F_read)
    video = price_response(price, "ecc-video", 64, 3)
    got = pricer.answer(64, frame=(448, 448), tokens_in=video.N)
    assert (got.write, got.read(Fraction(3))) == (video.F_write, video.F_read)
    assert pricer.answer(64) is None


def test_a_text_model_has_no_price_for_video(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, '
        '"num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152, "tie_word_embeddings": true}'
    )
    pricer = pricer_of(str(config), "paper")
    assert pricer.answer(64).write == price_response(load_price(str(config)), "ecc-text", 64, 1).F_write
    with pytest.raises(InputError, match="cannot be priced on video"):
        pricer.check(True)


def test_rows_hold_exact_integers_and_the_commit_point(ask_model):
    text = "Let me see. {0} is my answer, I think."
    with Server(lambda _: Response(body=completion(text, tokens_in=99, tokens_out=7))) as server:
        _, rows = ask_model(f"model:name=m,base_url={server.url},price=qwen3-vl-8b", count=1)
    commit = Fraction(7 * text.index("{"), len(text))
    cost = price_response(vlm_price("qwen3-vl-8b"), "ecc-text", 24, commit)
    assert set(rows["flops_write"]) == {cost.F_write}
    assert set(rows["flops_read"]) == {cost.F_read}
    assert set(rows["t_ans"]) == {float(commit)}


def test_no_price_no_usage_no_number(ask_model):
    body = completion("{0}", tokens_out=3)
    with Server(lambda _: Response(body=body)) as server:
        _, rows = ask_model(f"model:name=m,base_url={server.url}", out="plain", count=1)
    assert rows["flops_write"].null_count() == rows["flops_read"].null_count() == 4
    assert set(rows["write_shared"]) == {False}
    assert set(rows["tokens_out"]) == {3}
    del body["usage"]
    with Server(lambda _: Response(body=body)) as server:
        _, rows = ask_model(f"model:name=m,base_url={server.url},price=qwen3-vl-8b", out="priced", count=1)
    assert rows["flops_read"].null_count() == 4
    assert rows["flops_write"].null_count() == 0


def test_a_model_that_cannot_be_priced_on_video_is_said_before_asking(ask_model, tmp_path):
    import asyncio

    from memgauge.episode import Observation
    from memgauge.systems.registry import make_system

    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, '
        '"num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152}'
    )
    with Server() as server:
        memory = make_system(f"model:name=m,base_url={server.url},price={config}").start(0)
        memory.write(Observation("frame"))
        with pytest.raises(RunStoppedError, match="cannot be priced on video"):
            asyncio.run(memory.aread(Question(b"", words="Did it rain?")))
        assert server.count == 0


def row_for(answer):
    query = Query("q", Question(b""), "yes")
    episode = Episode("e", "ecc-text", "max", 1, [], (query,), "f")
    return row_of(Asked(Wanted(query, "none", "k"), answer), episode, Asker("r", "s", "f"))


def test_a_price_that_fails_is_an_error_of_its_row():
    def broken(_):
        raise ZeroDivisionError("no price today")

    row = row_for(Answer(raw="{0}", tokens_out=3, price=broken))
    assert (row["outcome"], row["correct"]) == ("model_error", None)
    assert "no price today" in row["error"]
    row = row_for(Answer(raw="{0}", tokens_out=3, confidence_at=lambda _: 2.0))
    assert "confidence_at returned 2.0" in row["error"]
    row = row_for(Answer(raw="{2}", tokens_out=3, price=lambda t: t.numerator, confidence_at=lambda _: 0.5))
    assert (row["outcome"], row["flops_read"], row["confidence"]) == ("abstained", 1, None)
