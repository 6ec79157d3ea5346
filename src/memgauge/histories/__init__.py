"""MEMLENS histories: the released records, their readers, and the pipeline that builds such data (`building`)."""
