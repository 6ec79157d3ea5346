"""The tasks of memgauge for Inspect AI (extra `inspect`): `inspect eval memgauge/ecc_text`.

`plan` says what is asked and `replies` reads what came back; both do without Inspect, so that logs can be imported
where it is not installed. `ecc` and `scoring` are what Inspect sees, through `registry`.
"""
