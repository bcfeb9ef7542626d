"""Which GPU and driver there are, asked of the driver itself through ctypes.

    python3 machine.py      {"name": "NVIDIA H200", "driver": "580.65.06", "count": 1, …}

Runs as a program of its own, so that it sees the libraries of its environment, and a driver that
fails ends this program alone. It creates no context, so it takes no memory of the GPU.
"""
import ctypes
import json
import subprocess
import sys

from outcome import Missing, last_line

LIMIT_S = 60


def find(python, environment):
    """The first GPU; Missing: there is none, and why."""
    done = subprocess.run([python, __file__], env=environment, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise Missing(f"no GPU: {last_line(done.stderr)}. This check needs an NVIDIA GPU with its driver; "
                      "--stand-in tries the check itself without one")
    return json.loads(done.stdout)


def _text(function, *words):
    buffer = ctypes.create_string_buffer(256)
    return buffer.value.decode() if function(buffer, 256, *words) == 0 else None


def _driver_version(cuda):
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2() == 0:
            text = ctypes.create_string_buffer(96)
            if nvml.nvmlSystemGetDriverVersion(text, 96) == 0 and text.value:
                return text.value.decode()
    except (OSError, AttributeError):
        pass
    version = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    return f"for CUDA {version.value // 1000}.{version.value % 1000 // 10}"


def main():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        sys.exit("the driver's library libcuda.so.1 is not installed")
    if (code := cuda.cuInit(0)) != 0:
        sys.exit(f"cuInit returned {code}: the driver finds no usable device")
    count, device, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    if count.value == 0:
        sys.exit("the driver knows no device")
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    name = _text(cuda.cuDeviceGetName, device) or "a GPU without a name"
    print(json.dumps({"name": name, "driver": _driver_version(cuda), "count": count.value,
                      "total_bytes": total.value}))


if __name__ == "__main__":
    main()
