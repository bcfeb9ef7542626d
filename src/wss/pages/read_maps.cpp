#include "wss/pages/read_maps.h"

#include "wss/process/hugetlb_devices.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kEndOfPrograms = uint64_t{1} << 56;  // above lies the kernel

}  // namespace

base::Result<std::vector<MappingUse>> readMaps(const Process& process, size_t about) {
  MappingsParser parser([&] { return hugetlbDevices(process); }, about);
  TG_RETURN_IF_ERROR(process.readMaps([&](std::string_view lines) { parser.add(lines); }));
  std::vector<MappingUse> uses = parser.take();
  while (!uses.empty() && uses.back().mapping.end > kEndOfPrograms) uses.pop_back();
  return uses;
}

}  // namespace tidegauge::wss
