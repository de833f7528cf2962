"""docs/release.schema.json, from the declaration of records: their fields, rules and docstrings."""

import inspect
import json
import re
from typing import Any

from opendp_topk.apps.planning import record_fields
from opendp_topk.apps.planning.plan import AccuracyGuarantee
from opendp_topk.apps.planning.release_record import FORMAT, ReleaseRecord, record_reader

_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def text() -> str:
    """The JSON Schema of records."""
    schema = record_reader()[0].json_schema()
    schema["properties"] = {"format": {"const": FORMAT}, **schema["properties"]}
    schema["required"] = ["format", *schema["required"]]
    kinds = [ReleaseRecord, AccuracyGuarantee, *vars(record_fields).values()]
    classes = {one.__name__: one for one in kinds if isinstance(one, type)}
    for name, one in {"ReleaseRecord": schema, **schema["$defs"]}.items():
        _describe(one, classes[name])
    first = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Record of a release"}
    return json.dumps({**first, **_plain(schema)}, indent=2, ensure_ascii=False) + "\n"


def _describe(schema: dict[str, Any], kind: type) -> None:
    """Describe a mapping and its fields by the docstring of its class."""
    texts = [inspect.cleandoc(one.__doc__ or "").partition("\nArgs:\n") for one in reversed(kind.__mro__)]
    schema["description"] = " ".join(texts[-1][0].split()).replace("``", "`")
    for name, words in (entry for _, _, entries in texts for entry in _ENTRY.findall(entries)):
        if name in schema["properties"]:
            schema["properties"][name]["description"] = " ".join(words.split())
    assert all("description" in one or "const" in one for one in schema["properties"].values()), kind


def _plain(schema: Any) -> Any:
    """The schema without titles and defaults; an optional field is missing instead of null."""
    if isinstance(schema, list):
        return list(map(_plain, schema))
    if not isinstance(schema, dict):
        return schema
    made = {name: _plain(one) for name, one in schema.items() if name not in ("title", "default")}
    if "default" in schema and "anyOf" in made:
        own = [one for one in made.pop("anyOf") if one != {"type": "null"}]
        made |= own[0] if len(own) == 1 else {"anyOf": own}
    return made
