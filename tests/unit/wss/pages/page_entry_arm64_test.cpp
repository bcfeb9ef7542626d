// Entries of arm64 as Linux writes them, in the form that readers expect, and what those make of
// them. The bit patterns are put together as arch/arm64/include/asm/pgtable-prot.h does
// (PAGE_SHARED, PAGE_NONE …).
#include "bpf/page_entry_arm64.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "wss/pages/page_sums.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kPlace = 0x12345000;
constexpr uint64_t kWritable =
    0x00e8'0000'0000'0fc3;  // private, written to by software, now clean for the processor
constexpr uint64_t kWritten =
    0x0068'0000'0000'0f43;  // by the processor: RDONLY gone, no mark of software
constexpr uint64_t kReadOnly = 0x0060'0000'0000'0fc3;    // touched
constexpr uint64_t kOld = kReadOnly & ~uint64_t{0x400};  // no AF
constexpr uint64_t kContiguous = uint64_t{1} << 52;
constexpr __u32 k5_17 = 5 << 16 | 17 << 8, k6_1 = 6 << 16 | 1 << 8, k6_9 = 6 << 16 | 9 << 8,
                k6_12 = 6 << 16 | 12 << 8;

uint64_t of(uint64_t entry, __u32 linux_version = k6_12, __u32 levels = 4) {
  arm64_form form = arm64FormOf(linux_version, levels);
  return pageEntryOfArm64(entry, &form);
}

MappingSums sumsOnArm64(uint64_t entry, __u32 linux_version = k6_12) {
  std::array<__u64, PAGE_TABLE_ENTRIES> entries{};
  entries[7] = of(entry, linux_version);
  MappingSums sums;
  addEntries(sums, entries, 0, PAGE_TABLE_ENTRIES);
  return sums;
}

TEST(PageEntryOfArm64, TouchedAndWritten) {
  EXPECT_EQ(of(kPlace | kWritten), kPlace | 0x61);
  EXPECT_EQ(of(kPlace | kWritable), kPlace | 0x61);
  EXPECT_EQ(of(kPlace | kReadOnly), kPlace | 0x21);
  EXPECT_EQ(of(kPlace | kOld), kPlace | 0x01);
  uint64_t shared_and_clean = kReadOnly | ARM64_DBM;
  EXPECT_EQ(of(kPlace | shared_and_clean), kPlace | 0x21) << "it may be written, and was not";
  EXPECT_EQ(of(kPlace | kReadOnly | ARM64_SPECIAL), kPlace | 0x221);
  EXPECT_EQ(sumsOnArm64(kPlace | kReadOnly | ARM64_SPECIAL).rss, 0U) << "the shared page of zeros";
  EXPECT_EQ(of(0), 0U);
}

TEST(PageEntryOfArm64, TablesAndBlocks) {
  constexpr uint64_t kTableEntry = 0x0800'0000'8765'4003;  // PXNTable
  EXPECT_EQ(of(kTableEntry), 0x8765'4001U);
  EXPECT_EQ(of(kTableEntry) & PAGE_ENTRY_LEAF, 0U);
  constexpr uint64_t kBlock = 0x00e8'0000'4020'0f41;  // 2 MiB, touched and written
  EXPECT_EQ(of(kBlock), uint64_t{0x4020'0000} | 0x61 | PAGE_ENTRY_LEAF);
  MappingSums sums;
  addLarge(sums, of(kBlock), kTable, MappingKind::kAnonymous);
  EXPECT_EQ(sums.referenced, kTable);
  EXPECT_EQ(sums.dirty, kTable);
  constexpr uint64_t kGiantBlock = 0x0060'0000'4000'0bc1;
  EXPECT_EQ(of(kGiantBlock), uint64_t{0x4000'0000} | 0x01 | PAGE_ENTRY_LEAF)
      << "1 GiB, not touched";
}

// PROT_NONE, or hidden by NUMA balancing: there, with what was seen before. Readers expect the
// place inverted.
TEST(PageEntryOfArm64, HiddenPagesAreThere) {
  constexpr uint64_t kNone6_1 = kPlace | 0x0460'0000'0000'0f82;  // bit 58
  constexpr uint64_t kNone6_12 = kPlace | 0x0060'0000'0000'0f82;
  for (auto [entry, version] : {std::pair{kNone6_1, k6_1}, {kNone6_12, k6_12}}) {
    MappingSums sums = sumsOnArm64(entry, version);
    EXPECT_EQ(sums.rss, kPage);
    EXPECT_EQ(sums.referenced, kPage);
    EXPECT_EQ(sums.swap, 0U);
    std::array<__u64, PAGE_TABLE_ENTRIES> entries{of(entry, version)};
    std::vector<Frame> frames;
    addFrames(frames, PAGE_TABLE_OF_PAGES, Entries(entries), 0, 1);
    EXPECT_EQ(frames, std::vector<Frame>{frameOf(kPlace / kPage, true)});
  }
  constexpr uint64_t kSplitting =
      0x0860'0000'4020'0f80;  // a large page that Linux 6.1 takes apart: bit 59
  EXPECT_EQ(of(kSplitting, k6_1) & (PAGE_ENTRY_LEAF | PAGE_ENTRY_HIDDEN | PAGE_ENTRY_PRESENT),
            PAGE_ENTRY_LEAF | PAGE_ENTRY_HIDDEN);
}

TEST(PageEntryOfArm64, SwappedPagesByKernel) {
  constexpr uint64_t kSlot = 0x1abcd;
  for (uint64_t file : {0, 3, 22}) {
    EXPECT_EQ(sumsOnArm64(kSlot << 8 | file << 2, k5_17).swap, kPage) << file;
    EXPECT_EQ(sumsOnArm64(kSlot << 8 | file << 3 | 4, k6_1).swap, kPage) << file;
    EXPECT_EQ(sumsOnArm64(kSlot << 8 | file << 3 | 4, k6_9).swap, kPage) << file;
    EXPECT_EQ(sumsOnArm64(kSlot << 12 | file << 6 | 4 | 8, k6_12).swap, kPage) << file;
    EXPECT_EQ(sumsOnArm64(kSlot << 12 | file << 6 | 4, k6_12).rss, 0U);
    // Any place in the file, also one that sets what says "hidden" on the other kernels.
    EXPECT_EQ(sumsOnArm64((uint64_t{1} << 58) | file << 6, k6_12).rss, 0U);
    EXPECT_EQ(sumsOnArm64(ARM64_NG | file << 3, k6_1).rss, 0U);
  }
  for (uint64_t other : {23, 30, 31})  // on the move, a mark, broken memory
    EXPECT_EQ(sumsOnArm64(kSlot << 12 | other << 6, k6_12).swap, 0U) << other;
}

TEST(PageEntryOfArm64, PlacesOf52BitsWithFiveLevels) {
  constexpr uint64_t kHigh = 0x0003'4567'89ab'c000;  // bits 49 to 12
  EXPECT_EQ(of(kHigh | 0x300 | 0x403, k6_12, 5) & PAGE_ENTRY_PLACE, 0x000f'4567'89ab'c000U);
  EXPECT_EQ(of(kHigh | 0x300 | 0x403, k6_12, 4) & PAGE_ENTRY_PLACE, 0x0000'4567'89ab'c000U)
      << "bits 9 and 8 say how it is shared";
}

TEST(PageEntriesOfArm64, OneOfAContiguousGroupTellsOfAll) {
  std::array<__u64, ARM64_GROUP> group{};
  for (size_t i = 0; i < group.size(); ++i) group[i] = i * kPage | kContiguous | kOld | ARM64_DBM;
  group[11] = 11 * kPage | kContiguous | kWritten;
  arm64_form form = arm64FormOf(k6_12, 4);
  pageEntriesOfArm64(group.data(), &form);
  for (size_t i = 0; i < group.size(); ++i) EXPECT_EQ(group[i], i * kPage | 0x61) << i;
}

TEST(PageEntriesOfArm64, OthersTellOfThemselves) {
  std::array<__u64, ARM64_GROUP> group{};
  group.fill(kPlace | kOld);
  group[0] = kPlace | kWritten;
  group[1] = kPlace | kContiguous | kOld;  // of a group that is being taken apart
  group[2] = 0;
  arm64_form form = arm64FormOf(k6_12, 4);
  pageEntriesOfArm64(group.data(), &form);
  EXPECT_EQ(group[0], kPlace | 0x61);
  EXPECT_EQ(group[1], kPlace | 0x01);
  EXPECT_EQ(group[2], 0U);
  EXPECT_TRUE(std::all_of(group.begin() + 3, group.end(),
                          [](uint64_t one) { return one == (kPlace | 1); }));
}

}  // namespace
}  // namespace tidegauge::wss
