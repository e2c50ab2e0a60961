"""Claims of a configuration, checked while planning and entered into the plan's cases."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..workload import load
from .declared import Claim
from .functions import SIGNATURES
from .language import BadExpression, arguments, calls, flat, parse

if TYPE_CHECKING:
    from ..config import Config


def syntax_problems(config: Config) -> list[str]:
    """What is wrong with the claims of a configuration, as far as it can be told without a workload."""
    lists = [("claims", config.claims)]
    lists += [(f"workloads[{n}].claims", choice.claims) for n, choice in enumerate(config.workloads)]
    found = []
    for path, claims in lists:
        known = [claim.id for claim in (config.claims if path != "claims" else [])]
        for number, claim in enumerate(claims):
            if claim.id in known:
                found.append(f"{path}[{number}].id: {claim.id!r} is there already")
            known.append(claim.id)
            found += [f"{path}[{number}].{problem}" for problem in expression_problems(claim)]
    return found


def expression_problems(claim: Claim) -> list[str]:
    found = []
    for key in ("expression", "requires"):
        text = getattr(claim, key)
        if text is None:
            continue
        try:
            parse(text, SIGNATURES)
        except BadExpression as error:
            found += [f"{key}: {problem}" for problem in error.problems]
    return found


def enter_claims(cases: Iterable[dict[str, Any]], config: Config) -> list[str]:
    """Give each case of a plan its claims; returns problems: variants that no workload has."""
    problems: list[str] = []
    for case in cases:
        own = claims_for(config, case["file"])
        case["claims"] = [claim.model_dump() for claim in [*config.claims, *own]]
        known = [*case["variants"], *case.get("left_out", {})]
        for claim in own:
            problems += unknown_variants(claim, case["file"], known)
    return list(dict.fromkeys(problems))


def claims_for(config: Config, file: str) -> list[Claim]:
    """The claims that stand beside a workload file (a module's configuration has its whole path)."""
    own = [choice for choice in config.workloads if f"/{choice.file}".endswith(f"/{file}")]
    return [claim for choice in own for claim in choice.claims]


def unknown_variants(claim: Claim, file: str, known: Sequence[str]) -> list[str]:
    """Variants in a claim that its workload does not have at all (one that is not chosen is not tested)."""
    found = []
    for key in ("expression", "requires"):
        line = flat(getattr(claim, key) or "")
        for name in named_variants(line) if line else ():
            if name in known:
                continue
            every = [variant.name for variant in load(Path(file)).variants]
            if name not in every:
                near = difflib.get_close_matches(name, every, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(every)}"
                column = line.index(repr(name)) + 1 if repr(name) in line else 1
                found.append(f"{file}: claim {claim.id}: {key}: column {column}: no variant {name!r}; {hint}")
    return found


def named_variants(line: str) -> list[str]:
    """The variants that an expression names, each once."""
    tree = parse(line, SIGNATURES)
    names: list[str] = []
    for call in calls(tree):
        signature = SIGNATURES[ast.unparse(call.func)]
        given = arguments(call, signature)
        names += [
            given[p.name] for p in signature.parameters if p.kind == "variant" and given[p.name] is not None
        ]
    return list(dict.fromkeys(names))
