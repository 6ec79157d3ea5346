"""The construction pipeline: blueprints, pictures, text, assembly, checks (MEMLENS, data construction)."""
