"""The table in which a PostgreSQL server keeps ledgers: how it is made, and what it and the server must be like.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .failures import failure

if TYPE_CHECKING:
    import psycopg

Rows = list[tuple[Any, ...]]
TABLE = "opendp_topk_ledger"
_COLUMNS = "ledger text t f t C, number bigint t f t -, record text t f t C"
_PATIENT, _ABANDONED = "120s", "60s"  # for a lock; and for a client that has begun a transaction and says nothing


# proof-region: table
def named(schema: str) -> str:
    """The table of ``schema``, as every statement names it."""
    return f'"{schema}"."{TABLE}"'  # [schema]


def made(schema: str) -> str:
    """The statement that makes the table."""
    return (
        f'CREATE TABLE {named(schema)} (ledger text COLLATE "C" NOT NULL, number bigint NOT NULL,'
        ' record text COLLATE "C" NOT NULL, PRIMARY KEY (ledger, number)) USING heap'
    )


def begun(mode: str) -> str:
    """The statements that begin a transaction, in which no setting of the role or the session counts."""
    return (
        f"BEGIN {mode};"
        " SET LOCAL search_path = pg_catalog, pg_temp;"  # [search-path]
        " SET LOCAL synchronous_commit = on;"  # [synchronous]
        " SET LOCAL client_min_messages = warning;"  # [warnings]
        " SET LOCAL quote_all_identifiers = off;"  # which would change the names of types
        " SET LOCAL row_security = off;"  # an error in place of rows that are hidden
        " SET LOCAL statement_timeout = 0;"  # which would end a commit's wait for a replica, and count as success
        f" SET LOCAL lock_timeout = '{_PATIENT}';"
        f" SET LOCAL idle_in_transaction_session_timeout = '{_ABANDONED}'"
    )


_HAS = "EXISTS (SELECT FROM pg_catalog."
_HIDING = "data_sync_retry", "zero_damaged_pages", "ignore_checksum_failure", "ignore_invalid_pages"
FLAWS = {
    "the table is no ordinary one, but a view, partitioned, a partition, or elsewhere": (
        "c.relkind <> 'r' OR c.relispartition"  # [ordinary]
    ),
    "the table is UNLOGGED or temporary: a crash would empty it": "c.relpersistence <> 'p'",  # [permanent]
    "the table inherits from another one, or another one from it": (
        f"{_HAS}pg_inherits WHERE c.oid IN (inhrelid, inhparent))"
    ),
    "the table is not kept by PostgreSQL's own heap": (
        "c.relkind = 'r' AND c.relam <> (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'heap')"
    ),
    "the table has other columns than a ledger's": (
        "(SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attname, pg_catalog.format_type(a.atttypid,"
        " a.atttypmod), a.attnotnull, a.atthasdef, a.attidentity = '' AND a.attgenerated = '',"
        " CASE a.attcollation WHEN 0 THEN '-' WHEN 'pg_catalog.\"C\"'::pg_catalog.regcollation THEN 'C' ELSE '?' END),"
        " ', ' ORDER BY a.attnum) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0"
        f" AND NOT a.attisdropped) IS DISTINCT FROM '{_COLUMNS}'"
    ),
    "the table has no primary key of a ledger's": (
        f"NOT {_HAS}pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisunique AND i.indisvalid"
        " AND i.indisready AND i.indislive AND i.indimmediate AND i.indkey::text = '1 2')"  # [key]
    ),
    "the table has other constraints or indexes than its primary key": (
        "(SELECT pg_catalog.count(*) FROM pg_catalog.pg_index WHERE indrelid = c.oid) > 1"
        f" OR {_HAS}pg_constraint WHERE conrelid = c.oid AND contype NOT IN ('p', 'n'))"
    ),
    "the table has triggers": f"{_HAS}pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal)",  # [no-triggers]
    "the table has rules": f"{_HAS}pg_rewrite WHERE ev_class = c.oid)",  # [no-rules]
    "the table has row security": (
        f"c.relrowsecurity OR c.relforcerowsecurity OR {_HAS}pg_policy WHERE polrelid = c.oid)"
    ),
    "the table is the target of a subscription, which writes to it what was paid elsewhere": (
        f"{_HAS}pg_subscription_rel WHERE srrelid = c.oid)"  # [no-subscription]
    ),
    "the server does not wait for its disk (fsync is off)": "pg_catalog.current_setting('fsync') <> 'on'",  # [fsync]
    "the server may tear pages (full_page_writes is off)": "pg_catalog.current_setting('full_page_writes') <> 'on'",
    f"the server hides lost writes ({', '.join(_HIDING[:-1])} or {_HIDING[-1]} is on)": " OR ".join(
        f"pg_catalog.current_setting('{one}') <> 'off'"
        for one in _HIDING  # [hides-nothing]
    ),
    "the server does not wait for commits": "pg_catalog.current_setting('synchronous_commit') <> 'on'",
    "the server is a standby, which may lag behind": "pg_catalog.pg_is_in_recovery()",  # [primary]
}


LASTING = """AND pg_catalog.strpos(record, '"kind":"state"') = 0"""  # what was waited for; a text has \\" for "
_OWN = (  # of a copy, a restored dump, another server or one that was promoted, some of it differs
    "pg_catalog.concat_ws('/',"
    " 'server ' || (SELECT system_identifier FROM pg_catalog.pg_control_system()), d.oid, c.oid,"
    " CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN"
    " pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) END)"  # [own-server]
)
_SERVER = re.compile(r"server [0-9]+/[0-9]+/[0-9]+(/[0-9A-F]{8})?", re.ASCII)


def is_server(kind: str) -> bool:
    """Whether what a ledger accepts is a server with its table, at one of its timelines or at all of them."""
    return _SERVER.fullmatch(kind) is not None


def accepts_server(accepted: Iterable[str], own: str) -> bool:
    """Whether a server is among those that are accepted, by its timeline or without one."""
    return not {own, own.rpartition("/")[0]}.isdisjoint(accepted)


def look(schema: str) -> str:
    """The query by which the table and the server are looked at."""
    return (
        f"SELECT {', '.join(FLAWS.values())}, {_OWN}"
        " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()"
        f" WHERE n.nspname = '{schema}' AND c.relname = '{TABLE}'"
    )


def flaws(found: Rows) -> list[str]:
    """What of the table and the server is not as the proof assumes; the table is locked and cannot change meanwhile."""
    if not found:
        return ["its table is not to be found"]
    return [text for text, flawed in zip(FLAWS, found[0][:-1], strict=True) if flawed is not False]


def require_sound(place: str, deed: str, found: Rows) -> str:
    """What a ledger in this table is bound to; raise where there is a flaw."""
    if wrong := flaws(found):
        raise failure(place, deed, "; ".join(wrong))
    return str(found[0][-1])


def said(connection: psycopg.Connection[Any], *statements: str) -> tuple[list[Rows], str | None]:
    """The rows of each statement that returns any, and the status of the last statement.

    All are sent in one message; none is run after one that fails.
    """
    cursor = connection.execute("; ".join(statements))
    found: list[Rows] = []
    while True:
        found += [cursor.fetchall()] if cursor.description else []
        status = cursor.statusmessage
        if not cursor.nextset():
            return found, status


# end-proof-region: table
