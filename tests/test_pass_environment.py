"""What a measured process is told of its surroundings, and what is kept from it."""

import tempfile
from pathlib import Path

from kernel_ledger.environment import PACKAGE_ROOT, allowed, withheld

ENVIRON = {
    "PATH": "/usr/bin",
    "HOME": "/home/someone",
    "SECRET_TOKEN": "abc",
    "MY_SETTING": "1",
    "PYTHONPATH": "/mine",
    "CUDA_VISIBLE_DEVICES": "1",
    "OMP_NUM_THREADS": "1",
}


def test_only_allowed_names_and_those_of_the_configuration_pass():
    passed = allowed(ENVIRON, ["MY_SETTING", "NOT_SET"])
    assert passed["PATH"] == "/usr/bin" and passed["MY_SETTING"] == "1" and passed["OMP_NUM_THREADS"] == "1"
    assert "SECRET_TOKEN" not in passed and "NOT_SET" not in passed


def test_home_and_caches_are_folders_of_ours(tmp_path):
    passed = allowed(ENVIRON, home=tmp_path / "home", cache=tmp_path / "cache")
    assert passed["HOME"] == str(tmp_path / "home")
    assert passed["TRITON_CACHE_DIR"].startswith(str(tmp_path))
    assert passed["TORCHINDUCTOR_CACHE_DIR"].startswith(str(tmp_path))
    assert passed["TORCHINDUCTOR_COMPILE_THREADS"] == "1"
    assert allowed(ENVIRON)["HOME"] == tempfile.gettempdir()


def test_our_package_comes_first_on_the_path_of_modules():
    assert allowed(ENVIRON)["PYTHONPATH"] == f"{PACKAGE_ROOT}:/mine"
    assert allowed({})["PYTHONPATH"] == str(PACKAGE_ROOT)
    assert (Path(PACKAGE_ROOT) / "kernel_ledger").is_dir()


def test_gpus_are_numbered_as_nvml_numbers_them_unless_the_user_says_otherwise():
    assert allowed(ENVIRON)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert allowed({"CUDA_DEVICE_ORDER": "FASTEST_FIRST"})["CUDA_DEVICE_ORDER"] == "FASTEST_FIRST"


def test_what_is_kept_back_is_known_by_name_and_value():
    assert withheld(ENVIRON, ["MY_SETTING"]) == {"HOME": "/home/someone", "SECRET_TOKEN": "abc"}
