"""The subtype of a MEMLENS question: what is asked decides how the answer is read.

Released records name no subtype. It follows from the question's type first, then from the form of the reference, then
from the question's wording (MEMLENS, memory abilities and their reporting subtypes).
"""

from __future__ import annotations

import re
from functools import lru_cache

from memgauge.errors import unknown_name
from memgauge.grading.typed.dates import find_dates
from memgauge.grading.typed.numbers import find_numbers
from memgauge.grading.typed.quantity import asked_unit, reference_number
from memgauge.grading.typed.yesno import polarity

SUBTYPES = (
    "IE",
    "MSR_Arithmetic",
    "MSR_Counting",
    "MSR_YesNo",
    "TR_DurationComparison",
    "TR_OrderRanking",
    "TR_DateExtraction",
    "KU",
    "AR",
)
"""The nine reporting subtypes."""

BY_RULE = frozenset(SUBTYPES) - {"IE", "KU"}
"""Subtypes whose answers the rules decide; of the others they only give a first reading, and a judge decides."""

TASK_KEYS = {
    "IE": "IE_Entity",
    "KU": "KU_KnowledgeUpdate",
    "AR": "AR_AnswerRefusal",
    **{name: name for name in SUBTYPES if "_" in name},
}
"""The rubric of each subtype; `IE_PreviousInfo` shares the one of `IE_Entity`."""

_TYPES = {
    "information_extraction": "IE",
    "knowledge_update": "KU",
    "answer_refusal": "AR",
    "multi_session_reasoning": "MSR",
    "temporal_reasoning": "TR",
    "single_session_user": "IE",
    "single_session_assistant": "IE",
    "single_session_preference": "IE",
    "multi_session": "MSR",
    "abstention": "AR",
    "ie": "IE",
    "ku": "KU",
    "ar": "AR",
    "msr": "MSR",
    "tr": "TR",
}
_NAMED = {
    "arithmetic": "MSR_Arithmetic",
    "counting": "MSR_Counting",
    "yes_no": "MSR_YesNo",
    "yesno": "MSR_YesNo",
    "duration_comparison": "TR_DurationComparison",
    "order_ranking": "TR_OrderRanking",
    "temporal_info_extraction": "TR_DateExtraction",
    "date_extraction": "TR_DateExtraction",
}
_SUM = re.compile(
    r"\b(?:how much|costs?|price[ds]?|pay|paid|spend|spent|spending|fees?|owed?|owe|earn(?:ed)?|budget"
    r"|percent(?:age)?|fraction|average|mean|difference|ratio|proportion|share of|sum|total amount"
    r"|remain(?:s|ing)?|left over|how long|how far"
    r"|combined (?:cost|price|weight|length|duration)|total (?:cost|price|weight|length|distance|time"
    r"|duration|spending|amount))\b"
)
_ORDER = re.compile(
    r"\b(?:in order|order (?:of|the|these|from|in)|what order|which order|sequence|chronological"
    r"|earliest to latest|latest to earliest|first to last|rank|sort|arrange|put these"
    r"|came first, second)\b"
)
_LONGER = re.compile(r"\b(?:longer|shorter|longest|shortest|more time|less time|lasted|greater)\b")
_TUPLE = re.compile(r"\s*(?:[(\[]?\s?(?:\d{1,2}|[A-J])\s?[)\]]?\s*(?:,|;|→|->|>|-|\bthen\b)?\s*){2,}\s*[.\])]?\s*")


@lru_cache(maxsize=4096)
def infer_subtype(question_type: str, question: str, reference: str, named: str = "") -> str:
    """Return the reporting subtype of a question.

    Parameters
    ----------
    question_type : the record's own, such as `multi_session_reasoning`; LongMemEval's names are taken too.
    question, reference : the record's texts.
    named : the subtype that a file names, where it names one.

    Raises `InputError` for an unknown type.

    >>> infer_subtype("multi_session_reasoning", "How much did the three rides cost?", "185 DKK")
    'MSR_Arithmetic'
    >>> infer_subtype("temporal_reasoning", "When did the longer course end?", "2023/02/01")
    'TR_DateExtraction'
    """
    kind = _TYPES.get(re.sub(r"[\s-]+", "_", question_type.strip().lower()))
    if kind is None:
        raise unknown_name("question type", question_type, [name for name in _TYPES if len(name) > 3])
    if kind in ("IE", "KU", "AR"):
        return kind
    given = _NAMED.get(re.sub(r"[\s-]+", "_", named.strip().lower()).removeprefix("msr_").removeprefix("tr_"))
    if given is not None and given.startswith(kind):
        return given
    return _reasoning(question, reference, named) if kind == "MSR" else _temporal(question, reference)


def _reasoning(question: str, reference: str, named: str) -> str:
    if polarity(reference) is not None:
        return "MSR_YesNo"
    low = question.lower()
    number = reference_number(reference)
    if named.strip().lower() == "entity_resolution":
        return "MSR_Counting" if number is not None else "MSR_YesNo"
    if number is None:
        if find_numbers(reference.lower()):
            return (
                "MSR_Arithmetic"
                if any(n.units for n in find_numbers(reference.lower())) or _SUM.search(low)
                else "MSR_Counting"
            )
        return (
            "MSR_YesNo"
            if re.match(r"\s*(?:is|are|was|were|do|does|did|have|has|had|can|could|will)\b", low)
            else "MSR_Counting"
        )
    if number.units or number.values[0].denominator != 1 or re.search(r"\d\.\d", reference):
        return "MSR_Arithmetic"
    counted = re.search(r"\bhow many\b|\bnumber of\b|\bcount\b", low)
    if counted is not None:
        return "MSR_Arithmetic" if asked_unit(question) else "MSR_Counting"
    return "MSR_Arithmetic" if _SUM.search(low) or "total" in low else "MSR_Counting"


def _temporal(question: str, reference: str) -> str:
    low = question.lower()
    if re.fullmatch(r"\s*\(?[A-Da-d][.)]?\s*", reference) or re.match(r"\s*\(?[AB][.):]\s+\S", reference):
        return "TR_DurationComparison"
    if find_dates(reference.strip().lower()):
        return "TR_DateExtraction"
    if _TUPLE.fullmatch(reference) and re.search(r"\d|[A-J]\W", reference):
        return "TR_OrderRanking"
    if _ORDER.search(low) and not re.match(r"\s*(?:when|on (?:what|which) (?:date|day))\b", low):
        return "TR_OrderRanking"
    if _LONGER.search(low) and re.search(r"\bwhich\b|\bor\b|\bvs\b|\bcompare\b", low):
        return "TR_DurationComparison"
    if len(re.split(r"\s*(?:,|;|→|->|>)\s*", reference.strip())) > 2 and not re.search(r"\bwhen\b|\bdate\b", low):
        return "TR_OrderRanking"
    return "TR_DateExtraction"
