"""What NVML says is recorded; what it does not say is None with a reason, never a zero."""

import os
import subprocess
import time
from types import SimpleNamespace

import pytest

from kernel_ledger import device
from kernel_ledger.errors import MachineError
from kernel_ledger.nvml import HARMFUL, Nvml, reason_names
from kernel_ledger.process import Finished
from kernel_ledger.sampler import Sampler

FINISHED = Finished(("true",), 0, None, 0.1, False, "")


class NVMLError(Exception):
    pass


class FakeNvml:
    """A stand-in for the pynvml module with two GPUs."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self, reasons=0x0, processes=(), works=True):
        self.reasons, self.pids, self.works, self.power_told = reasons, list(processes), works, True

    def nvmlInit(self):
        if not self.works:
            raise NVMLError("Driver Not Loaded")

    def nvmlDeviceGetCount(self):
        return 2

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid):
        return int(uuid[-1])

    def nvmlDeviceGetUUID(self, handle):
        return f"GPU-abc{handle}".encode()  # bytes, as older bindings give

    def nvmlDeviceGetName(self, handle):
        return "NVIDIA H200"

    def nvmlSystemGetDriverVersion(self):
        return "580.95.05"

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=150 << 30)

    def nvmlDeviceGetMaxClockInfo(self, handle, kind):
        return 3201

    def nvmlDeviceGetMemoryBusWidth(self, handle):
        return 6144

    def nvmlDeviceGetClockInfo(self, handle, kind):
        return 1980 if kind == self.NVML_CLOCK_SM else 3201

    def nvmlDeviceGetTemperature(self, handle, kind):
        return 41

    def nvmlDeviceGetPowerUsage(self, handle):
        if not self.power_told:
            raise NVMLError("Not Supported")
        return 612345

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle):
        return self.reasons

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [SimpleNamespace(pid=pid) for pid in self.pids]

    def nvmlSystemGetProcessName(self, pid):
        return f"/home/someone/bin/train{pid}"


def test_the_gpus_are_listed_with_their_identity():
    gpu = Nvml(FakeNvml()).gpus()[1]
    assert gpu["uuid"] == "GPU-abc1" and gpu["driver"] == "580.95.05" and gpu["memory_bus_bits"] == 6144
    assert gpu["memory_clock_khz"] == 3_201_000 and gpu["memory_bytes"] == 150 << 30


@pytest.mark.parametrize(
    ("visible", "uuid"),
    [(None, "GPU-abc0"), ("1,0", "GPU-abc1"), ("GPU-abc1", "GPU-abc1"), (" 0 ", "GPU-abc0")],
)
def test_the_first_visible_gpu_is_the_one_that_is_taken(visible, uuid):
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert Nvml(FakeNvml()).visible(environ)[0]["uuid"] == uuid


def test_a_gpu_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(MachineError, match="GPU-abc0"):
        Nvml(FakeNvml()).visible({"CUDA_VISIBLE_DEVICES": "7"})


def test_a_sample_has_units_and_names_its_throttle_reasons():
    sample = Nvml(FakeNvml(reasons=0x1 | 0x4 | 0x40)).sample("GPU-abc0")
    assert sample["power_w"] == 612.345 and sample["sm_mhz"] == 1980 and sample["idle"] is True
    assert sample["throttle_reasons"] == ["sw_power_cap", "hw_thermal_slowdown"]


def test_an_idle_gpu_is_not_throttled_and_a_new_reason_is_not_dropped():
    assert reason_names(0x1) == [] and reason_names(0x1000) == ["unknown_0x1000"]


def test_a_power_cap_is_noted_but_does_not_spoil_a_pass():
    assert "sw_power_cap" not in HARMFUL and "hw_thermal_slowdown" in HARMFUL


def test_a_value_that_is_not_told_is_none_not_zero():
    library = FakeNvml()
    library.power_told = False
    assert Nvml(library).sample("GPU-abc0")["power_w"] is None


def test_older_drivers_are_asked_for_throttle_reasons_by_the_older_name():
    class Older(FakeNvml):
        nvmlDeviceGetCurrentClocksEventReasons = property()  # AttributeError when read

        def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):
            return 0x8

    assert Nvml(Older()).sample("GPU-abc0")["throttle_reasons"] == ["hw_slowdown"]


def test_other_compute_processes_are_named_without_their_folder_and_ours_left_out():
    nvml = Nvml(FakeNvml(processes=[4242, os.getpid()]))
    assert nvml.look("GPU-abc0", settle_s=0)["processes"] == [{"pid": 4242, "name": "train4242"}]


def test_a_process_that_just_ended_is_given_time_to_vanish():
    library = FakeNvml(processes=[4242])

    class Ending(FakeNvml):
        def nvmlDeviceGetComputeRunningProcesses(self, handle):
            return [SimpleNamespace(pid=library.pids.pop())] if library.pids else []

    assert Nvml(Ending()).look("GPU-abc0")["processes"] == []


def test_without_nvml_there_is_a_reason():
    with pytest.raises(MachineError, match="Driver Not Loaded"):
        Nvml(FakeNvml(works=False))
    with device.taken("cpu", {}, {}) as taken:
        assert taken.watch(lambda: FINISHED) == (FINISHED, None) and taken.reason == "device is cpu"


def test_samples_are_summarised_and_idle_ones_do_not_count():
    library = FakeNvml(reasons=0x4)
    with Sampler(Nvml(library), "GPU-abc0", period_s=0.01) as sampler:
        time.sleep(0.1)
        library.reasons = 0x1
        time.sleep(0.05)
    summary = sampler.summary()
    least, median, most = summary["samples"]
    assert [s["statistic"] for s in summary["samples"]] == ["min", "median", "max"]
    assert least["sm_mhz"] == most["sm_mhz"] == 1980 and median["throttle_reasons"] == ["sw_power_cap"]
    assert 0 < summary["sampling"]["busy_count"] < summary["sampling"]["count"]


def test_a_pass_on_a_gpu_holds_its_lock_and_is_sampled_around(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("kernel_ledger.exclusive.default_folder", lambda: tmp_path)
    library = FakeNvml(reasons=0x40, processes=[4242])
    environ = {"CUDA_VISIBLE_DEVICES": "1"}
    with device.taken("cuda", environ, {"command": "timing", "run": "r"}, library) as taken:
        script = "import fcntl,sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        lock = tmp_path / "GPU-abc1.lock"
        assert subprocess.run(["python3", "-c", script, lock], capture_output=True).returncode == 1
        _, nvml = taken.watch(lambda: FINISHED)
    assert taken.identity["uuid"] == "GPU-abc1" and len(taken.descriptors) == 1
    assert nvml["before"]["processes"] and nvml["after"]["throttle_reasons"] == ["hw_thermal_slowdown"]
    assert len(nvml["samples"]) == 3
    said = capsys.readouterr().err
    assert "pid 4242" in said and "throttled" in said


def test_without_nvml_the_gpu_is_locked_by_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr("kernel_ledger.exclusive.default_folder", lambda: tmp_path)
    library = FakeNvml(works=False)
    with device.taken("cuda", {"CUDA_VISIBLE_DEVICES": "3"}, {}, library) as taken:
        assert taken.identity is None and "Driver Not Loaded" in taken.reason
    assert (tmp_path / "cuda-3.lock").exists()


def watched(library, work=lambda: None):
    """What a pass records around a child that does ``work``."""

    def run():
        work()
        return FINISHED

    taken = device.Device({"uuid": "GPU-abc0"}, None, (), Nvml(library))
    return taken.watch(run)[1]


def test_a_process_that_came_and_went_during_the_pass_is_noted():
    library = FakeNvml()
    with subprocess.Popen(["sleep", "60"]) as child:

        def work():
            library.pids = [child.pid]
            time.sleep(0.5)
            library.pids = [child.pid, 1]
            time.sleep(0.5)
            library.pids = []

        nvml = watched(library, work)
        child.kill()
    assert nvml["before"]["processes"] == nvml["after"]["processes"] == []
    company = nvml["company"]
    assert company["own_seen"] and company["most_at_once"] == 2 and company["untold"] == 0
    assert company["others"] == [{"pid": 1, "name": "train1"}]


def test_a_gpu_that_falls_off_the_bus_during_a_pass_loses_the_samples_not_the_pass():
    class Lost(FakeNvml):
        lost = False

        def nvmlDeviceGetHandleByUUID(self, uuid):
            if self.lost:
                raise NVMLError("GPU is lost")
            return super().nvmlDeviceGetHandleByUUID(uuid)

    library = Lost()

    def work():
        library.lost = True
        time.sleep(0.5)

    nvml = watched(library, work)
    assert nvml["before"]["sm_mhz"] == 1980 and nvml["after"]["failure"] == "GPU is lost"
    assert nvml["sampling"]["failure"] == "GPU is lost"


def test_a_list_of_processes_that_is_not_told_is_noted_as_such():
    class Silent(FakeNvml):
        def nvmlDeviceGetComputeRunningProcesses(self, handle):
            raise NVMLError("Insufficient Permissions")

    nvml = watched(Silent(), lambda: time.sleep(0.1))
    assert nvml["before"]["processes"] is None
    assert nvml["company"]["untold"] == nvml["company"]["looks"] > 0


def test_a_client_of_mps_is_company_too():
    class Shared(FakeNvml):
        def nvmlDeviceGetMPSComputeRunningProcesses(self, handle):
            return [SimpleNamespace(pid=4243)]

    look = Nvml(Shared(processes=[4242])).look("GPU-abc0", settle_s=0)
    assert [p["pid"] for p in look["processes"]] == [4242, 4243]


def test_memory_in_use_is_told_without_what_the_driver_keeps():
    class Newer(FakeNvml):
        nvmlMemory_v2 = 2

        def nvmlDeviceGetMemoryInfo(self, handle, version=None):
            return SimpleNamespace(total=150 << 30, used=4 << 20 if version == 2 else 600 << 20)

    assert Nvml(Newer()).look("GPU-abc0")["memory_used_mib"] == 4.0
    assert Nvml(FakeNvml()).look("GPU-abc0")["memory_used_mib"] is None


def test_nvml_that_fails_when_it_is_asked_is_a_reason(tmp_path, monkeypatch):
    class Broken(FakeNvml):
        def nvmlDeviceGetCount(self):
            raise NVMLError("Unknown Error")

    monkeypatch.setattr("kernel_ledger.exclusive.default_folder", lambda: tmp_path)
    with device.taken("cuda", {"CUDA_VISIBLE_DEVICES": "9"}, {}, Broken()) as taken:
        assert taken.nvml is None and "Unknown Error" in taken.reason
