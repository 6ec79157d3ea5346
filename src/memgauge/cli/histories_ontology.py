"""`memgauge histories ontology`: look at the topics of conversations, check a file of one's own, grow it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from memgauge.cli.options import Json

app = App(name="ontology", help="The topics that conversations are about: show, check and grow them.")


@app.command
def show(
    *,
    file: Annotated[Path | None, Parameter(help="A file of your own topics [the built-in ones].")] = None,
    out: Annotated[Path | None, Parameter(help="Also write them as a file, to start your own from.")] = None,
    json: Json = False,
) -> int:
    """Show tracks, sub-attributes and topics with their shares of the sessions.

    Exit status: 0, or 2 when a file cannot be used.
    """
    from memgauge.cli.output import print_json, write_page
    from memgauge.histories.building.ontology import built_in, load_ontology
    from memgauge.histories.building.ontology_files import outline, to_text

    read = load_ontology(file.expanduser()) if file else built_in()
    if out is not None:
        write_page(out, to_text(read))
    found = outline(read)
    if json:
        print_json(found)
    else:
        _print_outline(found)
    return 0


@app.command
def lint(
    file: Annotated[Path, Parameter(help="A file of topics (`tracks`) or of phrases for pictures (`categories`).")],
    /,
    *,
    json: Json = False,
) -> int:
    """Name every rule that a file of topics or phrases breaks, with line, entry, and what to do.

    Exit status: 0, 1 when the file breaks a rule, 2 when it cannot be read.
    """
    from memgauge.cli.output import print_json
    from memgauge.histories.building.ontology_files import lint_file

    found = lint_file(file)
    if json:
        print_json(found.to_dict())
        return 1 if found.problems else 0
    for finding in found.problems:
        print(f"{file}: {finding}")
    for finding in found.notes:
        print(f"{file}: note: {finding}")
    counts = ", ".join(f"{count:,} {name.replace('_', '-')}" for name, count in found.counts.items())
    print(f"{file}: {counts}; {len(found.problems) or 'no'} problem{'' if len(found.problems) == 1 else 's'}")
    return 1 if found.problems else 0


@app.command
def expand(
    file: Annotated[Path | None, Parameter(help="The file of topics to start from [the built-in ones].")] = None,
    /,
    *,
    writer: Annotated[str, Parameter(help="model:name=MODEL,base_url=URL of an OpenAI-compatible endpoint.")],
    out: Annotated[Path, Parameter(help="The file to write.")],
    topics: Annotated[int, Parameter(help="Topics that each sub-attribute should have.")] = 20,
    subtopics: Annotated[int, Parameter(help="Subtopics that each topic should have.")] = 30,
    rounds: Annotated[int, Parameter(help="Requests for each list at most.")] = 6,
    json: Json = False,
) -> int:
    """Let a model add topics and subtopics; its answers are checked, duplicates turned down, and both are counted.

    What the model said is kept beside OUT until the file is written, so that the same command goes on where it was
    stopped. Exit status: 0, 1 when lists stayed shorter than asked for (the file is written with what there is), 2 for
    options, a file or an endpoint that cannot be used.
    """
    from memgauge.cli.output import print_json
    from memgauge.histories.building.expansion import expand_file

    found = expand_file(
        None if file is None else file.expanduser(),
        out.expanduser(),
        writer,
        topics=topics,
        subtopics=subtopics,
        rounds=rounds,
    )
    if json:
        print_json(found)
    else:
        before, after = found["before"], found["after"]
        grown = ", ".join(f"{after[name]:,} {name.replace('_', '-')} (was {before[name]:,})" for name in after)
        print(f"{out}: {grown}")
        turned = ", ".join(f"{count:,} {why}" for why, count in sorted(found["rejected"].items()))
        print(f"{found['requests']:,} requests; answers turned down: {turned or 'none'}")
        for what, count in found["short"].items():
            if count:
                print(f"{count:,} lists of {what} stayed shorter than asked for")
    return 1 if any(found["short"].values()) else 0


def _print_outline(found: dict[str, Any]) -> None:
    from memgauge.cli.output import print_table

    rows = [
        [track["id"], group["id"], f"{group['share']:.1%}", str(len(group["topics"])), str(group["subtopics"])]
        for track in found["tracks"]
        for group in track["sub_attributes"]
    ]
    print_table("Topics", ["track", "sub-attribute", "share", "topics", "subtopics"], rows, left=2)
    counts = found["counts"]
    tracks = ", ".join(f"{track['id']} {track['share']:.0%}" for track in found["tracks"])
    print(f"{counts['topics']:,} topics, {counts['subtopics']:,} subtopics; tracks: {tracks}")
    print(f"sha256 {found['sha256']}")
