"""Numbers of the task `memlens`: one module a metric, each over the same table of answers.

`conversation_numbers` of `memgauge.metrics.memlens.summary` returns them all as one JSON-ready document, which
`memgauge.metrics.memlens.document` describes.
"""
