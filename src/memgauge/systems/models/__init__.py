"""Models behind any OpenAI-compatible endpoint: what they are shown, how they are asked, what an answer costs.

See docs/models.md.
"""
