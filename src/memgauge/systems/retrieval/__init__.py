"""Retrieval: windows of the stream are embedded once, and a model reads the best of them (ECCBench, B.7).

See docs/retrieval.md.
"""
