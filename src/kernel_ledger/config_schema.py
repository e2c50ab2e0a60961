"""Generates config.yaml and workflow/schemas/config.schema.json from the configuration's model.

``python -m kernel_ledger.config_schema`` writes both, in the repository that this package stands in;
``--check`` only says which differ, with exit status 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .config import Config, load_config
from .config_problems import allowed, resolve
from .files import write_text

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = "python -m kernel_ledger.config_schema"
WIDTH = 110
UNSAFE = re.compile(r"^[^\w.-]|: | #|[:\n]$|^$")  # text that YAML would not read as itself
VALUE_COLUMN = 32
HEADER = """\
# What `snakemake --cores 1` measures, and what counts as equal: the one file to edit.
# For one run only:  snakemake --cores 1 --config run=small measure='{iterations: 3}'
# A key that is left out has the value shown here; a key that does not exist is refused.
"""


def schema_text() -> str:
    """workflow/schemas/config.schema.json, for editors and other tools."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def config_text() -> str:
    """config.yaml with all defaults, each key explained in place."""
    schema = Config.model_json_schema()
    lines = section(schema, load_config({}).model_dump(), schema, "")
    return HEADER + "\n".join(lines) + "\n"


def section(
    part: dict[str, Any], values: dict[str, Any], schema: dict[str, Any], indent: str, *, again: bool = False
) -> Iterator[str]:
    """The lines of one section: plain keys beside their explanation, inner sections below.

    ``again``: an item of a list that is not its first; its keys are explained already.
    """
    nested = False
    for name, raw in part["properties"].items():
        inner, value, before = resolve(raw, schema), values[name], nested
        nested = "properties" in inner or "$ref" in inner.get("items", {})
        if not indent and (nested or before):
            yield ""
        if "properties" in inner:
            yield beside(f"{indent}{name}:", inner["description"])
            yield from section(inner, value, schema, indent + "  ")
        elif "$ref" in inner.get("items", {}):
            yield beside(f"{indent}{name}:", inner["description"])
            described = resolve(inner["items"], schema)
            for number, item in enumerate(value):
                yield from dashed(section(described, item, schema, indent + "    ", again=number > 0), indent)
        else:
            yield from entry(indent, name, inner, value, again=again)


def entry(indent: str, name: str, part: dict[str, Any], value: Any, *, again: bool = False) -> Iterator[str]:
    """One key; where it is absent by default and has an example, the example, commented out."""
    text = explained(part)
    if again and value is None and "examples" in part:
        return
    if isinstance(value, str) and len(f"{indent}{name}: {value}") > WIDTH:
        yield f"{indent}{name}: >-" + ("" if again else f"  # {text}")
        yield from textwrap.wrap(
            value, WIDTH, initial_indent=indent + "  ", subsequent_indent=indent + "  ", break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip
    elif again:
        yield f"{indent}{name}: {flow(value)}"
    elif value is None and "examples" in part:
        yield beside(f"{indent}# {name}: {flow(part['examples'][0])}", text)
    else:
        yield beside(f"{indent}{name}: {flow(value)}", text)


def explained(part: dict[str, Any]) -> str:
    """A key's description, with its range or choices where it has any."""
    kind = allowed(part).removesuffix(" or null")
    told = kind.removeprefix("a whole number ").removeprefix("a number ").removeprefix("one of ")
    return f"{part['description']} ({told})" if told != kind else part["description"]


def beside(code: str, comment: str) -> str:
    """Code with its comment to the right, or above it where the line would be too long."""
    line = f"{code:<{VALUE_COLUMN}}  # {comment}"
    if len(line) <= WIDTH:
        return line
    indent = code[: len(code) - len(code.lstrip())]
    return f"{indent}# {comment}\n{code}"


def dashed(lines: Iterator[str], indent: str) -> Iterator[str]:
    """The lines of a list's item: the first key carries the dash."""
    for number, line in enumerate(lines):
        yield line if number else f"{indent}  - {line[len(indent) + 4 :]}"


def flow(value: Any) -> str:
    """A value as YAML on one line, in the spelling that people use."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, float) and value < 1e-3:
        return f"{value:.1e}"  # YAML 1.1 reads 1e-05, without a point, as text
    return (
        value
        if isinstance(value, str) and not UNSAFE.search(value)
        else json.dumps(value, ensure_ascii=False)
    )


def targets(repository: Path) -> dict[Path, str]:
    """Generated file -> what it must contain."""
    return {
        repository / "config.yaml": config_text(),
        repository / "workflow/schemas/config.schema.json": schema_text(),
    }


def stale(repository: Path) -> list[Path]:
    """Generated files that are missing or differ."""
    return [p for p, text in targets(repository).items() if not p.is_file() or p.read_text() != text]


def main() -> int:
    """Write both files, or with --check name those that differ."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    parser.add_argument("--repository", type=Path, default=REPOSITORY)
    arguments = parser.parse_args()
    different = stale(arguments.repository)
    for path in different:
        if not arguments.check:
            write_text(path, targets(arguments.repository)[path])
        print(f"{path}: {'differs from the model; run ' + COMMAND if arguments.check else 'written'}")
    return int(bool(different) and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
