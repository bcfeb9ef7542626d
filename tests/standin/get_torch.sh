#!/bin/bash
# get_torch.sh FOLDER: PyTorch's CUDA build without any of NVIDIA's libraries, and CUDA's headers, for
# the live test of PyTorch: FOLDER/venv, FOLDER/include. 1.4 GB on disk.
set -euo pipefail
folder=${1:?get_torch.sh FOLDER}
mkdir -p "$folder"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-deps torch==2.15.0
"$folder/venv/bin/pip" install -q filelock==4.2.11 typing-extensions==4.16.0 sympy==1.14.0 networkx==3.6.1 \
  jinja2==3.1.6 fsspec==2026.9.0 numpy==2.4.6 setuptools==65.5.0
"$folder/venv/bin/pip" download -q --no-deps -d "$folder/wheels" \
  nvidia-cuda-runtime==13.5.37 nvidia-cuda-crt==13.5.37
for wheel in "$folder"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$folder/wheels/unpacked"
done
ln -sfn "$(dirname "$(realpath "$(find "$folder/wheels/unpacked" -name cuda_runtime_api.h | head -1)")")" \
  "$folder/include"
