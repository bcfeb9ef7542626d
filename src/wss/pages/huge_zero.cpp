#include "wss/pages/huge_zero.h"

#include <fcntl.h>
#include <linux/kernel-page-flags.h>

#include "wss/pages/page_sums.h"
#include "wss/pages/pagemap.h"

namespace tidegauge::wss {

constexpr uint64_t kZeroPage = 1 << KPF_ZERO_PAGE;

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

}  // namespace tidegauge::wss
