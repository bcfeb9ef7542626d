// What the kernel's flags of pages show about a part that will be made cold.
#include "wss/pte/span_chance.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <initializer_list>
#include <vector>

namespace tidegauge::wss {
namespace {

constexpr uint64_t kAt = 5 * kTable, kOnList = 1 << 5, kHead = 1 << 15, kTail = 1 << 16;
constexpr size_t kFrames = 1024;

class ChanceOfASpan : public testing::Test {
 protected:
  ChanceOfASpan() : flags_(memfd_create("kpageflags", MFD_CLOEXEC)) {
    for (size_t i = 0; i < PAGE_TABLE_ENTRIES; ++i) map(i, kOnList);
  }
  // Page i is in frame 2 i.
  void map(size_t i, uint64_t flags,
           uint64_t bits = kEntryPresent | kEntryWritable | kEntryAccessed) {
    entries_[i] = bits | 2 * i * kPage;
    of_frames_[2 * i] = flags;
  }
  Chance chance() {
    EXPECT_EQ(pwrite(flags_.get(), of_frames_.data(), sizeof(of_frames_), 0),
              static_cast<ssize_t>(sizeof(of_frames_)));
    return chanceOf(span_, {kAt, entries_}, flags_);
  }
  std::array<__u64, PAGE_TABLE_ENTRIES> entries_{};
  std::array<uint64_t, kFrames> of_frames_{};
  WordFile flags_;
  WideSpan span_{{kAt + 64 * kPage, kAt + 192 * kPage}, kAt + 70 * kPage, kAt + 150 * kPage};
};

TEST_F(ChanceOfASpan, IsSureOfItsOwnPagesOnAList) { EXPECT_EQ(chance(), Chance::kSure); }

TEST_F(ChanceOfASpan, OnlyTheTwoThatCountMustBeOnAList) {
  map(71, 0);
  EXPECT_EQ(chance(), Chance::kSure);
  map(70, 0);
  EXPECT_EQ(chance(), Chance::kMaybe);
}

TEST_F(ChanceOfASpan, WhatMayBeMappedByOthersIsNotSure) {
  map(150, kOnList, kEntryPresent | kEntryAccessed);
  EXPECT_EQ(chance(), Chance::kMaybe);
}

TEST_F(ChanceOfASpan, NoneWithAPartOfALargerPage) {
  for (uint64_t flag : {kHead, kTail}) {
    map(64, kOnList | flag);
    EXPECT_EQ(chance(), Chance::kNone);
    map(64, kOnList);
    map(191, kOnList | flag);
    EXPECT_EQ(chance(), Chance::kNone);
    map(191, kOnList);
    map(63, kOnList | flag);  // outside
    map(192, kOnList | flag);
    EXPECT_EQ(chance(), Chance::kSure);
    entries_[100] = 0;  // no page, whatever is in frame 0
    of_frames_[0] = flag;
    EXPECT_EQ(chance(), Chance::kSure);
  }
}

TEST_F(ChanceOfASpan, NoneIfItIsHidden) {
  map(100, kOnList, kEntryHidden);
  EXPECT_EQ(chance(), Chance::kNone);
  map(100, kOnList);
  entries_[100] = kEntryPresent | kFrames * kPage;  // behind the end
  EXPECT_EQ(chance(), Chance::kNone);
  WordFile none(-1);
  EXPECT_EQ(chanceOf(span_, {kAt, entries_}, none), Chance::kNone);
}

}  // namespace
}  // namespace tidegauge::wss
