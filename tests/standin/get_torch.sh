#!/bin/bash
# get_torch.sh FOLDER: PyTorch's CUDA build without any of NVIDIA's libraries, and CUDA's headers, for
# the live test of PyTorch: FOLDER/venv, FOLDER/include. 1.4 GB on disk.
set -euo pipefail
folder=${1:?get_torch.sh FOLDER}
mkdir -p "$folder"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-deps torch
"$folder/venv/bin/pip" install -q filelock typing-extensions sympy networkx jinja2 fsspec numpy setuptools
"$folder/venv/bin/pip" download -q --no-deps -d "$folder/wheels" nvidia-cuda-runtime nvidia-cuda-crt
for wheel in "$folder"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$folder/wheels/unpacked"
done
ln -sfn "$(dirname "$(realpath "$(find "$folder/wheels/unpacked" -name cuda_runtime_api.h | head -1)")")" \
  "$folder/include"
