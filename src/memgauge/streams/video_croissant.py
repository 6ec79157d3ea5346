"""The Croissant 1.0 description of a video dataset, with its Responsible-AI fields (compare ECCBench, A.4)."""

from __future__ import annotations

from typing import Any

from memgauge.streams.croissant import croissant as describe_streams
from memgauge.streams.croissant import record_set

_VIDEO_FIELDS = (
    ("video_id", "sc:Text", "Identifier, unique in the dataset."),
    ("band", "sc:Text", "Entropy band of the stream: low, max or easyhuman."),
    ("length", "sc:Integer", "Number of frames, which is the number of seconds."),
    ("symbols", "sc:Integer", "The letter of each frame: 0 to 15, in the order of the manifest's letters."),
    ("lanes", "sc:Integer", "The belt of each frame's letter: 0, 1 or 2."),
    ("lane_law", "sc:Text", "fixed: a letter keeps its belt for the whole video; free: a belt for every frame."),
    ("subtype", "sc:Text", "Structure of an EasyHuman stream (repeating or counting); empty elsewhere."),
    ("files", "sc:Text", "The video's pictures in order, or its one MP4, relative to the folder."),
)
_QUERY_FIELDS = (
    ("video_id", "sc:Text", "The video that is asked about."),
    ("query_id", "sc:Text", "Identifier, unique in the video."),
    ("variant", "sc:Text", "sequential or spatial: how a false candidate differs."),
    ("candidate", "sc:Integer", "Three to six letters: did they occur one after the other, on these belts?"),
    ("lanes", "sc:Integer", "The belt of each letter of the candidate."),
    ("gold", "sc:Boolean", "Whether they did."),
    ("age", "sc:Integer", "Frames after the end of the candidate's last occurrence; empty where it has none."),
    ("negatives", "sc:Text", "How the false candidates of the stream were drawn: uniform, matched or corruption."),
    ("files", "sc:Text", "The candidate's pictures in order, or its one MP4, relative to the folder."),
)
_REPEATED = {"symbols", "lanes", "candidate", "files"}


def croissant(version: str, files: dict[str, dict[str, Any]], video_format: str, *, made: bool) -> dict[str, Any]:
    """Return the description of a folder as JSON-LD.

    `files` gives `sha256` and `bytes` of the two tables. `made` says that the streams were drawn here; of others
    neither origin nor licence is claimed.
    """
    document = describe_streams(version, files, made=made)
    if made:
        document["rai:personalSensitiveInformation"] = ["None: the videos show letters drawn at random."]
    pattern, mime = {
        "png": ("frames/*.png", "image/png"),
        "jpeg": ("frames/*.jpg", "image/jpeg"),
        "mp4": ("videos/*/*.mp4", "video/mp4"),
    }[video_format]
    pictures = {
        "@type": "cr:FileSet",
        "@id": "pictures",
        "name": "pictures",
        "description": "Every video and every candidate." if video_format == "mp4" else "Every distinct frame.",
        "includes": pattern,
        "encodingFormat": mime,
    }
    return {
        **document,
        "name": "memgauge-videos",
        "description": "Synthetic videos of letters on three conveyor belts, one letter a frame and one frame a "
        "second, each with queries that ask whether a short clip occurred in it.",
        "keywords": ["memory", "video", "entropy", "compression", "membership queries"],
        "rai:dataAnnotationProtocol": "Gold answers are computed: whether the candidate's letters occur in the video "
        "one after the other, on the candidate's belts.",
        "rai:dataLimitations": ["The videos show letters on plain belts and say nothing about natural video."],
        "rai:dataBiases": [
            *document["rai:dataBiases"],
            "With the fixed lane law, a memory of each letter's belt alone answers every spatial question.",
        ],
        "distribution": [*document["distribution"], pictures],
        "recordSet": [
            record_set("videos", "One record a video.", ["video_id"], _VIDEO_FIELDS, repeated=_REPEATED),
            record_set(
                "queries",
                "One record a query.",
                ["video_id", "query_id"],
                _QUERY_FIELDS,
                repeated=_REPEATED,
                refers_to=("video_id", "videos"),
            ),
        ],
    }
