"""From pydantic's errors to sentences: key path, nearest valid key, what is allowed, what was found."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from .errors import ConfigError

Schema = dict[str, Any]


class ConfigProblems(ConfigError):
    """All that is wrong with a configuration and the workload files it names, in one error."""

    def __init__(
        self, problems: Sequence[str], *, where: str = "configuration (config.yaml and --config)"
    ) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(
            "".join([f"{count}; nothing was run", *(f"\n  - {problem}" for problem in self.problems)]),
            where=where,
            next_step="correct it in config.yaml, where each key is explained, or after --config",
        )


def sentences(error: ValidationError, schema: Schema) -> list[str]:
    """One sentence for each problem, in the order of the keys."""
    told = []
    for detail in error.errors(include_url=False):
        told.append(sentence(detail, schema))
    return list(dict.fromkeys(told))


def sentence(detail: Any, schema: Schema) -> str:
    """One problem: where, what is allowed, what was found."""
    location, kind = detail["loc"], detail["type"]
    path = dotted(location)
    if kind == "extra_forbidden":
        return f"{path}: unknown key{nearest_key(location, schema)}"
    if kind == "missing":
        return f"{path}: this key is required"
    expected = allowed(at(location, schema))
    told = f"{detail['ctx']['error']}; " if kind == "value_error" else ""
    return f"{path}: {told}expected {expected}; found {shown(detail['input'])}"


def dotted(location: Sequence[str | int]) -> str:
    """("workloads", 0, "file") as a user writes it: workloads[0].file."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "configuration"


def shown(value: Any) -> str:
    """A value on one line, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def nearest_key(location: Sequence[str | int], schema: Schema) -> str:
    """The likeliest meaning of an unknown key: a sibling spelt alike, else one of another section."""
    *parent, key = location
    siblings = list(at(parent, schema).get("properties", {}))
    if near := difflib.get_close_matches(str(key), siblings, n=1):
        return f"; did you mean {dotted([*parent, near[0]])}?"
    every = {path.rsplit(".", 1)[-1]: path for path in key_paths(schema, schema)}
    if near := difflib.get_close_matches(str(key).rsplit(".", 1)[-1], list(every), n=1):
        return f"; did you mean {every[near[0]]}?"
    return f"; {dotted(parent) + ' has' if parent else 'there are'} {', '.join(siblings)}"


def key_paths(part: Schema, schema: Schema, prefix: str = "") -> Iterator[str]:
    """All dotted keys of a schema, lists left out."""
    for name, inner in part.get("properties", {}).items():
        yield f"{prefix}{name}"
        yield from key_paths(resolve(inner, schema), schema, f"{prefix}{name}.")


def resolve(part: Schema, schema: Schema) -> Schema:
    """A part of the schema with its reference followed and its "or null" removed; its own words win."""
    if "anyOf" in part:
        choices = [choice for choice in part["anyOf"] if choice.get("type") != "null"]
        if len(choices) == 1:
            part = {**choices[0], **{k: v for k, v in part.items() if k != "anyOf"}, "nullable": True}
    if "$ref" in part:
        part = {**schema["$defs"][part["$ref"].rsplit("/", 1)[-1]], **part}
        part = {k: v for k, v in part.items() if k != "$ref"}
    return part


def at(location: Sequence[str | int], schema: Schema) -> Schema:
    """The part of the schema that a location of pydantic's names (an unknown part ends the walk)."""
    part = schema
    for step in location:
        if isinstance(step, int):
            inner = part.get("items")
        else:
            inner = part.get("properties", {}).get(step) or part.get("additionalProperties") or None
        if inner is None:
            break
        part = resolve(inner, schema)
    return part


def allowed(part: Schema) -> str:
    """What a value may be, in words, from its JSON schema."""
    kind = part.get("type")
    if "enum" in part:
        text = "one of " + ", ".join(map(str, part["enum"]))
    elif kind in ("integer", "number"):
        text = ("a whole number" if kind == "integer" else "a number") + limits(part)
    elif kind == "boolean":
        text = "true or false"
    elif kind == "string" and "pattern" in part:
        text = f"text that matches {part['pattern'].strip('^$')}"
    elif isinstance(kind, list):
        text = "a number, text or a truth value"
    else:
        text = {"string": "text", "array": "a list", "object": "a section with keys"}.get(
            kind, "another value"
        )
        text += ", not empty" if part.get("minItems") or part.get("minLength") else ""
    return f"{text} or null" if part.get("nullable") else text


def limits(part: Schema) -> str:
    """The range of a number, such as " from 1 to 10000 s"."""
    unit = f" {part['unit']}" if "unit" in part else ""
    low = f" above {part['exclusiveMinimum']:g}" if "exclusiveMinimum" in part else ""
    low = low or (f" from {part['minimum']:g}" if "minimum" in part else "")
    high = f" below {part['exclusiveMaximum']:.12g}" if "exclusiveMaximum" in part else ""
    high = high or (f" to {part['maximum']:.12g}" if "maximum" in part else "")
    return f"{low}{high}{unit}"
