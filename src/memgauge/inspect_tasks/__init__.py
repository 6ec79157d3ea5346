"""The tasks of memgauge for Inspect AI (extra `inspect`): `inspect eval memgauge/ecc_text`, `memgauge/memlens`.

`plan` and `conversations` say what is asked, `replies` and `verdicts` read what came back; they do without Inspect, so
that logs can be imported where it is not installed. `ecc`, `memlens` and the scorers are what Inspect sees, through
`registry`.
"""
