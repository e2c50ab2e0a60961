"""What the doctor says of machines that are not here: fakes of NVML, nvcc, nsys and the driver's files."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from nsys_tool import ROOT, script

from kernel_ledger import doctor
from kernel_ledger.doctor import gpu, host, nsight, packages
from kernel_ledger.doctor.compilers import compiler_lines
from kernel_ledger.doctor.finding import good, missing
from kernel_ledger.errors import MachineError

UUID = "GPU-01234567-89ab-cdef-0123-456789abcdef"
NVRM = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"


class FakeNvml:
    """As much of pynvml as is asked: one H200 under driver 580, and processes that a test adds."""

    NVML_CLOCK_MEM = 2

    class NVMLError(Exception):
        pass

    def __init__(self, pids=(), cuda=13000):
        self.pids, self.cuda = pids, cuda

    nvmlInit = staticmethod(lambda: None)
    nvmlDeviceGetCount = staticmethod(lambda: 1)
    nvmlDeviceGetHandleByIndex = staticmethod(lambda index: index)
    nvmlDeviceGetHandleByUUID = staticmethod(lambda uuid: uuid)
    nvmlDeviceGetUUID = staticmethod(lambda handle: UUID)
    nvmlDeviceGetName = staticmethod(lambda handle: b"NVIDIA H200")
    nvmlSystemGetDriverVersion = staticmethod(lambda: "580.65.06")
    nvmlDeviceGetMemoryInfo = staticmethod(lambda handle: SimpleNamespace(total=139 * 2**30))
    nvmlSystemGetProcessName = staticmethod(lambda pid: "/home/someone/bin/train")

    def nvmlSystemGetCudaDriverVersion_v2(self):
        return self.cuda

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [SimpleNamespace(pid=pid) for pid in self.pids]


def by_name(lines):
    return {line.what: line for line in lines}


def examined(library, root, **environ):
    return gpu.examine(environ, library=library, count=lambda: 1, root=root)


def test_a_gpu_is_told_with_its_memory_driver_and_company(tmp_path):
    found = examined(FakeNvml(), tmp_path)
    lines = by_name(found.lines)
    assert (found.driver, found.cuda) == ("580.65.06", "13.0")
    assert lines["GPU"].found == f"NVIDIA H200, 139 GiB, {UUID} (the first of 1)"
    assert lines["GPU processes"].status == "good" and not doctor.obstacles(found.lines, "cuda", "build")


def test_another_process_on_the_gpu_is_a_warning_that_names_it_without_its_folder(tmp_path):
    line = by_name(examined(FakeNvml(pids=[77]), tmp_path).lines)["GPU processes"]
    assert line.status == "warning" and "77 (train)" in line.found and "someone" not in str(line)


def test_a_hidden_gpu_a_gpu_not_given_and_none_at_all_are_told_apart(tmp_path):
    def none():
        return gpu.examine({}, count=lambda: 0, root=tmp_path).lines[0]

    assert "no NVIDIA driver" in none().found and "cuda" in none().stops
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text(NVRM)
    assert "the driver 580.65.06 is loaded" in none().found and "container" in none().advice
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").touch()
    assert "/dev/nvidia0" in none().found and "unset CUDA_VISIBLE_DEVICES" in none().advice


def test_without_nvml_the_driver_is_read_from_its_own_file(tmp_path):
    class Broken(FakeNvml):
        def nvmlInit(self):
            raise self.NVMLError("Driver/library version mismatch")

    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text(NVRM)
    found = examined(Broken(), tmp_path)
    assert found.driver == "580.65.06" and "mismatch" in by_name(found.lines)["GPU processes"].found


def nsys(tmp_path, version, importer=True):
    """A scripted nsys of some version, with or without a working importer."""
    body = f"print('NVIDIA Nsight Systems version {version}-1v0')"
    path = script(tmp_path / "nsight/bin/nsys", body)
    if importer:
        script(tmp_path / "nsight/host-linux-x64/QdstrmImporter", "pass")
    return str(path)


def nsys_line(tmp_path, version, driver, nvtx="0.2.11", what="nsys", **options):
    return by_name(nsight.nsys_lines(nsys(tmp_path, version, **options), os.environ, driver, nvtx))[what]


@pytest.mark.parametrize(
    "version, driver, status",
    [("2023.4.4.54", "580.65.06", "warning"), ("2025.3.1.90", "580.65.06", "good"), ("2025.1.3.1", "580.65.06", "warning"),
     ("2023.4.4.54", "550.54.14", "good"), ("2025.6.1.1", "999.1", "good"), ("2023.4.4.54", "470.1", "good"),
     ("2023.4.4.54", None, "good")],
)  # fmt: skip
def test_an_nsys_older_than_the_driver_is_a_warning(tmp_path, version, driver, status):
    line = nsys_line(tmp_path, version, driver)
    assert line.status == status and version in line.found
    assert ("lose kernels" in line.advice) is (status == "warning")


def test_an_nsys_without_importer_cannot_measure(tmp_path):
    line = nsys_line(tmp_path, "2025.3.1.90", "580.1", importer=False)
    assert line.stops == ("cuda",) and "cannot import its own recordings" in line.found and line.advice


def test_a_missing_nsys_is_told_on_one_short_line(tmp_path):
    line = by_name(nsight.nsys_lines(str(tmp_path / "none"), os.environ, None, None))["nsys"]
    assert (
        line.stops == ("cuda",)
        and "not found" in line.found
        and len(str(line)) < 400
        and "\n" not in str(line)
    )


@pytest.mark.parametrize(
    "nvtx, version, status",
    [("0.2.11", "2023.4.4", "good"), ("0.2.12", "2023.4.4", "missing"), ("0.2.15", "2023.4.4", "missing"),
     ("0.3", "2022.4.2", "missing"),     ("0.2.12", "2024.1.1", "good"), (None, "2024.1.1", "missing")],
)  # fmt: skip
def test_an_nvtx_whose_ranges_this_nsys_loses_is_told(tmp_path, nvtx, version, status):
    assert nsys_line(tmp_path, version, None, nvtx, what="nvtx").status == status


def test_without_namespaces_the_isolation_is_a_warning_that_says_how_to_allow_them(tmp_path):
    script(tmp_path / "unshare", "print('unshare failed: Operation not permitted'); sys.exit(1)")
    line = nsight.isolation_line({"PATH": str(tmp_path)})
    assert (
        line.status == "warning"
        and "Operation not permitted" in line.found
        and "user namespaces" in line.advice
    )


def nvcc(tmp_path, version):
    text = f"Cuda compilation tools, release {version[:4]}, V{version}"
    script(tmp_path / "cuda/bin/nvcc", f"print({text!r})")
    return {**os.environ, "CUDA_HOME": str(tmp_path / "cuda")}


@pytest.mark.parametrize(
    "version, driver, torch, bad",
    [("13.0.88", "13.0", "13.0", []), ("12.8.93", "13.0", "13.0", ["nvcc"]), ("13.0.88", "12.8", "13.0", ["CUDA versions"]),
     ("13.1.5", "13.0", "13.0", []), ("12.8.93", "13.0", "12.6", []), ("13.0.88", None, None, [])],
)  # fmt: skip
def test_cuda_of_driver_torch_and_nvcc_must_go_together(tmp_path, version, driver, torch, bad):
    lines = compiler_lines(nvcc(tmp_path, version), driver, torch)
    assert [line.what for line in lines if line.status == "missing"] == bad


def test_missing_compilers_stop_the_build_and_not_a_measurement(tmp_path):
    lines = list(compiler_lines({"PATH": str(tmp_path)}, None, "13.0", toolkit=tmp_path))
    assert [(line.what, line.stops) for line in lines] == [("nvcc", ("build",)), ("C++ compiler", ("build",))]
    assert all(line.advice for line in lines)


def test_packages_that_make_run_installs_do_not_keep_it_from_measuring(monkeypatch):
    monkeypatch.setattr(packages, "installed", lambda name: None)
    lines = list(packages.package_lines())
    assert doctor.conclusion(lines)[1] == 0
    with pytest.raises(MachineError, match="nothing can be measured") as caught:
        doctor.require(lines, "cpu")
    assert "torch: make run (on a GPU node) or make cpu installs it" in str(caught.value)


def test_the_cuda_of_torch_is_read_and_torch_is_not_imported(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("raise SystemExit('torch was imported')")
    program = "from kernel_ledger.doctor.packages import torch_cuda; print(torch_cuda())"
    for text, cuda in (
        ("cuda: Optional[str] = '13.0'\nhip = None\n", "13.0"),
        ("cuda: Optional[str] = None\n", "None"),
    ):
        (tmp_path / "torch/version.py").write_text(text)
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert done.stdout.strip() == cuda, done.stderr


def test_disk_and_python_have_their_limits(tmp_path):
    gib = host.GIB
    statuses = [host.disk_line(tmp_path, True, free).status for free in (gib // 4, gib, 3 * gib)]
    assert statuses == ["missing", "warning", "good"]
    assert host.disk_line(tmp_path, False, 3 * gib).status == "warning"
    assert (
        packages.python_line((3, 11, 0)).status == "good"
        and packages.python_line((3, 10, 9)).status == "missing"
    )


def test_permissions_of_other_profilers_are_told_as_not_needed(tmp_path):
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/params").write_text("Mobile: 1\nRmProfilingAdminOnly: 1\n")
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/perf_event_paranoid").write_text("4\n")
    told = nsight.counter_lines(
        host.perf_event_paranoid(tmp_path), host.counters_for_administrators(tmp_path)
    )
    perf, counters = map(str, told)
    assert "perf_event_paranoid is 4; not needed" in perf
    assert "administrators (NVreg_RestrictProfilingToAdminUsers=1); not needed" in counters


def test_the_conclusion_names_what_is_missing_and_what_can_be_done_instead():
    assert doctor.conclusion([good("GPU", "x")]) == ("`make run` can measure here.", 0)
    text, status = doctor.conclusion(
        [missing("GPU", "none", ""), missing("nvcc", "none", "", stops=("build",))]
    )
    assert status == 1 and "(GPU, nvcc)" in text and "make replay" in text and "make cpu" in text


def test_a_line_cannot_steer_the_terminal():
    assert "\x1b" not in str(good("GPU", "\x1b[2Jname\n"))


def on_this_machine(*words):
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)


def test_make_doctor_says_one_line_each_and_ends_with_1_without_a_gpu():
    done = on_this_machine("-m", "kernel_ledger.doctor")
    assert done.returncode == 1 and "cannot measure here (GPU" in done.stdout
    lines = done.stdout.split("\n\n")[0].splitlines()
    assert len(lines) >= 11 and all(line[0] in "✓!✗–" for line in lines)
    for what in (
        "GPU",
        "Python",
        "torch",
        "ninja",
        "nvcc",
        "C++ compiler",
        "nsys",
        "nvtx",
        "perf events",
        "GPU counters",
        "disk",
    ):
        assert sum(line[2:].startswith(what) for line in lines) >= 1, what


def test_the_rule_preflight_refuses_a_machine_without_a_gpu_and_writes_nothing(tmp_path):
    done = on_this_machine(
        "scripts/preflight.py", "--device", "cuda", "--output", str(tmp_path / "doctor.txt")
    )
    assert done.returncode == 3 and "nothing can be measured on this machine" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_rule_preflight_lets_the_cpu_through(tmp_path):
    pytest.importorskip("torch")
    done = on_this_machine(
        "scripts/preflight.py", "--device", "cpu", "--output", str(tmp_path / "doctor.txt")
    )
    assert done.returncode == 0, done.stderr
    assert "✓ Python" in (tmp_path / "doctor.txt").read_text()
