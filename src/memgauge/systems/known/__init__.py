"""Memories whose numbers are known: what they hold, what they cost, and how often they are right."""
