"""Which names look like credentials and which values are worth a search: on both sides of each line."""

import platform

import pytest

from kernel_ledger.credentials import is_distinctive, is_trivial, looks_like_credential, needles

KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE"


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "SECRET_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD", "MYSQL_PASSWD", "OPENAI_API_KEY",
     "APIKEY", "npm_config__authToken", "SSH_PRIVATE_KEY", "GOOGLE_CREDENTIALS", "PROXY_AUTH", "AUTH", "DB_PASSWORD_2",
     "KEY_PASSPHRASE"],
)  # fmt: skip
def test_names_of_credentials_are_known(name):
    assert looks_like_credential(name)


@pytest.mark.parametrize(
    "name",
    [
        "TOKENIZERS_PARALLELISM",
        "GIT_AUTHOR_NAME",
        "XAUTHORITY",
        "PWD",
        "SECRETARY",
        "KEYBOARD",
        "OMP_NUM_THREADS",
        "AUTHOR",
    ],
)
def test_other_names_are_no_credentials(name):
    assert not looks_like_credential(name)


@pytest.mark.parametrize(
    "value",
    ["", "1", "true", "/usr/bin", "/usr/bin:/bin", "~/x", "C.UTF-8", "en_US.UTF-8", "12345678901", "2026-11-29",
     "10.0.0.1 53422 22", "GPU-01234567-89ab-cdef-0123-456789abcdef", "x86_64-pc-linux-gnu",
     "x86_64-conda-linux-gnu", "xterm-256color", "13.0.1-1", "en_US:en", "short"],
)  # fmt: skip
def test_a_value_that_any_report_may_hold_is_trivial(value):
    assert is_trivial("SETTING", value)


@pytest.mark.parametrize(
    "value", ["planted-4711-value", "postgres://user:word@host/db", "correct horse battery", "noninteractive"]
)
def test_a_value_that_says_something_is_not_trivial(value):
    assert not is_trivial("SETTING", value)


def test_what_the_measured_process_was_told_is_trivial_also_in_part():
    assert is_trivial("CONDA_ENV", "project-4711", ["/opt/project-4711/bin:/usr/bin"])
    assert not is_trivial("CONDA_ENV", "project-4712", ["/opt/project-4711/bin:/usr/bin"])


def test_a_secret_may_begin_with_a_slash_and_a_credential_may_be_the_path_of_a_file(tmp_path):
    assert not is_trivial("AWS_SECRET_ACCESS_KEY", "/" + KEY)
    assert is_trivial("GOOGLE_CREDENTIALS", str(tmp_path))
    assert not is_trivial("PASSWORD", "abc123") and is_trivial("PASSWORD", "abc12")


def test_only_a_value_that_gives_itself_away_is_looked_for_without_its_name():
    assert is_distinctive("HF_TOKEN", "hf_abcdefgh1") and is_distinctive("ANY", KEY + "1")
    assert is_distinctive("DATABASE", "postgres://user:word@host/db")
    assert not is_distinctive("PASSWORD", "kernel") and not is_distinctive("PASSWORD", "performance")
    assert not is_distinctive("FRONTEND", "noninteractive") and not is_distinctive(
        "TITLE", "a name of 20 letters"
    )


def test_a_plain_word_is_looked_for_beside_its_name_alone():
    (needle,) = needles({"PASSWORD": "performance"}, {})
    assert b"PASSWORD=performance" in needle.forms and b"performance" not in needle.forms


def test_a_key_of_many_lines_is_looked_for_by_its_longest_and_as_json_and_csv_spell_it():
    (needle,) = needles({"PRIVATE_KEY": f'-----BEGIN-----\n{KEY}"{KEY}\n-----END-----'}, {})
    assert {f'{KEY}"{KEY}'.encode(), f'{KEY}\\"{KEY}'.encode(), f'{KEY}""{KEY}'.encode()} == set(needle.forms)


def test_names_of_this_machine_are_not_looked_for():
    names = {"HOST": platform.node() or "localhost", "SYSTEM": platform.platform()}
    assert needles(names, {}) == []
