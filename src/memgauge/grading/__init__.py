"""From raw output to outcome: pure functions, whose rules are checked against labelled cases (`memgauge audit`).

See docs/grading.md for the rules and what they do not decide.
"""

from memgauge.grading.audit import GRADERS, AuditReport, KindReport, Miss, audit_file
from memgauge.grading.ecc import OPTIONS, CommitCost, EccParse, Template, commit_cost, parse_ecc
from memgauge.grading.outcomes import SCORED, AbstainKind, Outcome, RefusedKind
from memgauge.grading.subtypes import SUBTYPES, infer_subtype
from memgauge.grading.typed.grade import TypedGrade, grade_typed

__all__ = [
    "GRADERS",
    "OPTIONS",
    "SCORED",
    "SUBTYPES",
    "AbstainKind",
    "AuditReport",
    "CommitCost",
    "EccParse",
    "KindReport",
    "Miss",
    "Outcome",
    "RefusedKind",
    "Template",
    "TypedGrade",
    "audit_file",
    "commit_cost",
    "grade_typed",
    "infer_subtype",
    "parse_ecc",
]
