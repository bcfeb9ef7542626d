#include "wss/pages/repeats.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace tidegauge::wss {

uint64_t repeatedBytes(std::span<const MappingUse> uses) {
  constexpr uint64_t kSmall = uint64_t{64} << 10;
  // Pages of devices are none of memory, and a private mapping of /dev/zero has new ones.
  auto mayRepeat = [](const Mapping& mapping) {
    return mapping.file != 0 && mapping.end - mapping.start >= kSmall &&
           mapping.kind != MappingKind::kDevice && mapping.kind != MappingKind::kHugetlb &&
           (mapping.shared || mapping.path != "/dev/zero");
  };
  struct Part {
    uint64_t file, begin, end;  // in the file
  };
  std::vector<Part> parts;
  for (const auto& [mapping, sums] : uses)
    if (mayRepeat(mapping))
      parts.push_back(
          {mapping.file, mapping.start + mapping.to_file, mapping.end + mapping.to_file});
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::tie(a.file, a.begin) < std::tie(b.file, b.begin);
  });
  uint64_t repeated = 0, file = 0, end = 0;
  for (const Part& part : parts) {
    if (part.end < part.begin) continue;  // no file is that long
    if (part.file != file) file = part.file, end = 0;
    if (part.begin < end) repeated += std::min(part.end, end) - part.begin;
    end = std::max(end, part.end);
  }
  return repeated;
}

}  // namespace tidegauge::wss
