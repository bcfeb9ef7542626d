#include "wss/pages/huge_pages.h"

#include <fcntl.h>
#include <linux/kernel-page-flags.h>

#include "wss/pages/page_sums.h"
#include "wss/pages/pagemap.h"
#include "wss/process/kernel_file.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kZeroPage = 1 << KPF_ZERO_PAGE;
constexpr uint64_t kKiB = 1024, kMinKiB = 8, kWholeTableKiB = 2048;

bool isSet(const base::Result<std::string>& choice, std::string_view word) {
  return choice.ok() && choice.value().find("[" + std::string(word) + "]") != std::string::npos;
}

}  // namespace

HugeZero::HugeZero(std::string flags_path) : flags_path_(std::move(flags_path)) {}
HugeZero::HugeZero(HugeZero&&) noexcept = default;
HugeZero& HugeZero::operator=(HugeZero&&) noexcept = default;
HugeZero::~HugeZero() = default;

bool HugeZero::isIt(uint64_t entry) {
  constexpr uint64_t kOthers = kEntryDirty | kEntrySpecial;
  if ((entry & kEntryPresent) == 0 || (entry & kOthers) != 0) return false;
  uint64_t frame = (entry & kEntryPlace) / kPage / PAGE_TABLE_ENTRIES * PAGE_TABLE_ENTRIES;
  if (frame_ || frame == 0) return frame == frame_;
  if (!flags_) flags_ = std::make_unique<WordFile>(open(flags_path_.c_str(), O_RDONLY | O_CLOEXEC));
  uint64_t flags = 0;
  if (flags_->read({&flags, 1}, frame) != 1 || (flags & kZeroPage) == 0) return false;
  frame_ = frame;
  return true;
}

uint64_t largestFolioBytes(const std::string& folder) {
  auto of_all = readKernelFile(folder + "/enabled");
  for (uint64_t kib = kWholeTableKiB / 2; kib >= kMinKiB; kib /= 2) {
    auto choice = readKernelFile(folder + "/hugepages-" + std::to_string(kib) + "kB/enabled");
    bool is_made = isSet(choice, "always") || isSet(choice, "madvise") ||
                   (isSet(choice, "inherit") && !isSet(of_all, "never"));
    if (is_made) return kib * kKiB;
  }
  return 0;
}

}  // namespace tidegauge::wss
