// list_kernels FILE…: what the recorder's reader of fat binaries finds in programs and libraries,
// for every architecture, as one line of JSON per file. For tests/live/cubin/cubins_test.py.
#include <fmt/format.h>

#include "record/cubin/kernel_layouts.h"

int main(int count, char** words) {
  using namespace tidegauge::record;
  for (int i = 1; i < count; ++i) {
    CodeCounts counts;
    LayoutsByName layouts = layoutsIn(words[i], Cubins::kAll, &counts);
    size_t contradicting = 0;
    for (const auto& [name, layout] : layouts) contradicting += !layout;
    fmt::print(
        "{{\"file\": \"{}\", \"containers\": {}, \"cubins\": {}, \"unpacked\": {}, "
        "\"damaged\": {}, \"kernels\": {}, \"damaged_kernels\": {}, \"names\": {}, "
        "\"contradicting\": {}}}\n",
        words[i], counts.code.containers, counts.code.cubins, counts.code.unpacked,
        counts.code.damaged, counts.kernels.kernels, counts.kernels.damaged, layouts.size(),
        contradicting);
  }
}
