// Pages that were taken ahead are there before they are written, and others are left alone.
#include "base/memory/pages_ahead.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tidegauge::base {
namespace {

constexpr size_t kRows = 4'000'000, kPage = 4096;

bool kernelCan() { return madvise(nullptr, 0, 23 /* MADV_POPULATE_WRITE */) == 0; }

// Of the whole pages in the column's capacity.
size_t residentPages(const std::vector<uint64_t>& column) {
  auto begin = (reinterpret_cast<uintptr_t>(column.data()) + kPage - 1) / kPage * kPage;
  uintptr_t end = reinterpret_cast<uintptr_t>(column.data() + column.capacity());
  std::vector<unsigned char> pages((end - begin) / kPage);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), pages.size() * kPage, pages.data()), 0);
  return static_cast<size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
}

TEST(PagesAhead, AreThereBeforeTheyAreWritten) {
  if (!kernelCan()) GTEST_SKIP() << "needs Linux 5.14 for MADV_POPULATE_WRITE";
  std::vector<uint64_t> column;
  column.reserve(kRows);  // so large that its memory is new
  auto begin = (reinterpret_cast<uintptr_t>(column.data()) + kPage - 1) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), kRows * 8 - kPage, MADV_NOHUGEPAGE);
  EXPECT_LE(residentPages(column), 1U);
  PagesAhead ahead;
  ahead.upTo(1000, column);
  EXPECT_NEAR(static_cast<double>(residentPages(column)), 2000.0 * 8 / kPage, 2);
  ahead.upTo(1500, column);  // they are taken already
  EXPECT_NEAR(static_cast<double>(residentPages(column)), 2000.0 * 8 / kPage, 2);
  ahead.upTo(1'000'000, column);
  EXPECT_NEAR(static_cast<double>(residentPages(column)), 1'016'384.0 * 8 / kPage, 2);
  column.resize(1'000'000, 7);
  EXPECT_EQ(column, std::vector<uint64_t>(1'000'000, 7));
}

TEST(PagesAhead, TouchNothingBeyondTheCapacity) {
  std::vector<uint16_t> column{1, 2, 3};
  column.shrink_to_fit();
  PagesAhead().upTo(1'000'000, column);
  EXPECT_EQ(column, (std::vector<uint16_t>{1, 2, 3}));
}

TEST(PagesAhead, KeepWhatIsThere) {
  std::vector<uint32_t> column;
  column.reserve(kRows);
  column.assign(1000, 7);
  PagesAhead ahead;
  ahead.upTo(10, column);
  ahead.upTo(2000, column);
  EXPECT_EQ(column, std::vector<uint32_t>(1000, 7));
}

}  // namespace
}  // namespace tidegauge::base
