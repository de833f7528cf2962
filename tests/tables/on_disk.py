"""A plugin of pytest with which all rows that are kept go to files, and are counted in parts of a few.

``python -m pytest -p tests.tables.on_disk -m "not slow" tests/tables tests/transformations tests/combinators``
"""

from opendp_topk.tables import frames as parts
from opendp_topk.tables import rows

rows._MEMORY = rows._PIECE = 8  # bytes
parts._ROWS = 3
parts._BYTES = 16
