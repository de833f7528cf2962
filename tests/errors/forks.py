"""Forks at bad moments: while another thread loads a module, and after polars has started its threads."""

import json

from tests.concepts.processes import printed

_SLOWLY = """
import importlib.abc, os, signal, sys, threading, time
import opendp_topk as tk

class Slowly(importlib.abc.MetaPathFinder):
    waited_for, began = "", threading.Event()

    def find_spec(self, name, path=None, target=None):
        if name == self.waited_for:
            self.began.set()
            time.sleep(0.03)
        return None

slowly = Slowly()
sys.meta_path.insert(0, slowly)

def ended(child):
    for _ in range(1000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "loaded" if status == 0 else f"failed with {status}"
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "waited for ever"

def try_out(module, load):
    slowly.waited_for, slowly.began = module, threading.Event()
    other = threading.Thread(target=load)
    other.start()
    assert slowly.began.wait(60)
    child = os.fork()
    if child == 0:
        load()
        os._exit(0)
    found = ended(child)
    other.join()
    return found
"""
_NAMES = """
from opendp_topk.core.public_names import HOMES
homes = {f"opendp_topk{home}": name for name, home in HOMES.items()}
found = []
for module in sorted(homes):
    if len(found) < int(sys.argv[1]) and module not in sys.modules:
        found.append(try_out(module, lambda: getattr(tk, homes[module])))
"""
_FUNCTIONS = """
import importlib
import tempfile

def late(module):
    return lambda: importlib.import_module(f"opendp_topk.{module}")

found = []
folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
for number in range(int(sys.argv[1])):
    with open(os.path.join(folder, f"late{number}.py"), "w") as file:
        file.write(f"import late_part{number}")
    with open(os.path.join(folder, f"late_part{number}.py"), "w") as file:
        file.write("made = 1")
    tk.__path__.append(folder)
    found.append(try_out(f"late_part{number}", late(f"late{number}")))
"""
_EXTRAS = """
import tempfile
from opendp_topk.errors.extras import import_extra

found = []
folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
for number in range(int(sys.argv[1])):
    with open(os.path.join(folder, f"extra{number}.py"), "w") as file:
        file.write("made = 1")
    found.append(try_out(f"extra{number}", lambda: import_extra(f"extra{number}", "it is needed", "some")))
"""
_TABLES = """
import json, os, signal, sys, tempfile, time, warnings
import opendp_topk as tk
import polars as pl
warnings.simplefilter("ignore")
library, many = sys.argv[1], int(sys.argv[2])
space = tk.FrameDomain("u", "i"), tk.UserDistance()
top = space >> tk.then_count_by_item(candidates=["a", "b"]) >> tk.then_report_noisy_top_k(
    tk.MaxDivergence(), k=1, scale=2.0
)

def table():
    columns = {"u": [1, 2, 3], "i": ["a", "b", "a"]}
    if library == "polars":
        return pl.DataFrame(columns)
    if library == "pandas":
        import pandas
        return pandas.DataFrame(columns)
    import pyarrow
    if library == "pyarrow":
        return pyarrow.table(columns)
    import duckdb
    return duckdb.connect().from_arrow(pyarrow.table(columns))

with tempfile.TemporaryDirectory() as folder:
    place = os.path.join(folder, "budget.ledger")
    ledger = tk.ledger.Ledger.create(place, budget=100, measure=tk.MaxDivergence(), dataset="d", metric=space[1])
    ledger.release(top, table())
    found = []
    for _ in range(many):
        before, child = ledger.count(), os.fork()
        if child == 0:
            try:
                ledger.release(top, table())
            except tk.errors.TableError as error:
                os._exit(3 if "spawn" in str(error) else 4)
            os._exit(5)
        for _ in range(1000):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.01)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            status = "waited for ever"
        paid = ledger.count() - before
        refused = status == 3 << 8 and paid == 0
        found.append("refused before the debit" if refused else f"{status}, {paid} paid")
"""
_TOLD = "\nprint(json.dumps(found))"


def _told(script: str, *arguments: object) -> list[str]:
    found: list[str] = json.loads(printed("-c", "import json\n" + script + _TOLD, *arguments))
    return found


def load_names(many: int) -> list[str]:
    """What became of children that were forked while another thread loaded the name that they ask for."""
    return _told(_SLOWLY + _NAMES, many)


def load_by_functions(many: int) -> list[str]:
    """The same for modules of the package that are imported by functions and not under a public name."""
    return _told(_SLOWLY + _FUNCTIONS, many)


def load_extras(many: int) -> list[str]:
    """The same for modules of other libraries."""
    return _told(_SLOWLY + _EXTRAS, many)


def count_tables(library: str, many: int) -> list[str]:
    """What became of children that release from a table after their parent did so, and whether that was paid."""
    return _told(_TABLES, library, many)
