"""What the report says about the task `memlens`: tables, charts, sections of the page, and lines for the terminal."""
