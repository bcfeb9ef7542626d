// Where this process has pages, according to the kernel.
#include "wss/pages/pagemap.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "wss/pages/page_bits.h"

namespace tidegauge::wss {
namespace {

// Every 16th page of 64 MiB is resident, and a hole of 1 TiB beside it has none: checked with the
// kernel, page by page.
TEST(Pagemap, TellsWhereAnythingIs) {
  constexpr size_t kBytes = size_t{64} << 20, kTera = size_t{1} << 40;
  auto mapped = [](size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return static_cast<volatile char*>(memory);
  };
  volatile char* memory = mapped(kBytes);
  volatile char* reserved = mapped(kTera);
  for (size_t at = 0; at < kBytes; at += 16 * kPage) memory[at] = 1;
  (void)memory[kPage];  // the page of zeros is nobody's memory
  WordFile pagemap(open("/proc/self/pagemap", O_RDONLY));
  auto rangesOf = [&](volatile char* begin, size_t bytes) {
    std::vector<AddressRange> ranges;
    Mapping mapping;
    mapping.start = reinterpret_cast<uint64_t>(begin);
    mapping.end = mapping.start + bytes;
    EXPECT_EQ(
        eachRangeThere(pagemap, mapping, true, [&](AddressRange it) { ranges.push_back(it); }), 0);
    return ranges;
  };
  auto ranges = rangesOf(memory, kBytes);
  EXPECT_TRUE(rangesOf(reserved, kTera).empty());
  munmap(const_cast<char*>(memory), kBytes);
  munmap(const_cast<char*>(reserved), kTera);
  ASSERT_EQ(ranges.size(), kBytes / (16 * kPage));
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(ranges[i].begin, reinterpret_cast<uint64_t>(memory) + i * 16 * kPage);
    EXPECT_EQ(ranges[i].end, ranges[i].begin + kPage);
  }
}

}  // namespace
}  // namespace tidegauge::wss
