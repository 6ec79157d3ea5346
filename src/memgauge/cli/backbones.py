"""`memgauge backbones`: train sequence backbones on membership questions, and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from memgauge.cli.options import Json

app = App(name="backbones", help="Train sequence backbones on membership questions, and compare them.")

Width = Annotated[int, Parameter(help="Embedding width D, a multiple of 16; the paper uses 64 and 128.")]
Steps = Annotated[int | None, Parameter(help="Steps of the cosine schedule [4000].")]
Minutes = Annotated[float | None, Parameter(help="Stop after so many minutes; the schedule stays as it is.")]
Config = Annotated[Path | None, Parameter(help="JSON file with fields of the recipe, such as learning_rate or batch.")]
Device = Annotated[
    Literal["auto", "cpu", "cuda"], Parameter(help="Where to compute; auto takes a GPU if there is one.")
]
Threads = Annotated[int | None, Parameter(help="Threads of torch on the CPU [all cores].")]
Seed = Annotated[int | None, Parameter(help="Weights and data follow from it [0].")]


@app.command
def train(
    name: Annotated[str, Parameter(help="A backbone; see `memgauge list backbones`.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="Folder of the checkpoint; a training that is there goes on exactly.")],
    width: Width = 64,
    steps: Steps = None,
    minutes: Minutes = None,
    config: Config = None,
    seed: Seed = None,
    device: Device = "auto",
    threads: Threads = None,
    tensorboard: Annotated[bool, Parameter(negative="", help="Write a TensorBoard log beside log.csv.")] = False,
    json: Json = False,
) -> int:
    """Train a backbone on maximum-entropy streams of 32 to 1,024 symbols, lengths growing with accuracy.

    Writes OUT/model.safetensors, training.safetensors, checkpoint.json and log.csv. Stopped at any moment, the same
    command goes on from the last checkpoint. Several GPUs: torchrun --nproc-per-node N -m memgauge backbones train ...
    """
    from memgauge.cli.output import print_json
    from memgauge.systems.backbones.config import make_config
    from memgauge.systems.backbones.training import train as run

    _use_threads(threads)
    recipe = make_config(name, width, config, {"steps": steps, "seed": seed})
    trained = run(recipe, out, minutes=minutes, device=device, tensorboard=tensorboard)
    if trained.reason == "interrupted":
        raise KeyboardInterrupt
    if _rank():
        return 0
    if json:
        print_json({"out": str(out), "reason": trained.reason, "config": recipe.as_json(), **trained.loop.as_json()})
        return 0
    loop = trained.loop
    did = f"{loop.step:,} of {recipe.steps:,} steps in {loop.seconds:.0f} s"
    print(f"{name}, D = {width}: {did}, stopped by {trained.reason}")
    _print_validation({name: trained.validation})
    print(f"next: memgauge run ecc-tokens --system backbone:path={out} --lengths 128,512 --out runs/{name}")
    return 0


@app.command
def sweep(
    names: Annotated[list[str], Parameter(help="Backbones; see `memgauge list backbones`.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="Folder; each training gets OUT/NAME/RECIPE, the best is OUT/NAME/best.")],
    width: Width = 64,
    steps: Steps = None,
    minutes: Annotated[float | None, Parameter(help="Minutes of each training.")] = None,
    config: Config = None,
    rates: Annotated[str | None, Parameter(help="Learning rates, comma-separated [half the usual, the usual].")] = None,
    batches: Annotated[str | None, Parameter(help="Batch sizes, comma-separated [the usual, double].")] = None,
    seed: Seed = None,
    device: Device = "auto",
    threads: Threads = None,
    ray: Annotated[bool, Parameter(negative="", help="Train on a Ray cluster (RAY_ADDRESS), or a local one.")] = False,
    json: Json = False,
) -> int:
    """Train each backbone by four recipes and keep the best by validation, as the paper does (ECCBench, C.1)."""
    from dataclasses import asdict

    from memgauge.cli.options import integers
    from memgauge.cli.output import print_json, print_table
    from memgauge.systems.backbones.config import make_config
    from memgauge.systems.backbones.sweep import sweep as run

    _use_threads(threads)
    recipes = [make_config(name, width, config, {"steps": steps, "seed": seed}) for name in names]
    found = run(
        recipes,
        out,
        minutes=minutes,
        device=device,
        ray=ray,
        rates=_numbers("--rates", rates),
        batches=integers("--batches", batches),
    )
    if json:
        print_json({name: [asdict(one) for one in tried] for name, tried in found.items()})
    else:
        rows = [
            [one.backbone, f"{one.learning_rate:g}", str(one.batch), _share(one.validation), one.problem or ""]
            for tried in found.values()
            for one in tried
        ]
        print_table("", ("backbone", "learning rate", "batch", "validation", "problem"), rows)
    return 0 if any(one.validation is not None for tried in found.values() for one in tried) else 1


@app.command
def quick(
    *,
    out: Annotated[Path, Parameter(help="Folder of the checkpoints, the run, and the report.")] = Path("runs/quick"),
    minutes: Annotated[float, Parameter(help="Minutes of training, shared by the four.")] = 10.0,
    count: Annotated[int, Parameter(help="Streams in each cell of the comparison.")] = 16,
    seed: Annotated[int, Parameter(help="Weights and data follow from it.")] = 0,
    device: Device = "auto",
    threads: Threads = None,
) -> int:
    """Train conv, rope, gla and deltanet for ten minutes in all, compare them, and draw coverage against accuracy.

    Minutes of training are far from the paper's hours: what has not been learned yet shows as such. Sets of n-grams and
    a window of 512 symbols stand beside the four.
    """
    from memgauge.cli.report import report
    from memgauge.cli.run import subjects_of
    from memgauge.run import Plan, execute
    from memgauge.systems.backbones.config import make_config
    from memgauge.systems.backbones.training import train as run
    from memgauge.tasks import MadeStreams

    _use_threads(threads)
    # Share of the time, and steps of the schedule: about what an idle core does in its share of ten minutes.
    plans = {"conv": (0.15, 1500), "rope": (0.15, 1800), "gla": (0.3, 3500), "deltanet": (0.4, 3000)}
    reached = {}
    for name, (share, steps) in plans.items():
        recipe = make_config(name, 64, None, {"seed": seed, "steps": steps})
        trained = run(recipe, out / name, minutes=share * minutes, device=device)
        if trained.reason == "interrupted":
            raise KeyboardInterrupt
        reached[name] = trained.validation
    _print_validation(reached)
    systems = [f"backbone:path={out / name},device={device}" for name in plans]
    systems += ["ngram-set:n=1", "ngram-set:n=2", "ngram-set:n=3", "window:bits=2048"]
    plan = Plan(
        task="ecc-tokens",
        source=MadeStreams(lengths=(32, 128, 512, 2048), count=count, seed=seed),
        subjects=subjects_of(systems, "ecc-tokens"),
        replace=True,
    )
    execute(plan, out / "run", command=["memgauge", "backbones", "quick"])
    report([out / "run"], out=out / "report.html", charts=out / "charts", format="svg")
    return 0


@app.command
def frontier(
    runs: Annotated[list[Path], Parameter(help="Run folders; pooled.")],
    /,
    *,
    budgets: Annotated[
        str, Parameter(help="Budgets in MFLOPs a response, comma-separated; the paper's by default.")
    ] = "30000,10000,1750",
    charts: Annotated[Path | None, Parameter(help="Write each chart into this folder, as SVG.")] = None,
    json: Json = False,
) -> int:
    """Show which systems lead coverage against accuracy under each budget of FLOPs (ECCBench, Figures 8 and 10)."""
    from memgauge.cli.options import integers
    from memgauge.cli.output import print_json, print_table
    from memgauge.report.build import build_report
    from memgauge.report.frontier import frontier_charts, frontiers

    limits = tuple(1_000_000 * budget for budget in integers("--budgets", budgets))
    document = build_report(runs)
    found = frontiers(document, limits)
    if charts is not None:
        from memgauge.report.charts.export import export_charts

        export_charts(frontier_charts(found), charts, ("svg",))
    if json:
        print_json({"frontiers": found})
        return 0
    for panel in found:
        title = f"{panel['split']}, L = {panel['length']:,}, at most {panel['budget'] // 1_000_000:,} MFLOPs"
        rows = [
            [
                one["system"],
                f"{one['flops'] / 1e6:,.1f}",
                _share(one["accuracy"]),
                _share(one["half"]),
                _share(one["leads"]),
            ]
            for one in panel["systems"]
        ]
        print_table(title, ("system", "MFLOPs", "accuracy", "at 50 % coverage", "leads"), rows)
    return 0


@app.command
def curves(
    folders: Annotated[list[Path] | None, Parameter(help="Folders of checkpoints; those that ship by default.")] = None,
    /,
    *,
    charts: Annotated[Path | None, Parameter(help="Draw the learning curves into this folder, as SVG.")] = None,
    json: Json = False,
) -> int:
    """Show what checkpoints have learned: recipe, time, validation accuracy by length, and the hash of the weights."""
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.systems.backbones.config import read_summary
    from memgauge.systems.backbones.shipped import shipped_checkpoints

    shown = {str(folder): folder for folder in folders} if folders else shipped_checkpoints()
    found = {name: read_summary(folder) for name, folder in shown.items()}
    labels = {
        name: f"{one['config']['backbone']}, D = {one['config']['width']} ({Path(name).name})"
        for name, one in found.items()
    }
    if len(set(labels.values())) < len(labels):
        labels = {name: name for name in found}
    if charts is not None:
        from memgauge.report.charts.export import export_charts
        from memgauge.report.learning import learning_chart

        histories = {labels[name]: one["history"] for name, one in found.items() if one["history"]}
        if not histories:
            raise InputError("no checkpoint has a validation to draw yet")
        export_charts([learning_chart(histories)], charts, ("svg",))
    if json:
        print_json({"checkpoints": found})
        return 0
    _print_validation({labels[n]: one["history"][-1]["accuracy"] if one["history"] else {} for n, one in found.items()})
    for name, one in found.items():
        config = one["config"]
        print(
            f"{labels[name]}: {one['step']:,} of {config['steps']:,} steps, {one['seconds'] / 60:.1f} min, "
            f"{one['parameters']:,} parameters, seed {config['seed']}, sha256 {one['sha256']}"
        )
    return 0


def _use_threads(threads: int | None) -> None:
    """Set torch's threads. Raises `InputError` when torch is missing or the number is below 1."""
    from memgauge.errors import InputError
    from memgauge.systems.backbones import need_torch

    need_torch()
    import torch

    if threads is not None:
        if threads < 1:
            raise InputError(f"--threads is {threads}: give 1 or more")
        torch.set_num_threads(threads)


def _rank() -> int:
    import os

    return int(os.environ.get("RANK", "0"))


def _numbers(option: str, text: str | None) -> tuple[float, ...]:
    from memgauge.cli.options import names
    from memgauge.errors import InputError

    try:
        return tuple(float(part) for part in names(option, text))
    except ValueError:
        raise InputError(f"{option} {text!r}: give numbers separated by commas") from None


def _share(value: Any) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _print_validation(reached: dict[str, dict[str, float]]) -> None:
    """Print validation accuracy by length."""
    from memgauge.cli.output import print_table

    lengths = sorted({int(length) for found in reached.values() for length in found})
    rows = [[name, *(_share(found.get(str(length))) for length in lengths)] for name, found in reached.items()]
    print_table("validation accuracy", ("backbone", *(f"L = {length}" for length in lengths)), rows)
