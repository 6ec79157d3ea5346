"""Importers: results made elsewhere become responses directly, without the run loop.

Tables of results (`table`) and logs of Inspect AI (`inspect_log` reads a file, `inspect_rows` makes its rows,
`inspect_run` joins logs); every importer ends in a run folder (`folder`) that `report` and `compare` take.
"""

from memgauge.importers.folder import write_run
from memgauge.importers.table import import_table

__all__ = ["import_table", "write_run"]
