"""The environment in which the check runs on the stand-in GPU of the tests, with real PyTorch.

    python, environment = environment(None)

Needs the wheel and CUDA's headers, which tests/standin/get_torch.sh fetches, and g++. The figures
that come out show that the check works; they say nothing about any hardware.
"""
import os
import pathlib
import re
import subprocess
import sys

from outcome import Missing

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTEXT_BYTES = 300 << 20
FOLDERS = ("dev", "dev-live")


def environment(python):
    """(a Python with torch, the variables with which it finds the stand-in)."""
    python, headers, out = _torch(python)
    sys.path.insert(0, str(ROOT / "tests" / "standin"))
    import build_torch  # pylint: disable=import-outside-toplevel,import-error
    where = subprocess.run(
        [python, "-c", "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"],
        capture_output=True, text=True, check=True).stdout.strip()
    libraries = build_torch.build_torch(pathlib.Path(where, "lib"), headers, out / "lib")
    nvml = _nvml(out / "nvml", pathlib.Path(where, "lib", "libc10_cuda.so"), build_torch.build)
    idle = nvml / "idle.txt"  # PyTorch opens NVML for expandable segments
    idle.write_text(f"device Stand-in {80 << 30} 0\n")
    return python, {**os.environ, "STANDIN_NVML": str(idle), "LD_LIBRARY_PATH": f"{nvml}:{libraries}",
                    "FAKE_GPU_CONTEXT_BYTES": str(CONTEXT_BYTES), "FAKE_GPU_EVENT_LAG": "0",
                    "TIDEGAUGE_STAND_IN_NVML": "1"}


def _nvml(folder, torch_library, build):
    """NVML of the stand-in, and every other function of NVML that PyTorch looks for: these return 0."""
    library, others = folder / "libnvidia-ml.so.1", folder / "others.c"
    source = ROOT / "tests/standin/nvml.cpp"
    if library.exists() and library.stat().st_mtime >= source.stat().st_mtime:
        return folder
    folder.mkdir(exist_ok=True)
    names = sorted(set(re.findall(r"\bnvml[A-Z]\w+", build.run("strings", torch_library))))
    others.write_text("".join(f"__attribute__((weak)) int {name}(void) {{ return 0; }}\n" for name in names))
    build.run("gcc", "-O1", "-fPIC", "-c", others, "-o", folder / "others.o")
    build.run("g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden",
              "-Wl,-soname,libnvidia-ml.so.1", "-o", library, source, folder / "others.o", *build.NO_CPP_NEEDED)
    return folder


def _torch(python):
    """(Python, CUDA's headers, the folder for what is built)."""
    python = python or os.environ.get("TIDEGAUGE_TORCH_PYTHON")
    headers = os.environ.get("TIDEGAUGE_CUDA_INCLUDE")
    live = os.environ.get("TIDEGAUGE_LIVE")
    folders = [pathlib.Path(live)] if live else [ROOT / "build" / name / "live" for name in FOLDERS]
    for folder in folders:
        found = [pathlib.Path(python or folder / "torch/venv/bin/python"),
                 pathlib.Path(headers or folder / "torch/include")]
        if found[0].exists() and (found[1] / "cuda_runtime_api.h").exists():
            return str(found[0]), found[1], folder / "torch"
    raise Missing(f"no PyTorch for the stand-in GPU: run tests/standin/get_torch.sh "
                  f"{os.path.relpath(folders[0] / 'torch')} (1.4 GB), or set TIDEGAUGE_TORCH_PYTHON and "
                  "TIDEGAUGE_CUDA_INCLUDE")
