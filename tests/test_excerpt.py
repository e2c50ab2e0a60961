"""A smaller run out of a larger one: it says what it leaves out, and is judged by its own cases."""

from __future__ import annotations

import capture_factory as factory
import pytest
from test_reconcile import reconciled

from kernel_ledger.errors import ConfigError
from kernel_ledger.excerpt import excerpt
from kernel_ledger.files import read_json


def test_an_excerpt_is_judged_by_its_cases_and_names_what_is_left_out(tmp_path):
    other = factory.tiny()
    other.case = "n2048"
    factory.written(tmp_path / "whole", factory.tiny(), other, factory.ruler())
    excerpt(tmp_path / "whole", ["tiny/n1024", "ruler/default"], tmp_path / "part")
    rows, verdict = reconciled(tmp_path / "part/captures", tmp_path / "out")
    assert {r["case"] for r in rows} == {"n1024", "default"}
    assert verdict["verdict"] == "verified"
    assert verdict["excerpt"] == {"of": "whole", "left_out": ["tiny/n2048"]}


def test_a_case_that_the_run_has_not_and_a_folder_that_is_there_are_refused(tmp_path):
    factory.written(tmp_path / "whole")
    with pytest.raises(ConfigError, match="no such case"):
        excerpt(tmp_path / "whole", ["tiny/n1"], tmp_path / "part")
    (tmp_path / "part").mkdir()
    with pytest.raises(ConfigError, match="there already"):
        excerpt(tmp_path / "whole", ["tiny/n1024"], tmp_path / "part")
    assert "excerpt" not in read_json(tmp_path / "whole/captures/plan.json")
