#include "wss/pages/large_folios.h"

#include "wss/process/kernel_file.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kKiB = 1024, kLeastKiB = 8, kWholeTableKiB = 2048;

bool isSet(const base::Result<std::string>& choice, std::string_view word) {
  return choice.ok() && choice.value().find("[" + std::string(word) + "]") != std::string::npos;
}

}  // namespace

uint64_t largestFolioBytes(const std::string& folder) {
  auto of_all = readKernelFile(folder + "/enabled");
  for (uint64_t kib = kWholeTableKiB / 2; kib >= kLeastKiB; kib /= 2) {
    auto choice = readKernelFile(folder + "/hugepages-" + std::to_string(kib) + "kB/enabled");
    bool is_made = isSet(choice, "always") || isSet(choice, "madvise") ||
                   (isSet(choice, "inherit") && !isSet(of_all, "never"));
    if (is_made) return kib * kKiB;
  }
  return 0;
}

}  // namespace tidegauge::wss
