"""Types that are declared for columns of CSV, which holds text: what an entry must look like, and what it is then.

They are public, and every entry is looked at before anything is paid: a table with one that does not have the type of
its column is refused, as one with a malformed line is, whoever's row it is. With a type that ends in ``_or_null`` such
an entry is null instead, whoever's row it is, and no other row changes. Blanks around an entry are removed, and an
empty entry is null.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import ParameterError, ParameterTypeError, TableError
from ..errors.ordinary import quoted
from .guard import guarded

if TYPE_CHECKING:
    import polars as pl

OR_NULL = "_or_null"
TYPES = ("text", *(f"{one}{end}" for end in ("", OR_NULL) for one in ("integer", "decimal", "date")))
POINT, ISO = ".", "yyyy-mm-dd"
_DATES = re.compile(r"(yyyy|mm|dd)([^\w\s]?)(?!\1)(yyyy|mm|dd)([^\w\s]?)(?!\1|\3)(yyyy|mm|dd)")


@dataclass(frozen=True)
class ColumnTypes:
    """The declared types by column, and how decimals and dates are written; other columns are text.

    Args:
        types: "text", "integer" (of 64 bits), "decimal" (a float64) or "date" for each declared column; all but "text"
            may have "_or_null" behind them.
        decimal: "." or ",", which stands before the fraction of a decimal. Thousands are not separated.
        date_format: The order of yyyy, mm and dd, and what is between them, such as dd.mm.yyyy; a month and a day may
            have one digit if something is.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    decimal: str = POINT
    date_format: str = ISO

    def __post_init__(self) -> None:
        if not isinstance(self.types, Mapping):
            raise ParameterTypeError(f"types must map columns to types, not be {type(self.types).__name__}")
        object.__setattr__(self, "types", dict(self.types))
        if not all(isinstance(name, str) and isinstance(one, str) and one in TYPES for name, one in self.types.items()):
            raise ParameterError(f"types must map the names of columns to types, which are {', '.join(TYPES)}")
        if not isinstance(self.decimal, str) or self.decimal not in (POINT, ","):
            raise ParameterError("decimal must be . or ,: what stands before the fraction of a decimal")
        if not isinstance(self.date_format, str) or not _DATES.fullmatch(self.date_format):
            raise ParameterError("date_format must have yyyy, mm and dd, each once, such as dd.mm.yyyy")
        used = {kind.removesuffix(OR_NULL) for kind in self.types.values()}
        for name, usual, kind in (("decimal", POINT, "decimal"), ("date_format", ISO, "date")):
            if getattr(self, name) != usual and kind not in used:
                raise ParameterError(f"{name} goes with a column of the type {kind}: declare one, such as x={kind}")

    def read(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame of strings with the declared columns, which it has, in their types, after a look at their entries.

        Raises:
            TableError: An entry does not have the type of its column, or the file cannot be read.
        """
        import polars as pl

        read = {
            name: self._read(pl.col(name).str.strip_chars(), kind.removesuffix(OR_NULL))
            for name, kind in self.types.items()
            if kind != "text"
        }
        wrong = [
            (pl.col(name).str.contains(r"\S") & typed.is_null()).any().alias(name)
            for name, typed in read.items()
            if not self.types[name].endswith(OR_NULL)
        ]
        if wrong:
            found = guarded(lambda: frame.select(wrong).collect(engine="streaming").row(0, named=True))
            for name, one in found.items():
                if one:
                    raise TableError(self._refusal(name))
        return frame.with_columns(typed.alias(name) for name, typed in read.items())

    def _read(self, entry: pl.Expr, kind: str) -> pl.Expr:
        """An entry without outer blanks in this type; null if it does not have it."""
        import polars as pl

        if kind == "date":
            first, one, second, two, third = _parts(self.date_format)
            digits = "{1,2}" if one and two else "{2}"
            part = {"yyyy": "(?P<yyyy>[0-9]{4})", "mm": f"(?P<mm>[0-9]{digits})", "dd": f"(?P<dd>[0-9]{digits})"}
            pattern = f"^{part[first]}{re.escape(one)}{part[second]}{re.escape(two)}{part[third]}$"
            plain = entry.str.replace(pattern, "${yyyy}-${mm}-${dd}").str.to_date("%Y-%m-%d", strict=False)
        elif kind == "decimal":
            mark = re.escape(self.decimal)
            pattern = f"^[+-]?(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?$"
            plain = entry.str.replace(self.decimal, POINT, literal=True).cast(pl.Float64, strict=False)
        else:
            pattern, plain = "^[+-]?[0-9]+$", entry.cast(pl.Int64, strict=False)
        return pl.when(entry.str.contains(pattern)).then(plain)

    def _refusal(self, name: str) -> str:
        kind = self.types[name]
        wanted, option = {
            "integer": ("integers of 64 bits", ""),
            "decimal": (
                f"decimals with {self.decimal!r} before the fraction, thousands together",
                ", --decimal",
            ),
            "date": (f"dates written {self.date_format}", ", --date-format"),
        }[kind]
        return (
            f"column {quoted(name)} must hold {wanted}, as it is declared, and some entry is none. If the file has "
            f"others, say so (--types{option}), or declare {kind}{OR_NULL} and such an entry is null; if not, mend it"
        )


def _parts(date_format: str) -> tuple[str, ...]:
    found = _DATES.fullmatch(date_format)
    assert found is not None
    return found.groups()


def declared(text: str | None) -> dict[str, str]:
    """The types that ``--types`` declares, such as ``fee=decimal,day=date``.

    Raises:
        ParameterError: It is not of this form, or a column has two types.
    """
    pairs = [] if text is None else [one.rpartition("=") for one in next(csv.reader([text]), None) or [""]]
    types = {name.strip(): kind.strip() for name, _, kind in pairs}
    if len(types) < len(pairs) or not all(types) or not all(kind in TYPES for kind in types.values()):
        raise ParameterError(
            "--types must be columns with their types, such as fee=decimal,day=date, each column once; a type is "
            f"one of {', '.join(TYPES)}"
        )
    return types
