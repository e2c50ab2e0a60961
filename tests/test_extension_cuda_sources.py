"""The CUDA side compiles here too, where there is an nvcc: for every architecture, bindings included."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernel_ledger import toolchain
from kernel_ledger.errors import MachineError

CSRC = Path(__file__).parents[1] / "csrc"
ARCHITECTURES = ["7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"]
KERNELS = {
    "fused_chain.cu": ["fused_chain_scalar", "fused_chain_vector"],
    "gelu.cu": ["gelu_scalar", "gelu_vector"],
    "ruler.cu": ["ruler_spin", "ruler_tick", "ruler_touch"],
}


@pytest.fixture(scope="module")
def nvcc() -> Path:
    try:
        return toolchain.find_nvcc(os.environ)
    except MachineError as error:
        pytest.skip(f"no nvcc here: {error.found}")


@pytest.mark.parametrize("source", sorted(KERNELS))
def test_the_kernels_compile_for_every_architecture_without_a_warning(nvcc, tmp_path, source):
    output = tmp_path / "kernels.o"
    command = [nvcc, "-O3", "-Werror=all-warnings", *toolchain.gencode(ARCHITECTURES), "--threads=0"]
    done = subprocess.run([*command, "-c", CSRC / source, "-o", output], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = set(re.findall(rb"(?:fused_chain|gelu|ruler)_[a-z]+", output.read_bytes()))
    assert {name.encode() for name in KERNELS[source]} <= found


def test_every_source_is_among_those_tested():
    assert sorted(path.name for path in CSRC.glob("*.cu")) == sorted(KERNELS)


def test_kernels_include_no_torch_header():
    for path in [*CSRC.glob("*.cu"), *CSRC.glob("c*.h"), CSRC / "launch.h", CSRC / "elementwise.h"]:
        assert not re.search(r"#include <(torch|ATen|c10)/", path.read_text()), path


@pytest.mark.parametrize("source", ["bindings.cpp", "operators.cpp"])
def test_the_torch_side_compiles_with_cuda(nvcc, tmp_path, source):
    pytest.importorskip("torch")
    from torch.utils.cpp_extension import include_paths

    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler here")
    # CMake writes this header for a CUDA torch; a CPU wheel has all the others
    stub = tmp_path / "c10" / "cuda" / "impl" / "cuda_cmake_macros.h"
    stub.parent.mkdir(parents=True)
    stub.write_text("#define C10_CUDA_BUILD_SHARED_LIBS\n")
    command = [compiler, "-fsyntax-only", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-DWITH_CUDA"]
    for folder in (tmp_path, toolchain.toolkit_of(nvcc, os.environ) / "include", *include_paths()):
        command += ["-isystem", str(folder)]
    done = subprocess.run([*command, CSRC / source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
