"""Grading by a language model: prompts with rubrics, verdicts read from its text, a cache, and how far to trust it."""
