"""`memgauge video`: make datasets of synthetic videos, check them, and look at one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from memgauge.cli.options import Json

app = App(name="video", help="Make and look at synthetic videos of letters on belts.")

LaneLaw = Annotated[
    Literal["fixed", "free"],
    Parameter(help="fixed: a letter keeps its belt for the whole video; free: a belt for every frame (extension)."),
]
Negatives = Annotated[
    Literal["uniform", "matched"],
    Parameter(help="How the stream's false candidates are drawn: uniform (the paper's), or matched to it (harder)."),
]
Seed = Annotated[int, Parameter(help="All streams and questions follow from it.")]
Size = Annotated[int, Parameter(help="Width and height of a frame in pixels.")]


@app.command
def make(
    *,
    out: Annotated[Path, Parameter(help="The folder to write; it must not exist, or be empty.")],
    band: Annotated[
        Literal["low", "max", "easyhuman"],
        Parameter(help="low: regular streams; max: uniform noise; easyhuman: a pattern that is broken once or twice."),
    ],
    length: Annotated[int, Parameter(help="Frames in a video, at one a second.")],
    count: Annotated[int, Parameter(help="Videos.")] = 20,
    queries: Annotated[
        int, Parameter(help="Questions about each video, a multiple of four: half of them spatial, half positive.")
    ] = 16,
    negatives: Negatives = "uniform",
    lane_law: LaneLaw = "fixed",
    format: Annotated[
        Literal["png", "jpeg", "mp4"],
        Parameter(help="png, jpeg: each distinct frame once, listed in order; mp4: a file for each video and clip."),
    ] = "png",
    size: Size = 448,
    seed: Seed = 0,
    force: Annotated[bool, Parameter(negative="", help="Replace the dataset that the folder holds.")] = False,
    json: Json = False,
) -> int:
    """Make videos with their questions and write them to OUT as a dataset.

    The same options give the same data. Exit status: 0, or 2 for options that cannot be used.
    """
    from memgauge.cli.output import print_json, print_table
    from memgauge.streams.make import Cell
    from memgauge.streams.video_dataset import write_video_cells

    cell = Cell(band, length, count, queries, negatives)
    manifest = write_video_cells(
        out, (cell,), seed=seed, lane_law=lane_law, video_format=format, size=size, force=force
    )
    if json:
        print_json({"folder": str(out), "manifest": manifest})
        return 0
    rows = [
        [
            made["band"],
            str(made["length"]),
            made["negatives"],
            made["lane_law"],
            str(made["videos"]),
            *(f"{made[v]['positives']} of {made[v]['queries']}" for v in ("sequential", "spatial")),
        ]
        for made in manifest["cells"]
    ]
    print_table(str(out), ["band", "frames", "negatives", "lanes", "videos", "sequential: yes", "spatial: yes"], rows)
    pictures = [about["bytes"] for name, about in manifest["files"].items() if "/" in name]
    print(f"{len(pictures):,} {format} files, {sum(pictures) / 1e6:.1f} MB")
    return 0


@app.command(name="validate")
def validate_folder(
    folder: Annotated[Path, Parameter(help="A folder made by `memgauge video make`.")], /, *, json: Json = False
) -> int:
    """Check a dataset folder: files, hashes, and that every video and question is what it must be.

    Exit status: 0 when it is sound, 1 when there are problems, 2 when there is no readable manifest.
    """
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.streams.video_dataset import check_pictures, read_videos

    problems = check_pictures(folder)
    try:
        for _ in read_videos(folder):
            pass
    except InputError as error:
        problems.append(str(error))
    if json:
        print_json({"folder": str(folder), "valid": not problems, "problems": problems})
    else:
        print(f"{folder}: {f'{len(problems)} problems' if problems else 'sound'}")
        for problem in problems:
            print(f"  {problem}")
    return 1 if problems else 0


@app.command
def show(
    video: Annotated[str, Parameter(help="Such as low-16-0003: band, length and number.")],
    /,
    *,
    data: Annotated[
        Path | None, Parameter(help="A folder made by `memgauge video make`; without it the video is made on the fly.")
    ] = None,
    query: Annotated[str | None, Parameter(help="Show this question's candidate instead of the video.")] = None,
    out: Annotated[
        Path | None, Parameter(help="Write an .mp4 at one frame a second, or a .png or .jpg with all frames on it.")
    ] = None,
    negatives: Negatives = "uniform",
    lane_law: LaneLaw = "fixed",
    queries: Annotated[int, Parameter(help="Questions about the video.")] = 16,
    seed: Seed = 0,
    size: Size = 448,
    json: Json = False,
) -> int:
    """Print one video and its questions in letters and belts ("H3" is the letter H on belt 3), or draw it.

    Exit status: 0, or 2 when the video cannot be made or read.
    """
    from memgauge.cli.output import print_json, print_table
    from memgauge.errors import unknown_name
    from memgauge.streams.video_frames import Frames, spell

    item = _made(video, negatives, lane_law, queries, seed) if data is None else _stored(video, data)
    asked = {q.query_id: q for q in item.queries}
    if query is not None and query not in asked:
        raise unknown_name(f"query of {video}", query, asked)
    if out is not None:
        chosen = (item.symbols, item.lanes) if query is None else (asked[query].candidate, asked[query].lanes)
        _draw(out, Frames(*chosen, size=size))
    facts = {name: getattr(item, name) for name in ("video_id", "band", "length", "lane_law", "subtype")}
    listed = [asked[query]] if query is not None else item.queries
    if json:
        rows = [
            {
                "query_id": q.query_id,
                "variant": q.variant,
                "frames": spell(q.candidate, q.lanes).split(),
                "gold": q.gold,
                "age": q.age,
            }
            for q in listed
        ]
        print_json({**facts, "frames": spell(item.symbols, item.lanes).split(), "queries": rows})
        return 0
    print(", ".join(f"{name} {value}" for name, value in facts.items() if value is not None))
    print(spell(item.symbols, item.lanes))
    rows_shown = [
        [
            q.query_id,
            spell(q.candidate, q.lanes),
            q.variant,
            "yes" if q.gold else "no",
            "" if q.age is None else str(q.age),
        ]
        for q in listed
    ]
    print_table("", ["query", "candidate", "variant", "occurs", "age"], rows_shown)
    if out is not None:
        print(f"drawn: {out}")
    return 0


def _made(video: str, negatives: Any, lane_law: Any, queries: int, seed: int) -> Any:
    from memgauge.errors import InputError
    from memgauge.streams.make import make_item
    from memgauge.streams.video import make_video

    band, _, rest = video.partition("-")
    length, _, index = rest.partition("-")
    if not (length.isdecimal() and index.isdecimal()) or len(rest) > 16:
        raise InputError(f"{video!r} names no video: give band, length and number, as in low-16-0003")
    chosen: Any = band
    item = make_item(chosen, int(length), int(index), seed=seed, queries=queries, negatives=negatives)
    return make_video(item, lane_law=lane_law)


def _stored(video: str, folder: Path) -> Any:
    from difflib import get_close_matches

    from memgauge.errors import InputError
    from memgauge.streams.video_dataset import read_videos

    names = []
    for item in read_videos(folder):
        if item.video_id == video:
            return item
        names.append(item.video_id)
    near = get_close_matches(video, names, n=3)
    hint = f"; the nearest: {', '.join(near)}" if near else ""
    raise InputError(f"{folder} has no video {video!r} among its {len(names):,}{hint}")


def _draw(out: Path, frames: Any) -> None:
    from memgauge.errors import InputError
    from memgauge.files import write_whole
    from memgauge.streams.video_frames import check_style, contact_sheet, encode_image
    from memgauge.streams.video_mp4 import clip_mp4

    check_style("png", frames.size)
    suffix = out.suffix.lower()
    if suffix == ".mp4":
        write_whole(out, clip_mp4(frames))
    elif suffix in (".png", ".jpg", ".jpeg"):
        size = min(frames.size, 112)
        write_whole(out, encode_image(contact_sheet(frames, size=size), "png" if suffix == ".png" else "jpeg"))
    else:
        raise InputError(f"{out}: give a file that ends in .mp4, .png or .jpg")
