#include "wss/read_maps.h"

#include "wss/hugetlb_devices.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kEndOfPrograms = uint64_t{1} << 56;  // above lies the kernel

}  // namespace

base::Result<std::vector<MappingUse>> readMaps(const Process& process) {
  TG_ASSIGN_OR_RETURN(std::string text, process.mapsText());
  std::vector<MappingUse> uses = parseSmaps(text, [&] { return hugetlbDevices(process); });
  while (!uses.empty() && uses.back().mapping.end > kEndOfPrograms) uses.pop_back();
  return uses;
}

}  // namespace tidegauge::wss
