"""What a run would take, against what it then takes; and what it leaves in run.json for the report."""

from __future__ import annotations

import json

import pytest
from scripted_server import Response, Server, completion, reader

from memgauge.costs import price_response, vlm_price
from memgauge.errors import InputError
from memgauge.estimate import estimate
from memgauge.run import Plan, Subject, execute
from memgauge.systems.registry import fingerprint, make_system, system_name
from memgauge.tasks import FrameStyle, MadeStreams


def plan(*specs, task="ecc-text", lengths=(24,), arms=("none",), count=1, queries=4, **options):
    systems = [make_system(spec) for spec in specs]
    subjects = [Subject(s, system_name(s, t), fingerprint(s, t), t) for s, t in zip(systems, specs, strict=True)]
    source = MadeStreams(lengths=lengths, bands=("max",), count=count, queries=queries, seed=5)
    return Plan(task, source, tuple(subjects), arms=arms, **options)


def test_text_is_foreseen_to_the_byte(tmp_path):
    with Server() as server:
        asked = plan(f"model:name=m,base_url={server.url},price=qwen3-vl-8b", arms=("none", "A"))
        (cell,) = estimate(asked)
        assert server.count == 0
        execute(asked, tmp_path, show_progress=False)
        assert cell["requests"] == cell["questions"] == server.count == 8
        assert cell["request_bytes"] == sum(request.size for request in server.requests)
    price = price_response(vlm_price("qwen3-vl-8b"), "ecc-text", 24, 3)
    assert cell["prompt_tokens"] == 8 * 24
    assert cell["answer_tokens"] == 24
    assert cell["most_answer_tokens"] == 8 * 8192
    assert cell["flops"] == 8 * price.F_total
    assert cell["images"] == cell["image_bytes"] == 0
    assert any("3 tokens" in line for line in cell["assumed"])


def test_video_is_foreseen_to_the_byte(tmp_path):
    def handle(_):
        return Response(body=completion("{0}", tokens_in=99_999))

    with Server(handle) as server:
        spec = f"model:name=m,base_url={server.url},price=qwen3-omni-30b-a3b"
        asked = plan(spec, task="ecc-video", lengths=(16,), style=FrameStyle("jpeg", 224))
        (cell,) = estimate(asked)
        execute(asked, tmp_path, show_progress=False)
        assert cell["request_bytes"] == sum(request.size for request in server.requests)
        assert cell["images"] == sum(len(request.media) for request in server.requests)
        sent = sum(len(url) for request in server.requests for url in request.media)
    assert sent < cell["image_bytes"] < 1.01 * sent
    frame = (224, 224)
    clips = [len(request.media) - 16 for request in server.requests]
    price = vlm_price("qwen3-omni-30b-a3b")
    each = [price_response(price, "ecc-video", 16, 3, frame=frame, option_frames=n) for n in clips]
    assert cell["flops"] == sum(cost.F_total for cost in each)
    assert cell["prompt_tokens"] == sum(cost.N for cost in each)


def test_what_is_not_known_is_none():
    (text,) = estimate(plan("model:name=m,base_url=http://127.0.0.1:1/v1"))
    assert text["flops"] is None
    assert text["prompt_tokens"] == 4 * 24
    (video,) = estimate(plan("model:name=m,base_url=http://127.0.0.1:1/v1", task="ecc-video", lengths=(16,)))
    assert video["flops"] is video["prompt_tokens"] is None
    assert video["images"] > 64


def test_retrieval_foresees_index_and_answers():
    base = "retrieval:name=m,base_url=http://127.0.0.1:1/v1,price=qwen3-omni-30b-a3b,embed_name=e"
    priced, unpriced = estimate(
        plan(f"{base},embed_price=qwen3-vl-8b,label=a", f"{base},label=b", task="ecc-video", lengths=(64,))
    )
    (direct,) = estimate(
        plan("model:name=m,base_url=http://127.0.0.1:1/v1,price=qwen3-omni-30b-a3b", task="ecc-video", lengths=(64,))
    )
    assert unpriced["flops"] is None
    assert any("embed_price" in line for line in unpriced["assumed"])
    # 13 windows of 29.39 TF, and four answers of about 23 TF (Table 9).
    assert priced["flops"] == pytest.approx(13 * 29.39e12 + 4 * 23e12, rel=0.02)
    assert priced["prompt_tokens"] < direct["prompt_tokens"] / 2
    assert priced["images"] > 13 * 16


def test_a_model_without_eyes_is_refused_before_anything_is_sent(tmp_path):
    config = {"model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100, "head_dim": 16,
              "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "hidden_act": "silu",
              "max_position_embeddings": 77}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    spec = f"model:name=m,base_url=http://127.0.0.1:1/v1,price={tmp_path / 'config.json'}"
    with pytest.raises(InputError, match="cannot be priced on video"):
        estimate(plan(spec, task="ecc-video", lengths=(16,)))
    assert make_system(spec).facts("text", [8], None)["context"] == 77


def test_run_json_keeps_what_the_report_needs(tmp_path):
    with Server(reader) as server:
        spec = f"model:name=m,base_url={server.url},price=qwen2.5-vl-7b"
        execute(plan(spec, lengths=(24,)), tmp_path, show_progress=False)
        execute(plan(spec, lengths=(32,)), tmp_path, show_progress=False)
        rag = f"retrieval:name=m,base_url={server.url},embedder=ngram,show_score=true,context=100"
        execute(plan(rag, lengths=(160,)), tmp_path, show_progress=False)
    first, second = json.loads((tmp_path / "run.json").read_text())["systems"]
    assert first["facts"] == {
        "model": "m", "context": 128000, "context_from": "Qwen2.5-VL (7B)", "prompt_tokens": {"24": 24, "32": 32},
    }  # fmt: skip
    assert second["facts"]["context"] == 100
    assert second["facts"]["prompt_tokens"] == {"160": 48}
    assert second["facts"]["retrieval"]["score_shown"]
    assert second["facts"]["retrieval"]["embedder"].startswith("ngram")
    with pytest.raises(InputError, match="context is 0"):
        make_system("model:name=m,base_url=http://127.0.0.1:1/v1,context=0")
    same, other = (make_system(f"model:name=m,base_url=http://127.0.0.1:1/v1{more}") for more in ("", ",context=9"))
    assert same.identity == other.identity
