#!/bin/bash
# get_memory_viz.sh FOLDER: torch's own viewer of snapshots, for comparison: _memory_viz.py, MemoryViz.js, and d3.
#
# PyTorch's wheels lack MemoryViz.js: a page of trace_plot loads it from the web. Debian's source package of
# PyTorch 2.6.0 has both files (27 MB). d3 is of npm, in the version that MemoryViz.js asks for.
set -euo pipefail
folder=$(realpath -m "${1:?get_memory_viz.sh FOLDER}")
apt=$folder/apt
mkdir -p "$apt"/lists/partial "$apt"/cache/archives/partial "$folder"
site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -1)
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${site:?apt has no source of Debian here} trixie main" \
  > "$apt/sources.list"
# a list of sources of its own: the machine's packages stay as they are
of_its_own=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
apt-get -qq "${of_its_own[@]}" update
(cd "$apt" && apt-get -qq "${of_its_own[@]}" source --download-only --tar-only pytorch)
for file in torch/cuda/_memory_viz.py torch/utils/viz/MemoryViz.js; do
  tar -xJOf "$apt"/pytorch_*.orig.tar.xz --wildcards "*/$file" > "$folder/$(basename "$file")"
done
(cd "$apt" && ls pytorch_*.orig.tar.xz) | sed 's/pytorch_\([0-9.]*\).*/\1/' > "$folder/version"
rm -r "$apt"
echo '{ "private": true }' > "$folder/package.json"
npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --silent d3@5.16.0
