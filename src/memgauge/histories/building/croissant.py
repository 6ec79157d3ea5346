"""The Croissant 1.0 description of a folder of histories, with its Responsible-AI fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.histories.building.card_text import written_by_model
from memgauge.histories.building.photographs import SOURCES
from memgauge.histories.building.writers import PROCEDURAL
from memgauge.streams.croissant import CONTEXT, record_set

LICENCE = "https://creativecommons.org/publicdomain/zero/1.0/"
PUBLISHED = "2026-11-30"
"""Date of the version of the construction law, not of the build: no file says when it was made."""

_FIELDS = (
    ("question_id", "sc:Text", "Identifier of the question, the same in every split."),
    ("question_type", "sc:Text", "Memory ability: information_extraction, multi_session_reasoning, ..."),
    ("question", "sc:Text", "The question, with a hint at the form of its answer."),
    ("answer", "sc:Text", "The gold answer; NOT_MENTIONED where the history holds none."),
    ("question_date", "sc:Text", "When it is asked: YYYY/MM/DD (Ddd) HH:MM, after every session."),
    ("haystack_dates", "sc:Text", "Date of each session, increasing."),
    ("haystack_session_ids", "sc:Text", "Identifier of each session."),
    ("answer_session_ids", "sc:Text", "Sessions that hold the evidence; empty for refusals."),
)
_REPEATED = {"haystack_dates", "haystack_session_ids", "answer_session_ids"}
_SESSIONS = (
    "The column haystack_sessions, which Croissant 1.0 cannot describe, holds a list of turns for each session: role, "
    "content with one <image> for each picture, images (file, image_url, blip_caption) and has_answer."
)
_MIME = {"jsonl": "application/jsonlines", "json": "application/json", "parquet": "application/x-parquet"}


def croissant(
    version: str,
    files: Mapping[str, Mapping[str, Any]],
    lengths: Sequence[str],
    photographs: Mapping[str, Any] | None = None,
    *,
    writer: str = PROCEDURAL,
) -> dict[str, Any]:
    """Return the description as JSON-LD.

    `files` gives `sha256` and `bytes` of each split; `lengths` are the names of the splits; `photographs` is what the
    manifest says of them, and `writer` who wrote the text.
    """
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": "memgauge-histories",
        "description": "Questions about long conversations with pictures, each with its history of dated sessions at "
        "several lengths, built by the procedural pipeline of memgauge after the protocol of MEMLENS.",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "citeAs": "MEMLENS (the protocol); memgauge (the program that wrote the data)",
        "creator": {"@type": "sc:Organization", "name": "memgauge"},
        "datePublished": PUBLISHED,
        "license": LICENCE,
        "version": version,
        "isLiveDataset": False,
        "keywords": ["memory", "conversation", "multimodal", "long context", "question answering"],
        **_RAI,
        "distribution": [
            *(
                {
                    "@type": "cr:FileObject",
                    "@id": name,
                    "name": name,
                    "contentUrl": name,
                    "contentSize": f"{about['bytes']} B",
                    "encodingFormat": _MIME[name.rsplit(".", 1)[1]],
                    "sha256": about["sha256"],
                }
                for name, about in files.items()
            ),
            *(
                {
                    "@type": "cr:FileSet",
                    "@id": f"images-{extension}",
                    "name": f"images-{extension}",
                    "description": f"The {extension.upper()} pictures, each named by the sha256 of its bytes.",
                    "includes": f"images/*/*.{extension}",
                    "encodingFormat": mime,
                }
                for extension, mime in (("png", "image/png"), ("jpg", "image/jpeg"))
            ),
        ],
        "recordSet": [_split(f"dataset_{name}") for name in lengths],
    }
    if photographs is not None:
        described |= _with_photographs(photographs)
    return described if writer == PROCEDURAL else written_by_model(described, writer)


def _with_photographs(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that differ where some pictures are photographs."""
    licences = [_ADDRESSES.get(name, name) for name in about["licenses"] if name != "unknown"]
    run = [name for name, state in about["channels"].items() if state == "run"]
    trusted = " The user vouched for the pictures of the source." if about["trusted"] else ""
    return {
        "license": [LICENCE, *(name for name in licences if name != LICENCE)],
        "rai:dataCollection": "All conversations, questions and drawn pictures are synthetic. Pictures of single "
        f"things are photographs from {SOURCES[about['source']]}; {about['exported']} are in the folder, "
        f"{about['by_reference']} are kept by address and hash only.",
        "rai:dataCollectionRawData": "photographs.jsonl lists address, author and licence of every photograph; "
        "manifest.json holds the seed and the options.",
        "rai:dataPreprocessingProtocol": [
            *_RAI["rai:dataPreprocessingProtocol"],
            f"Photographs passed a quality filter, the removal of repeats, and the relevance channels "
            f"{', '.join(run) or 'none'}; not run: {', '.join(n for n in about['channels'] if n not in run) or 'none'}."
            + trusted,
        ],
        "rai:dataLimitations": [
            _RAI["rai:dataLimitations"][0],
            "Only pictures of single things are photographs; scores are not comparable with those published for "
            "MEMLENS.",
        ],
        "rai:personalSensitiveInformation": [
            "People and events of the texts are invented. Nobody searched the photographs for people."
        ],
        "rai:dataReleaseMaintenancePlan": "The same version, seed, options and photographs give the same data again.",
    }


_ADDRESSES = {
    "cc0-1.0": LICENCE,
    "pdm-1.0": "https://creativecommons.org/publicdomain/mark/1.0/",
    "public domain": "https://creativecommons.org/publicdomain/mark/1.0/",
    "mit": "https://opensource.org/license/mit",
    "apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    **{
        f"cc-{form}-{version}": f"https://creativecommons.org/licenses/{form}/{version}/"
        for form in ("by", "by-sa")
        for version in ("2.0", "2.5", "3.0", "4.0")
    },
}


def _split(name: str) -> dict[str, Any]:
    return record_set(name, f"One record a question. {_SESSIONS}", ["question_id"], _FIELDS, repeated=_REPEATED)


_RAI: dict[str, Any] = {
    "rai:dataCollection": "All conversations, questions and pictures are synthetic: written and drawn by a program.",
    "rai:dataCollectionType": ["Others"],
    "rai:dataCollectionRawData": "There are no raw data; manifest.json holds the seed and the options.",
    "rai:dataAnnotationProtocol": "Gold answers are computed from the structured truth behind the pictures and checked "
    "by a solver over the whole history.",
    "rai:dataPreprocessingProtocol": [
        "Every turn passes six validators; candidates that fail, repeat a question or a picture are replaced."
    ],
    "rai:dataUseCases": [
        "Measuring how well a system remembers what pictures of a long conversation showed, at several lengths."
    ],
    "rai:dataLimitations": [
        "The text is templated: it tests memory and the binding of text and picture, not naturalness.",
        "Drawn pictures are easier than photographs; scores are not comparable with those published for MEMLENS.",
    ],
    "rai:dataBiases": [
        "Evidence sessions come from the same generator as all others. At the shortest length, items with several "
        "evidence sessions can be told slightly above chance by their number."
    ],
    "rai:personalSensitiveInformation": ["None: people and events are invented."],
    "rai:dataSocialImpact": "None is expected; the data describe no real person.",
    "rai:dataReleaseMaintenancePlan": "The same version, seed and options give the same data again.",
}
