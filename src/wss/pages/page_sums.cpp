#include "wss/pages/page_sums.h"

// Compiled for processors with AVX2 too, which take half the time; which one runs is chosen when
// the program starts.
#if defined(__x86_64__) && !defined(TIDEGAUGE_SANITIZED)
#define TG_ALSO_FOR_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define TG_ALSO_FOR_AVX2
#endif

namespace tidegauge::wss {
namespace {

// Entries that are not there but not empty: five bits on top say of which swap file, the last of
// them that it is something else (pages that move, broken memory, marks).
constexpr uint64_t kSwapFiles = 23;

// Most tables are full: then only two bits of each entry count. False: it is not, and nothing was
// added.
TG_ALSO_FOR_AVX2 bool addFull(MappingSums& sums, std::span<const __u64> entries) {
  uint64_t unlike_full = 0, touched = 0, written = 0;
  for (uint64_t entry : entries) {
    unlike_full |= entry ^ kEntryPresent;
    touched += entry & kEntryAccessed;
    written += entry & kEntryDirty;
  }
  if ((unlike_full & (kEntryPresent | kEntrySpecial)) != 0) return false;
  sums.rss += entries.size() * kPage;
  sums.referenced += touched / kEntryAccessed * kPage;
  sums.dirty += written / kEntryDirty * kPage;
  return true;
}

TG_ALSO_FOR_AVX2 void addEach(MappingSums& sums, std::span<const __u64> entries) {
  uint64_t there = 0, touched = 0, written = 0, swapped = 0;
  for (uint64_t entry : entries) {
    bool is_there = isThere(entry);
    there += is_there;
    touched += isTouched(entry);
    written += is_there && (entry & kEntryDirty) != 0;
    swapped += (entry & (kEntryPresent | kEntryHidden)) == 0 && entry != 0 &&
               entry >> PAGE_ENTRY_SWAP_FILE < kSwapFiles;
  }
  sums.rss += there * kPage;
  sums.referenced += touched * kPage;
  sums.dirty += written * kPage;
  sums.swap += swapped * kPage;
}

}  // namespace

void addEntries(MappingSums& sums, Entries entries, size_t first, size_t last) {
  std::span<const __u64> mine = entries.subspan(first, last - first);
  if (!addFull(sums, mine)) addEach(sums, mine);
}

void addLarge(MappingSums& sums, uint64_t entry, uint64_t bytes, MappingKind kind) {
  if (!isThere(entry)) return;
  if (kind == MappingKind::kHugetlb) {
    sums.hugetlb += bytes;
    return;
  }
  sums.rss += bytes;
  sums.huge += bytes;
  if ((entry & kEntryAccessed) != 0) sums.referenced += bytes;
  if ((entry & kEntryDirty) != 0) sums.dirty += bytes;
}

PageBits bitsOf(uint64_t table, page_table_kind kind, Entries entries) {
  PageBits bits{.table = table};
  if (kind != PAGE_TABLE_OF_PAGES) {
    if (isThere(entries[0])) bits.there.fill(~uint64_t{0});
    if (isTouched(entries[0])) bits.touched = bits.there;
    return bits;
  }
  for (size_t i = 0; i < PageBits::kPages; ++i) {
    uint64_t entry = entries[i], bit = uint64_t{1} << i % 64;
    if (!isThere(entry)) continue;
    bits.there[i / 64] |= bit;
    if ((entry & kEntryAccessed) != 0) bits.touched[i / 64] |= bit;
  }
  return bits;
}

// For a hidden page, x86 Linux writes the number inverted (L1TF).
static uint64_t frameNumberOf(uint64_t entry) {
  uint64_t place = (entry & kEntryPresent) != 0 ? entry : ~entry;
  return (place & kEntryPlace) / kPage;
}

void addFrames(std::vector<Frame>& frames, page_table_kind kind, Entries entries, size_t first,
               size_t last) {
  if (kind == PAGE_TABLE_OF_PAGES) {
    for (uint64_t entry : entries.subspan(first, last - first))
      if (isThere(entry))
        frames.push_back(frameOf(frameNumberOf(entry), (entry & kEntryAccessed) != 0));
    return;
  }
  if (!isThere(entries[0])) return;
  uint64_t begin = frameNumberOf(entries[0]) / PAGE_TABLE_ENTRIES * PAGE_TABLE_ENTRIES;
  for (size_t i = first; i < last; ++i)
    frames.push_back(frameOf(begin + i, (entries[0] & kEntryAccessed) != 0));
}

}  // namespace tidegauge::wss
