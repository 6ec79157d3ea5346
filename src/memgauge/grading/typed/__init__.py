"""Typed answers by rule: counts, amounts, yes/no, order, durations, dates, refusals, and short free text (MEMLENS)."""
