"""PTX and resources of custom kernels: read from text, compiled here from csrc, and checked against the launches."""

import json
import os
from pathlib import Path

import pytest

from kernel_ledger import toolchain
from kernel_ledger.errors import MachineError
from kernel_ledger.files import sha256
from kernel_ledger.kernel_code import ptx, reports
from kernel_ledger.kernel_code.collect import collect
from kernel_ledger.kernel_code.table import kernel_rows
from kernel_ledger.kernel_code.tools import Tools, find_tools

ROOT = Path(__file__).parents[1]
MODULE = """//
.version 9.0
.target sm_90a
.address_size 64
.file 1 "/home/someone/cache/inductor/ab/cab.py"
.visible .entry first(.param .u64 a)
{
  .reg .b32 %r<5>;
  { ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ]; }
  ld.global.nc.L1::no_allocate.f32 %f1, [%rd2];
  st.global.v2.f32 [%rd3], {%f1, %f1};
}
.visible .entry second(
  .param .u64 a
)
{
  ld.shared.f32 %f1, [%r1];
  ret;
}
"""


def test_a_module_is_split_into_kernels_with_its_head_and_without_folders():
    found = ptx.kernels(MODULE)
    assert list(found) == ["first", "second"] and ptx.architecture(MODULE) == "sm_90a"
    assert ".version 9.0" in found["second"] and "second" not in found["first"]
    assert "/home" not in found["first"] and 'file 1 "cab.py"' in found["first"]


def test_widths_are_of_device_memory_alone():
    found = ptx.kernels(MODULE)
    assert ptx.widths(found["first"]) == {"load": {128: 1, 32: 1}, "store": {64: 1}}
    assert ptx.widths(found["second"]) == {"load": {}, "store": {}}


def test_what_ptxas_prints_is_read_by_kernel():
    text = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1av' for 'sm_90'
ptxas info    : Function properties for _Z1av
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem, 388 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1bv' for 'sm_90'
ptxas info    : Used 8 registers"""
    assert reports.ptxas(text) == {
        "_Z1av": {
            "shared_bytes": 1024,
            "stack_bytes": 16,
            "spill_store_bytes": 12,
            "spill_load_bytes": 8,
            "registers": 40,
        },
        "_Z1bv": {"shared_bytes": 0, "registers": 8},
    }


def test_what_cuobjdump_prints_is_read_by_kernel():
    usage = """Resource usage:
 Common:
  GLOBAL:0
 Function first:
  REG:32 STACK:0 SHARED:16 LOCAL:0 CONSTANT[0]:560 TEXTURE:0 SURFACE:0 SAMPLER:0"""
    sass = """\t\tFunction : first
        /*00c0*/  LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*00d0*/  LDG.E R8, desc[UR4][R6.64] ;
        /*00e0*/  STG.E.64 desc[UR4][R10.64], R4 ;"""
    assert reports.resource_usage(usage) == {
        "first": {"registers": 32, "stack_bytes": 0, "shared_bytes": 16, "local_bytes": 0}
    }
    assert reports.sass_widths(sass) == {"first": {"load": {128: 1, 32: 1}, "store": {64: 1}}}


def seen(registers):
    return {"registers": {registers}, "shared": {0}, "used_by": {"linear_chain/x/fused": None}}


def code(registers=32, text="a", **more):
    kernel = {
        "origin": "triton",
        "name": "k",
        "symbol": "k",
        "architecture": "sm_90",
        "ptx": text,
        "sass": None,
        "binary": None,
    }
    return (
        kernel | {"ptx_widths": {"load": {"128": 2}, "store": {}}, "ptxas": {"registers": registers}} | more
    )


def test_a_kernel_whose_code_is_not_known_has_a_row_with_the_reason():
    (row,), files = kernel_rows("run", {"k": seen(32)}, [], ["the captures have no kernel_code.json"])
    assert (row["trace_registers"], row["vectorised"], files) == ("32", "unknown", {})
    assert row["reason"] == "the captures have no kernel_code.json"


def test_of_several_cached_kernels_the_one_with_the_launched_registers_is_taken():
    (row,), files = kernel_rows("run", {"k": seen(40)}, [code(32, "old"), code(40, "new")], [])
    assert row["registers"] == 40 and files == {"k.ptx": "new"} and row["vectorised"] == "yes"


def test_kernels_that_cannot_be_told_apart_are_all_listed():
    rows, files = kernel_rows("run", {"k": seen(32)}, [code(32, "a"), code(32, "b")], [])
    assert [r["ptx"] for r in rows] == ["kernels/k.ptx", "kernels/k-2.ptx"] and files["k-2.ptx"] == "b"
    assert all("does not tell which one ran" in r["reason"] for r in rows)


def test_code_that_uses_other_registers_than_the_launch_is_doubted():
    (row,), _ = kernel_rows("run", {"k": seen(64)}, [code(32)], [])
    assert "the launched kernel used 64 registers, this code 32" in row["reason"]
    (row,), _ = kernel_rows("run", {"k": seen(16)}, [code(8)], [])  # CUPTI reports 16 of every smaller one
    assert "launched kernel used" not in row["reason"]


def test_tritons_cache_is_read_without_any_tool(tmp_path):
    folder = tmp_path / "cache" / "triton" / "ABC"
    folder.mkdir(parents=True)
    (folder / "first.ptx").write_text(MODULE)
    (folder / "first.json").write_text(json.dumps({"shared": 16, "num_warps": 4, "name": "first"}))
    found = collect(tmp_path, tmp_path, {"first"}, Tools(None, None, None))
    (kernel,) = found["kernels"]
    assert kernel["ptx_widths"]["load"] == {128: 1, 32: 1} and kernel["triton"] == {
        "shared": 16,
        "num_warps": 4,
    }
    assert "spills are unknown: there is no ptxas" in found["notes"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """kernel_code.json of the kernels in csrc, by the nvcc that is here; no GPU is needed."""
    try:
        toolchain.find_nvcc(os.environ)
    except MachineError:
        pytest.skip("no nvcc")
    build = tmp_path_factory.mktemp("build")
    (build / "kernels.so").write_bytes(b"")
    sources = {p.name: sha256(p) for p in sorted((ROOT / "csrc").iterdir()) if p.is_file()}
    record = {"format": 1, "sources": sources, "architectures": ["9.0"],
              "flags": {"device": ["-O3", "-gencode=arch=compute_90,code=sm_90"]}}  # fmt: skip
    (build / "build.json").write_text(json.dumps(record))
    tools = find_tools()
    wanted = {"fused_chain_vector", "fused_chain_scalar", "ruler_spin"}
    return collect(build, ROOT / "csrc", wanted, Tools(tools.nvcc, tools.ptxas, None))


def test_our_vector_kernel_loads_sixteen_bytes_and_our_scalar_one_four(compiled):
    kernels = {k["name"]: k for k in compiled["kernels"]}
    assert set(kernels) == {"fused_chain_vector", "fused_chain_scalar", "ruler_spin"}
    assert max(kernels["fused_chain_vector"]["ptx_widths"]["load"]) == 128
    assert max(kernels["fused_chain_scalar"]["ptx_widths"]["load"]) == 32
    assert all(k["ptxas"]["spill_store_bytes"] == 0 for k in kernels.values())
    assert str(ROOT) not in json.dumps(compiled)


def test_sources_that_changed_after_the_build_are_not_passed_off_as_its_code(compiled, tmp_path):
    record = {
        "format": 1,
        "sources": {"gelu.cu": "0" * 64},
        "architectures": ["9.0"],
        "flags": {"device": []},
    }
    (tmp_path / "build.json").write_text(json.dumps(record))
    (tmp_path / "kernels.so").write_bytes(b"")
    found = collect(tmp_path, ROOT / "csrc", {"gelu_vector"}, Tools(Path("nvcc"), None, None))
    assert found["kernels"] == [] and "gelu.cu changed after the build" in found["notes"][0]
