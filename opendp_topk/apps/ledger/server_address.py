"""The address of a ledger on a PostgreSQL server: which server, database, schema and name, and how it is shown.

What an address leaves open, libpq takes from the environment; it is looked up once, and shown. No part in which a
password may stand is ever shown. To other machines connections are encrypted, unless ``sslmode`` says otherwise, in the
address, the environment or a service.
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from ...errors import LedgerError
from .units import name_of

_LONGEST = 2000  # characters of an address
_FORM = "postgresql://user@host:port/database#schema/name, with special characters as %XX"
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}", re.ASCII)  # longer names are cut by the server
_DEFAULT = "public", "budget"
ITSELF = "local" + "host"  # the name that every machine has for itself
_FIXED = ("host", "hostaddr", "port", "dbname", "user")
_KEEPALIVES = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
_WATCHED = {"connect_timeout": "60", **_KEEPALIVES, "tcp_user_timeout": "60000"}  # this one in milliseconds


@dataclass(frozen=True)
class Address:
    """Where a ledger is: what libpq connects to, the schema of its table, its name there, and what people are shown."""

    options: dict[str, Any] = field(repr=False)
    schema: str
    name: str
    place: str


def read(address: str) -> Address:
    """What ``address`` says.

    Raises:
        LedgerError: It is no address of PostgreSQL, is too long, or has an option that libpq does not know.
        ParameterError: The name of the ledger is no name.
    """
    text = str.__str__(address)
    head, _, fragment = text.partition("#")
    rest = head.partition("//")[2]
    if len(text) > _LONGEST or not text.isprintable():
        raise _refused(f"it must be printable and at most {_LONGEST} characters")
    if rest.count("@") > rest[: re.search(r"[/?]|$", rest).start()].count("@") or rest.count("@") > 1:  # type: ignore[union-attr]
        raise _refused("`@` may stand only between account and host")
    if "@" in fragment or "#" in fragment:
        raise _refused("neither `@` nor `#` may stand in the schema and the name")
    schema, name = _named(fragment)
    given = _parsed(head)
    found = {**({} if "service" in given else _environment()), **given}
    where = [str(found.get(part) or "") for part in ("host", "port", "dbname")]
    if not re.fullmatch(r"[0-9,]*", where[1]) or not "".join(where).isprintable():
        raise _refused("the port must be a number")
    host, port, database = where[0] or str(found.get("hostaddr") or ""), where[1], where[2] or found.get("user", "")
    place = f"postgresql://{host}{port and f':{port}'}/{database}#{schema}/{name}"
    stated = "service" in given or os.environ.get("PGSERVICE") or os.environ.get("PGSSLMODE") or _is_here(found)
    sealed = {} if stated else {"sslmode": "require"}
    return Address({**_WATCHED, **sealed, **found, "client_encoding": "UTF8"}, schema, name, place)


def _is_here(found: dict[str, Any]) -> bool:
    """Whether all hosts are this machine, to which nobody listens on the way."""
    hosts = str(found.get("hostaddr") or found.get("host") or "").split(",")
    return all(not one or one[0] in "/@" or one == ITSELF or _is_loopback(one) for one in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _named(fragment: str) -> tuple[str, str]:
    """Schema and name; each of them may be left out."""
    try:
        parts = [unquote(part, errors="strict") for part in fragment.split("/")]
    except UnicodeDecodeError:
        parts = []
    if len(parts) not in (1, 2):
        raise _refused("behind # stand a schema and a name")
    schema, name = ("", *parts)[-2:]
    schema = schema or _DEFAULT[0]
    if not _SCHEMA.fullmatch(schema):
        raise _refused("the schema must be letters, digits and `_`, at most 63")
    return schema, name_of("the ledger's name behind #", name or _DEFAULT[1])


def _parsed(head: str) -> dict[str, Any]:
    from psycopg import Error, conninfo

    try:
        return dict(conninfo.conninfo_to_dict(head))
    except (Error, UnicodeError):  # whose words may hold a password
        pass
    known = {option.keyword.decode() for option in _options()} | {"ssl"}
    asked = [part.partition("=")[0] for part in head.partition("?")[2].split("&")]
    unknown = [name for name in asked if name and name not in known and name.isidentifier()]
    raise _refused(f"libpq knows no option {unknown[0]!r}" if unknown else "libpq cannot read it")


def _environment() -> dict[str, str]:
    """What libpq takes from the environment where an address says nothing."""
    values = {option.keyword.decode(): option.val for option in _options()}
    return {name: value.decode() for name in _FIXED if (value := values.get(name))}


def _options() -> list[Any]:
    from psycopg import pq

    return list(pq.Conninfo.get_defaults())


def _refused(reason: str) -> LedgerError:
    return LedgerError(f"the address of the ledger's server is refused: {reason}. It has the form {_FORM}")
