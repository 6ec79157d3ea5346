from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).parents[1] / "histories"))


@pytest.fixture(autouse=True)
def no_key(monkeypatch, tmp_path):
    """Nothing of the machine's own settings, and no log outside the test's folder."""
    for name in ("OPENAI_API_KEY", "INSPECT_EVAL_MODEL", "INSPECT_LOG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def evaluate(tmp_path):
    """Run a task through Inspect; returns the log."""
    return evaluator(tmp_path)


@pytest.fixture(scope="session")
def good_log(tmp_path_factory):
    """The bytes of a log of four questions that went well, and its content as JSON."""
    from inspect_ai.log import read_eval_log, write_eval_log

    folder = tmp_path_factory.mktemp("good")
    log = evaluator(folder)()
    write_eval_log(read_eval_log(log.location), str(folder / "same.json"))
    return Path(log.location).read_bytes(), (folder / "same.json").read_bytes()


def evaluator(root):
    """Return what runs a task with a function of the request as the model."""
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages, tools, choice, config):
        """Always yes; usage is given, since Inspect would fetch a tokenizer to count it."""
        output = ModelOutput.from_content("mockllm/model", "It is {0}.")
        output.usage = ModelUsage(input_tokens=4000, output_tokens=6, total_tokens=4006)
        return output

    def run(name="ecc_text", *, model=answer, folder="logs", **parameters):
        options = {n: parameters.pop(n) for n in list(parameters) if n.startswith("eval_")}
        small = {"lengths": "32", "count": 1, "queries": 4} | ({"bands": "max"} if name != "easyhuman" else {})
        small = small if name != "memlens" else {}
        [log] = inspect_eval(
            f"memgauge/{name}",
            model=get_model("mockllm/model", custom_outputs=model) if callable(model) else model,
            task_args=small | parameters,
            log_dir=str(root / folder),
            display="none",
            **{n.removeprefix("eval_"): v for n, v in options.items()},
        )
        return log

    return run
