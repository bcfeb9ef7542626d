"""What NVML, the driver's library of nvidia-smi, says is used of a GPU and by this process.

    gpu = Gpu(uuid="GPU-5b3f…"); gpu.used()      (bytes of the device, bytes of this process)

Called through ctypes, so nothing need be installed. A figure that NVML does not have is None: in a
container it may know other process ids, and some settings of a card have no figures by process.
"""
import ctypes
import os

UNKNOWN = (1 << 64) - 1  # NVML_VALUE_NOT_AVAILABLE
MAX_PROCESSES = 256


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong),
                ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Gpu:
    def __init__(self, uuid):
        """`uuid`: of the device; with a single device it may be unknown (None)."""
        self.library = self.handle = None
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            started = self.library.nvmlInit_v2() == 0
        except (OSError, AttributeError):
            return
        count = ctypes.c_uint()
        if not started or self.library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return
        for index in range(count.value):
            handle = ctypes.c_void_p()
            if self.library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != 0:
                continue
            text = ctypes.create_string_buffer(96)
            known = self.library.nvmlDeviceGetUUID(handle, text, 96) == 0
            if (known and text.value.decode() == uuid) or count.value == 1:
                self.handle = handle

    def used(self):
        if self.handle is None:
            return None, None
        memory = _Memory()
        known = self.library.nvmlDeviceGetMemoryInfo(self.handle, ctypes.byref(memory)) == 0
        return (memory.used if known else None), self._of_this_process()

    def _of_this_process(self):
        count = ctypes.c_uint(MAX_PROCESSES)
        processes = (_Process * MAX_PROCESSES)()
        try:
            code = self.library.nvmlDeviceGetComputeRunningProcesses_v3(
                self.handle, ctypes.byref(count), processes)
        except AttributeError:  # a driver before 510
            return None
        own = [process.bytes for process in processes[:count.value] if process.pid == os.getpid()]
        return own[0] if code == 0 and own and own[0] != UNKNOWN else None
