"""nsys is found where it can be, and one that cannot import its recordings is recognised."""

import os

import pytest
from nsys_tool import real_nsys, script

from kernel_ledger.errors import MachineError
from kernel_ledger.nsys.find import find, parse_version

SAYS = "NVIDIA Nsight Systems version {}-111"
WORKING_IMPORTER = "sys.exit(0)"


def installed(folder, version="2024.1.1.5", importer=WORKING_IMPORTER):
    """A scripted installation as NVIDIA lays it out; returns its nsys."""
    nsys = script(folder / "target-linux-x64" / "nsys", f"print('{SAYS.format(version)}')")
    if importer is not None:
        script(folder / "host-linux-x64" / "QdstrmImporter", importer)
    return nsys


def environ(*folders, **more):
    return {"PATH": os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"]), **more}


def test_the_configured_one_is_taken_before_all_others(tmp_path):
    ours, other = installed(tmp_path / "ours"), installed(tmp_path / "other")
    assert find(str(ours), environ(other.parent), root=tmp_path).path == ours


def test_a_configured_folder_means_the_nsys_in_it(tmp_path):
    ours = installed(tmp_path / "ours")
    assert find(str(ours.parent), environ(), root=tmp_path).path == ours


def test_a_configured_one_that_is_missing_is_not_replaced_by_another(tmp_path):
    other = installed(tmp_path / "other")
    with pytest.raises(MachineError, match="nsys.path: .*nowhere"):
        find(str(tmp_path / "nowhere"), environ(other.parent), root=tmp_path)


def test_the_version_is_that_which_the_tool_states(tmp_path):
    found = find(str(installed(tmp_path, "2025.3.1.90")), environ())
    assert found.version == (2025, 3, 1, 90) and found.version_text == "2025.3.1.90-111"


def test_path_comes_before_the_cuda_toolkit(tmp_path):
    first, second = installed(tmp_path / "a"), installed(tmp_path / "b")
    toolkit = tmp_path / "toolkit"
    toolkit.mkdir()
    (toolkit / "bin").symlink_to(second.parent)
    assert find(None, environ(first.parent, CUDA_HOME=str(toolkit)), root=tmp_path).path == first
    assert find(None, environ(CUDA_HOME=str(toolkit)), root=tmp_path).path == toolkit / "bin" / "nsys"


@pytest.mark.parametrize(
    "place",
    [
        "opt/nvidia/nsight-systems/2024.1.1",
        "opt/nvidia/nsight-compute/2024.1/host",
    ],
)
def test_installations_in_opt_are_found(tmp_path, place):
    nsys = installed(tmp_path / place)
    assert find(None, environ(), root=tmp_path).path == nsys


def test_the_newest_of_several_in_opt_is_taken(tmp_path):
    for version in ("2023.4.4", "2025.3.1", "2024.10.1"):
        installed(tmp_path / "opt/nvidia/nsight-systems" / version, version)
    assert find(None, environ(), root=tmp_path).version_text == "2025.3.1-111"


def test_a_complete_one_is_preferred_to_one_without_importer(tmp_path):
    broken, whole = installed(tmp_path / "a", importer="sys.exit(127)"), installed(tmp_path / "b")
    assert find(None, environ(broken.parent, whole.parent), root=tmp_path).path == whole


def test_an_importer_that_lacks_a_library_is_named_with_the_library(tmp_path):
    fails = "print('error while loading shared libraries: libssh.so.4: cannot open'); sys.exit(127)"
    found = find(str(installed(tmp_path, importer=fails)), environ())
    assert not found.importer_ok and "libssh.so.4" in found.missing
    with pytest.raises(MachineError, match="cannot import its own recordings"):
        found.require_importer()


def test_no_importer_at_all_is_told_by_a_recording_of_nothing(tmp_path):
    found = find(str(installed(tmp_path, importer=None)), environ())
    assert not found.importer_ok and "no QdstrmImporter" in found.missing


def test_a_launcher_script_that_records_is_complete(tmp_path):
    body = """
if 'profile' in sys.argv:
    open(sys.argv[sys.argv.index('-o') + 1] + '.nsys-rep', 'w').close()
print('NVIDIA Nsight Systems version 2025.3.1.90-1v0')
"""
    assert find(str(script(tmp_path / "bin" / "nsys", body)), environ()).importer_ok


def test_one_that_does_not_run_is_listed_as_such(tmp_path):
    nsys = script(tmp_path / "bin" / "nsys", "sys.exit(1)")
    with pytest.raises(MachineError, match="nsys does not run"):
        find(None, environ(nsys.parent), root=tmp_path)


def test_where_there_is_none_all_places_are_listed(tmp_path):
    with pytest.raises(MachineError) as raised:
        find(None, environ(CUDA_HOME="/cuda"), root=tmp_path)
    for place in ("PATH", "CUDA_HOME", "usr/local/cuda*", "nsight-systems", "nsight-compute"):
        assert place in raised.value.found
    assert "nsys.path" in raised.value.next_step


def test_a_version_line_of_another_program_is_none():
    assert parse_version("gcc 12.2.0") is None


def test_the_real_tool_is_found_and_complete():
    nsys = real_nsys()
    found = find(str(nsys), os.environ)
    assert found.importer_ok and found.version[0] >= 2023


def test_the_real_tool_without_its_host_part_is_recognised(tmp_path):
    real = real_nsys().resolve()
    target = tmp_path / "target-linux-x64"
    target.mkdir()
    for file in real.parent.iterdir():
        if file.name != "nsys":
            (target / file.name).symlink_to(file)
    (target / "nsys").write_bytes(real.read_bytes())
    (target / "nsys").chmod(0o755)
    found = find(str(target / "nsys"), os.environ)
    assert not found.importer_ok and "importer binary and its dependencies were not found" in found.missing
