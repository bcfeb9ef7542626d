#include "wss/pte/span_chance.h"

#include <linux/kernel-page-flags.h>

#include <optional>

namespace tidegauge::wss {
namespace {

// Bits of an entry of kpageflags. LRU: only pages on a list can be made cold.
constexpr uint64_t kOnList = 1 << KPF_LRU,
                   kPartOfMore = 1 << KPF_COMPOUND_HEAD | 1 << KPF_COMPOUND_TAIL,
                   kNoPage = 1 << KPF_NOPAGE;

// Flags of a resident page; absent if unknown. An entry with a hidden frame has no flags.
std::optional<uint64_t> flagsOf(uint64_t entry, const WordFile& flags) {
  uint64_t of_frame = 0;
  if ((entry & kEntryPresent) == 0 ||
      flags.read({&of_frame, 1}, (entry & kEntryPlace) / kPage) != 1 || (of_frame & kNoPage) != 0)
    return std::nullopt;
  return of_frame;
}

}  // namespace

Chance chanceOf(const WideSpan& span, const Stretch& stretch, const WordFile& flags) {
  bool is_sure = true;
  for (uint64_t page = span.range.begin; page < span.range.end; page += kPage) {
    uint64_t entry = stretch.at(page);
    if (!isThere(entry)) continue;
    std::optional<uint64_t> of_page = flagsOf(entry, flags);
    if (!of_page || (*of_page & kPartOfMore) != 0) return Chance::kNone;
    if (page == span.first || page == span.last)
      is_sure = is_sure && isOwn(entry) && (*of_page & kOnList) != 0;
  }
  return is_sure ? Chance::kSure : Chance::kMaybe;
}

}  // namespace tidegauge::wss
