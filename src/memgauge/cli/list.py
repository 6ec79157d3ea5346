"""`memgauge list`: what there is to name."""

from __future__ import annotations

from cyclopts import App

from memgauge.cli.options import Json

app = App(name="list", help="List systems, tasks, models or backbones.")


@app.command
def systems(*, json: Json = False) -> None:
    """List the memory systems that --system takes, with their parameters."""
    from memgauge.cli.output import print_json, print_table
    from memgauge.systems.registry import list_systems

    found = list_systems()
    if json:
        print_json({"systems": found})
        return
    rows = []
    for system in found:
        parameters = ", ".join(
            p["name"] if p["required"] else f"[{p['name']}={p['default']}]" for p in system["parameters"]
        )
        rows.append([system["name"], parameters, system["description"]])
    print_table("", ("system", "parameters", "what it is"), rows, left=3)
    print("Your own: import:package.module:Name[:k=v,...], or an entry point of the group memgauge.systems.")


@app.command
def tasks(*, json: Json = False) -> None:
    """List the tasks that `memgauge run` takes."""
    from memgauge.cli.output import print_json, print_table
    from memgauge.tasks import TASKS

    found = [{"name": task.name, "description": task.description} for task in TASKS.values()]
    if json:
        print_json({"tasks": found})
    else:
        print_table("", ("task", "what a system sees"), [[t["name"], t["description"]] for t in found], left=2)


@app.command
def models(*, json: Json = False) -> None:
    """List the models whose arithmetic has a price."""
    from memgauge.cli.output import print_json, print_table
    from memgauge.costs import list_models

    found = list_models()
    if json:
        print_json({"models": [{"name": m.name, "slug": m.slug, "aliases": list(m.aliases)} for m in found]})
    else:
        print_table("", ("model", "slug", "aliases"), [[m.name, m.slug, ", ".join(m.aliases)] for m in found], left=3)


@app.command
def backbones(*, json: Json = False) -> None:
    """List the sequence backbones whose arithmetic has a price."""
    from memgauge.cli.output import print_json, print_table
    from memgauge.costs import list_backbones

    found = list_backbones()
    if json:
        print_json({"backbones": [{"name": b.name, "table12_name": b.table12_name} for b in found]})
    else:
        print_table("", ("backbone", "name in Table 12"), [[b.name, b.table12_name or "-"] for b in found], left=2)
