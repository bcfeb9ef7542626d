#!/usr/bin/env python3
"""Builds what real PyTorch (a wheel of its CUDA build) needs to run on the stand-in GPU.

    build_torch.py TORCH_LIB_DIR CUDA_INCLUDE_DIR OUT_DIR
    LD_LIBRARY_PATH=OUT_DIR venv/bin/python train.py

Reads what torch's libraries import, with the version tags, and makes one library per name: libcuda and
libcudart from the sources here, all other functions return 0. Numbers that PyTorch computes are
meaningless; its allocator, its requests, its snapshots and its probes are its own. The include folder
holds cuda_runtime_api.h and crt/ of the wheels nvidia-cuda-runtime and nvidia-cuda-crt. README.md"""
import pathlib
import re
import sys

import build

HERE = pathlib.Path(__file__).resolve().parent
NVIDIA = re.compile(r"lib(cuda|cudart|cublas|cublasLt|cudnn|cufft|curand|cusparse|cusparseLt|cusolver"
                    r"|cufile|cupti|nccl|nvrtc|nvshmem_host|nvToolsExt|nvJitLink)\.so")
# Which library a name without a version tag belongs to: the first prefix that fits.
OWNERS = [("cusparseLt", "libcusparseLt.so"), ("nccl", "libnccl.so"), ("cuFile", "libcufile.so"),
          ("cupti", "libcupti.so"), ("cudnn", "libcudnn.so"), ("curand", "libcurand.so"),
          ("nvtx", "libnvToolsExt.so"), ("nvrtc", "libnvrtc.so"), ("cufft", "libcufft.so"),
          ("cusolver", "libcusolver.so"), ("cusparse", "libcusparse.so"),
          ("cublasLt", "libcublasLt.so"), ("cublas", "libcublas.so"), ("cuda", "libcudart.so"),
          ("cu", "libcuda.so")]


def imports(torch_libraries):
    """{library: {symbol: version tag or None}} of all NVIDIA libraries that torch needs."""
    wanted, untagged = {"libcuda.so.1": {}, "libnvidia-ml.so.1": {}}, set()
    # NVML is opened by name, so its functions stand in the library as texts.
    texts = build.run("strings", torch_libraries / "libc10_cuda.so")
    wanted["libnvidia-ml.so.1"] = dict.fromkeys(re.findall(r"\bnvml[A-Z]\w+", texts))
    for library in sorted(torch_libraries.glob("*.so*")):
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", build.run("readelf", "-dW", library)):
            if NVIDIA.match(name):
                wanted.setdefault(name, {})
        owner, file = {}, None
        for line in build.run("readelf", "-VW", library).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found[1]
            elif (found := re.search(r"Name: (\S+)\s+Flags", line)) and NVIDIA.match(file or ""):
                owner[found[1]] = file
        for line in build.run("nm", "-D", "--undefined-only", library).splitlines():
            symbol, _, tag = line.split()[-1].partition("@")
            if tag in owner:
                wanted[owner[tag]][symbol] = tag
            elif not tag and re.match(r"_{0,2}(cu[a-zA-Z]|nccl|nvrtc|nvtx)", symbol):
                untagged.add(symbol)
    for symbol in untagged:
        stem = next(s for prefix, s in [*OWNERS, ("", "")] if symbol.lstrip("_").startswith(prefix))
        for name in wanted:
            if stem and name.startswith(stem + "."):
                wanted[name][symbol] = None
    return wanted


def version_script(name, symbols):
    tags = sorted({tag for tag in symbols.values() if tag})
    if name.startswith("libcudart"):  # all that is written by hand, too
        return f"{tags[0]} {{ global: cuda*; __cuda*; fake_gpu*; local: *; }};"
    if tags:
        return "".join("%s { global: %s local: *; };\n" % (
            tag, " ".join(s + ";" for s in sorted(symbols) if symbols[s] in (tag, None)))
            for tag in tags)
    return "{ global: %s local: *; };" % (" ".join(s + ";" for s in sorted(symbols)) or "none;")


def make(name, symbols, out, standin, include):
    stubs = out / f"{name}.c"
    stubs.write_text("".join(f"__attribute__((weak)) long {symbol}(void) {{ return 0; }}\n"
                             for symbol in sorted(symbols)))
    compiled = ["-O1", "-fPIC", "-fno-omit-frame-pointer", "-fcf-protection=none", "-c"]
    build.run("gcc", *compiled, stubs, "-o", stubs.with_suffix(".o"))
    words = ["-shared", "-fPIC", "-O1", "-o", out / name, f"-Wl,-soname,{name}", "-Wl,--build-id",
             "-Wl,-rpath,$ORIGIN", stubs.with_suffix(".o")]
    if name.startswith("libcuda.so"):
        objects = [standin / f"{source}.o" for source in build.DRIVER]
        build.run("g++", *words, *objects, standin / "stubs_real.o", *build.NO_CPP_NEEDED)
        return
    script = out / f"{name}.map"
    script.write_text(version_script(name, symbols))
    words.append(f"-Wl,--version-script={script}")
    if name.startswith("libcudart"):
        built = out / "torch_runtime.o"
        build.run("gcc", *compiled, "-g", "-w", "-I", include, HERE / "torch_runtime.c", "-o", built)
        build.run("g++", *words, standin / "runtime.o", built, "-ldl", *build.NO_CPP_NEEDED)
    else:
        build.run("gcc", *words, HERE / "torch_libraries.c")


def build_torch(torch_libraries, include, out):
    out = pathlib.Path(out).resolve()
    standin = build.build(out / "standin")
    stamp = out / "built"
    if stamp.exists() and stamp.stat().st_mtime >= (standin / "built").stat().st_mtime:
        return out
    for name, symbols in sorted(imports(pathlib.Path(torch_libraries)).items()):
        make(name, symbols, out, standin, include)
    stamp.touch()
    return out


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(build_torch(*sys.argv[1:]))
