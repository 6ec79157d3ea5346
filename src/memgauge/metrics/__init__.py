"""Numbers from responses: one module a metric, and the inference that they share.

`summarise(rows)` of `memgauge.metrics.summary` returns them all as one JSON-ready document, which
`memgauge.metrics.document` describes. Metrics read responses (`memgauge.responses`) and know no system and no cost.
"""
