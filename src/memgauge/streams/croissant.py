"""The Croissant 1.0 description of a stream dataset, with its Responsible-AI fields (compare ECCBench, A.4)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from memgauge.streams.make import LAW_DATE

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataBiases": "cr:dataBiases",
    "dataCollection": "cr:dataCollection",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "personalSensitiveInformation": "cr:personalSensitiveInformation",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

_STREAM_FIELDS = (
    ("stream_id", "sc:Text", "Identifier, unique in the dataset."),
    ("band", "sc:Text", "Entropy band: low, max or easyhuman, or a name of the maker's own."),
    ("length", "sc:Integer", "Number of symbols."),
    ("symbols", "sc:Integer", "The stream: integers from 0 to 15."),
    ("lz_rate", "sc:Float", "Measured Lempel-Ziv rate (increasing-window match lengths), bits per symbol."),
    ("lz78_rate", "sc:Float", "Measured rate of Lempel-Ziv 1978 parsing, bits per symbol."),
    ("subtype", "sc:Text", "Structure of an EasyHuman stream (repeating or counting); empty elsewhere."),
)
_QUERY_FIELDS = (
    ("stream_id", "sc:Text", "The stream that is asked about."),
    ("query_id", "sc:Text", "Identifier, unique in the stream."),
    ("candidate", "sc:Integer", "Three to six symbols: did they occur as a contiguous subsequence?"),
    ("gold", "sc:Boolean", "Whether they did."),
    ("age", "sc:Integer", "Symbols after the end of the candidate's last occurrence; empty where it has none."),
    ("negatives", "sc:Text", "How the false candidates were drawn: uniform, matched or corruption."),
)
_REPEATED = {"symbols", "candidate"}

_RAI_MADE = {
    "rai:dataCollection": "All streams and queries are synthetic: drawn by a program from pseudo-random numbers.",
    "rai:dataCollectionType": ["Others"],
    "rai:dataCollectionRawData": "There are no raw data; manifest.json holds the seed and the parameters.",
    "rai:dataPreprocessingProtocol": [
        "Low-entropy streams are redrawn until their measured Lempel-Ziv rate lies in [0.33, 0.99] bits per symbol."
    ],
    "rai:personalSensitiveInformation": ["None: the data hold integers drawn at random."],
    "rai:dataSocialImpact": "None is expected; the data describe no person and no group.",
    "rai:dataReleaseMaintenancePlan": "The same version, seed and parameters give the same data again.",
}
_RAI = {
    "rai:dataAnnotationProtocol": "Gold answers are computed: whether the candidate occurs in the stream. Negative "
    "candidates are redrawn until they do not.",
    "rai:dataUseCases": [
        "Measuring whether a memory system recalls exact subsequences of a stream, at what cost, and whether it knows "
        "when it does not."
    ],
    "rai:dataLimitations": [
        "Rates compare streams of one length only, since the estimator is biased on short streams.",
        "Streams of integers say nothing about the memory of meaning.",
    ],
    "rai:dataBiases": [
        "With uniform negatives, a memory of which symbols or which pairs have occurred tells most false candidates "
        "of low-entropy streams from true ones; matched negatives close that shortcut."
    ],
}


def croissant(version: str, files: dict[str, dict[str, Any]], *, made: bool) -> dict[str, Any]:
    """Return the description of a folder's tables as JSON-LD.

    `files` gives the `sha256` and `bytes` of streams.parquet and queries.parquet. `made` says that the streams were
    drawn here; of others neither origin nor licence is claimed.
    """
    origin = {
        "license": "https://creativecommons.org/publicdomain/zero/1.0/",
        "datePublished": LAW_DATE,
        "creator": {"@type": "sc:Organization", "name": "memgauge"},
        **_RAI_MADE,
    }
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": "memgauge-streams",
        "description": "Streams of symbols from a 16-letter alphabet in entropy bands, each with queries that ask "
        "whether a candidate occurred in it as a contiguous subsequence.",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "citeAs": "ECCBench (the protocol); memgauge (the program that drew the queries)",
        "version": version,
        "isLiveDataset": False,
        "keywords": ["memory", "streams", "entropy", "compression", "membership queries"],
        **(origin if made else {}),
        **_RAI,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "contentSize": f"{about['bytes']} B",
                "encodingFormat": "application/x-parquet",
                "sha256": about["sha256"],
            }
            for file, about in files.items()
        ],
        "recordSet": [
            record_set("streams", "One record a stream.", ["stream_id"], _STREAM_FIELDS, repeated=_REPEATED),
            record_set(
                "queries",
                "One record a query.",
                ["stream_id", "query_id"],
                _QUERY_FIELDS,
                repeated=_REPEATED,
                refers_to=("stream_id", "streams"),
            ),
        ],
    }


def record_set(
    name: str,
    description: str,
    key: list[str],
    fields: tuple[tuple[str, str, str], ...],
    *,
    repeated: Collection[str],
    refers_to: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """Describe one table: (column, data type, text) of each field.

    `repeated` names the columns that hold lists; `refers_to` is (column, table) where a column names a record of
    another table.
    """
    columns = []
    for column, kind, text in fields:
        row: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "description": text,
            "dataType": kind,
            "source": {"fileObject": {"@id": f"{name}.parquet"}, "extract": {"column": column}},
        }
        if column in repeated:
            row["repeated"] = True
        if refers_to is not None and column == refers_to[0]:
            row["references"] = {"field": {"@id": f"{refers_to[1]}/{column}"}}
        columns.append(row)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        "key": [{"@id": f"{name}/{column}"} for column in key],
        "field": columns,
    }
