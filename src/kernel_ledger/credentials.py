"""Which names look like credentials, and which values are worth searching for in what a run leaves behind.

A value that stands in every report anyway (a number, a path, a word, the host's name) would turn each
healthy run into an alarm, so it is only looked for, if at all, together with its name: ``NAME=value``, as
nsys stores the environment of a process.
"""

from __future__ import annotations

import getpass
import json
import math
import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

WORDS = (
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_?KEY",
    "ACCESS_?KEY",
    "CREDENTIAL",
    "PRIVATE_?KEY",
)
NAME = re.compile(rf"(?:{'|'.join(WORDS)})S?(?=_|\d|$)|(?:^|_)AUTH(?=_|$)", re.IGNORECASE)
LEAST_CHARACTERS = 8
LEAST_OF_A_CREDENTIAL = 6
TOKEN_CHARACTERS, TOKEN_BITS = 16, 3.5

NUMBER = re.compile(r"[\d\s.,:;/x+-]*")
PLAIN = re.compile(r"[^\W\d_]+(?:[ ._/:=-]+[^\W\d_]+)*", re.ASCII)
LOCALE = re.compile(r"(?:C|POSIX|[a-z]{2,3}(?:_[A-Z]{2})?)(?:\.[\w-]+)?(?:@\w+)?(?::.*)?", re.ASCII)
PLATFORM = re.compile(r"(?:x86_64|aarch64|amd64|arm64|ppc64le)[-\w]*|xterm[-\w]*|screen[-\w.]*", re.ASCII)
GPU = re.compile(r"(?:GPU|MIG)-[0-9a-f-]{36}(?:,(?:GPU|MIG)-[0-9a-f-]{36})*", re.IGNORECASE)
ROOTS = re.compile(r"~?/(?:home|root|Users|tmp|run|var|etc|usr|opt|mnt|srv|dev|proc|data|scratch|workspace)/")
LOGIN_URL = re.compile(r"\w+://[^/\s:@]*:[^/\s@]+@")


def looks_like_credential(name: str) -> bool:
    """Whether a variable's name says that its value is a secret (HF_TOKEN, PGPASSWORD, AWS_SECRET_ACCESS_KEY)."""
    return NAME.search(name) is not None


def is_path(value: str) -> bool:
    """One absolute path, or several with colons between them."""
    return all(part.startswith(("/", "~")) or not part for part in value.split(":")) and "/" in value


def is_trivial(name: str, value: str, facts: Iterable[str] = ()) -> bool:
    """Whether a value says too little to be searched for, even beside its name.

    Short, a number, a path, a locale, a platform, a GPU's UUID, or part of a text in ``facts`` (what the
    measured process was told, and what every report says of the machine).  In a variable that looks like a
    credential, a path is only one that exists or begins as paths do: a base64 secret can begin with a slash.
    """
    credential = looks_like_credential(name)
    if len(value) < (LEAST_OF_A_CREDENTIAL if credential else LEAST_CHARACTERS):
        return True
    if any(pattern.fullmatch(value) for pattern in (NUMBER, LOCALE, PLATFORM, GPU)):
        return True
    if is_path(value) and (not credential or ROOTS.match(value) or exists(value)):
        return True
    return any(value in fact for fact in facts)


def exists(path: str) -> bool:
    """Whether the first of these paths exists; one that no file system can hold does not."""
    try:
        return Path(path.split(":")[0]).exists()
    except (OSError, ValueError):
        return False


def is_distinctive(name: str, value: str) -> bool:
    """Whether a value gives its variable away wherever it stands, also without the name."""
    if PLAIN.fullmatch(value) or len(value) < LEAST_CHARACTERS:
        return False
    return looks_like_credential(name) or bool(LOGIN_URL.search(value)) or is_token(value)


def is_token(value: str) -> bool:
    """Long, without blanks, of letters and digits in no order: a key, whatever its variable is called."""
    mixed = any(c.isalpha() for c in value) and any(c.isdigit() for c in value)
    return (
        len(value) >= TOKEN_CHARACTERS and mixed and not re.search(r"\s", value) and bits(value) >= TOKEN_BITS
    )


def bits(value: str) -> float:
    """Shannon's entropy in bits per character."""
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)


@dataclass(frozen=True)
class Needle:
    """What to search for on account of one variable: byte strings, any of which is a finding."""

    variable: str
    forms: tuple[bytes, ...]


def needles(
    withheld: Mapping[str, str], passed: Mapping[str, str], known: Iterable[str] = ()
) -> list[Needle]:
    """What to search for: the withheld variables that are not trivial, as ``NAME=value`` or the value alone.

    ``passed``: the environment of the measured process.  ``known``: more text that reports rightly hold,
    such as the plan.
    """
    facts = [*passed.values(), *machine_facts(), *known]
    found = []
    for name, value in sorted(withheld.items()):
        if not is_trivial(name, value, facts):
            texts = [f"{name}={value}", f'{name}="{value}']
            if is_distinctive(name, value):
                texts = [max(value.splitlines(), key=len)]
            found.append(
                Needle(name, tuple(dict.fromkeys(form for text in texts for form in spellings(text))))
            )
    return found


def spellings(text: str) -> Iterable[bytes]:
    """A text as it stands in a binary file, in JSON and in a CSV."""
    for spelled in (
        text,
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
        text.replace('"', '""'),
    ):
        yield spelled.encode(errors="surrogateescape")


def machine_facts() -> list[str]:
    """What a recording says of the machine and the user, whatever the environment holds."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        user = ""
    return [
        *platform.uname(),
        user,
        os.getcwd(),
        sys.executable,
        sys.prefix,
        platform.platform(),
        sys.version,
    ]
