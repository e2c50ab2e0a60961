"""Building the extension: a record of how, and one clear message for each thing that may be missing."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_ledger import toolchain
from kernel_ledger.errors import MachineError
from kernel_ledger.extension import sole_builder

ROOT = Path(__file__).parents[1]


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def fake_nvcc(home: Path, version: str = "13.0", architectures: str = "75 80 90") -> Path:
    return executable(
        home / "bin" / "nvcc",
        'case "$1" in\n'
        f'--version) echo "Cuda compilation tools, release {version}, V{version}.88" ;;\n'
        f"--list-gpu-arch) for n in {architectures}; do echo compute_$n; done ;;\n"
        "esac",
    )


def run_build(output: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "scripts/build.py", "--output", str(output), *arguments]
    environ = {**os.environ, "PYTHONPATH": "src", **environment}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=100)


def test_the_record_says_what_the_library_was_built_from(cpu_library):
    record = json.loads(cpu_library.with_name("build.json").read_text())
    assert record["format"] == 1 and record["device"] == "cpu"
    assert set(record["sources"]) == {path.name for path in (ROOT / "csrc").iterdir()}
    bindings = (ROOT / "csrc" / "bindings.cpp").read_bytes()
    assert record["sources"]["bindings.cpp"] == hashlib.sha256(bindings).hexdigest()
    assert record["library_sha256"] == hashlib.sha256(cpu_library.read_bytes()).hexdigest()
    assert record["versions"]["torch"] and record["versions"]["compiler"] and record["seconds"] > 0
    assert record["architectures"] == [] and record["versions"]["nvcc"] is None


def test_a_lock_left_by_a_killed_build_is_named_and_does_not_hang(cpu_library, tmp_path):
    folder = tmp_path / "cpu"
    shutil.copytree(cpu_library.parent, folder)
    (folder / "objects" / "lock").touch()
    done = run_build(folder / "kernels.so", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert f"{folder / 'objects' / 'lock'}: left behind by a build that was killed; removed" in done.stderr
    record = json.loads((folder / "build.json").read_text())
    assert len(record["warnings"]) == 1 and not (folder / "objects" / "lock").exists()


def test_a_second_build_in_the_same_folder_names_the_first(tmp_path):
    named = pytest.raises(MachineError, match=f"process {os.getpid()}")
    with sole_builder(tmp_path), named, sole_builder(tmp_path):
        pass


def test_a_source_that_does_not_compile_is_shown_with_the_compilers_words(tmp_path):
    broken = tmp_path / "csrc"
    broken.mkdir()
    (broken / "bindings.cpp").write_text("int broken( {\n")
    program = (
        "from kernel_ledger import entry, extension; from pathlib import Path; import sys\n"
        "entry.run(lambda: extension.build('cpu', [], Path(sys.argv[1]), sources=Path(sys.argv[2])))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "out" / "kernels.so"), str(broken)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 3
    assert "the extension could not be built" in done.stderr and "bindings.cpp:1" in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "out" / "build.json").exists()


def test_a_missing_nvcc_is_named_with_every_place_that_was_searched(tmp_path):
    with pytest.raises(MachineError, match=f"searched PATH, {tmp_path}/none/bin/nvcc"):
        toolchain.find_nvcc({"PATH": str(tmp_path)}, toolkit=tmp_path / "none")
    done = run_build(tmp_path / "build" / "kernels.so", "--device", "cuda", CUDA_HOME=str(tmp_path))
    assert done.returncode == 3 and f"searched {tmp_path}/bin/nvcc" in done.stderr
    assert done.stderr.startswith("error: nvcc not found")


def test_nvcc_is_found_in_cuda_home_before_path_before_the_toolkit(tmp_path):
    nvcc = {name: fake_nvcc(tmp_path / name) for name in ("home", "path", "toolkit")}
    path, toolkit = str(nvcc["path"].parent), tmp_path / "toolkit"
    found = [
        toolchain.find_nvcc({"CUDA_HOME": str(tmp_path / "home"), "PATH": path}, toolkit),
        toolchain.find_nvcc({"PATH": path}, toolkit),
        toolchain.find_nvcc({"PATH": ""}, toolkit),
    ]
    assert found == [nvcc["home"], nvcc["path"], nvcc["toolkit"]]


def test_a_wrapper_around_nvcc_leads_to_the_toolkit_behind_it(tmp_path):
    wrapper = executable(tmp_path / "bin" / "nvcc", "echo '#$ _HERE_=/somewhere/cuda/bin'")
    assert toolchain.toolkit_of(wrapper, os.environ) == Path("/somewhere/cuda")
    assert toolchain.toolkit_of(fake_nvcc(tmp_path), os.environ) == tmp_path


def test_an_nvcc_of_another_cuda_major_than_torchs_is_refused(tmp_path):
    nvcc = fake_nvcc(tmp_path, version="12.4")
    version = toolchain.nvcc_version(nvcc, os.environ)
    assert version == "12.4.88"
    with pytest.raises(MachineError, match="torch was built with 13.0\n  found:    nvcc 12.4.88"):
        toolchain.require_same_major(nvcc, version, "13.0")
    toolchain.require_same_major(nvcc, version, "12.1")


def test_a_torch_without_cuda_is_refused(tmp_path):
    with pytest.raises(MachineError, match="this torch was built without CUDA"):
        toolchain.require_same_major(tmp_path, "13.0", None)


def test_an_architecture_that_nvcc_does_not_know_is_named_with_those_it_does(tmp_path):
    nvcc = fake_nvcc(tmp_path, architectures="75 80 90 120")
    supported = toolchain.supported_architectures(nvcc, os.environ)
    assert supported == ["7.5", "8.0", "9.0", "12.0"]
    toolchain.require_supported(nvcc, ["9.0", "9.0a", "12.0"], supported)
    with pytest.raises(MachineError, match=r"architecture 6\.1\n  expected: one of 7\.5, 8\.0, 9\.0, 12\.0"):
        toolchain.require_supported(nvcc, ["6.1", "9.0"], supported)


def test_an_nvcc_that_fails_is_quoted(tmp_path):
    nvcc = executable(tmp_path / "nvcc", "echo cannot open shared object; exit 127")
    with pytest.raises(MachineError, match="exit status 127\n  found:    cannot open shared object"):
        toolchain.nvcc_version(nvcc, os.environ)


def test_a_missing_compiler_is_named(tmp_path):
    done = run_build(tmp_path / "kernels.so", "--device", "cpu", CXX="no-such-compiler")
    assert done.returncode == 3 and "no C++ compiler: there is no command 'no-such-compiler'" in done.stderr


def test_a_compiler_that_would_link_a_second_libstdcxx_is_given_torchs(tmp_path):
    maps = "7f00-7f01 r-xp 00000000 08:01 42   /opt/lib/libstdc++.so.6.0.32\n"
    static = executable(tmp_path / "static", "echo libstdc++.so")
    shared = executable(tmp_path / "shared", "echo /usr/lib/gcc/13/libstdc++.so")
    assert toolchain.standard_library(static, os.environ, maps) == ["/opt/lib/libstdc++.so.6.0.32"]
    assert toolchain.standard_library(static, os.environ, "") == []
    assert toolchain.standard_library(shared, os.environ, maps) == []


def test_a_missing_ninja_is_named(tmp_path):
    with pytest.raises(MachineError, match=f"ninja not found.*\n  found:    searched PATH and {tmp_path}"):
        toolchain.find_ninja({"PATH": ""}, tmp_path)


def test_gencode_names_each_architecture_once():
    assert toolchain.gencode(["9.0", "12.0"]) == [
        "-gencode=arch=compute_90,code=sm_90",
        "-gencode=arch=compute_120,code=sm_120",
    ]
