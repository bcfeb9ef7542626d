// The cost of the simulator: bytes per live block.
#include "replay/allocator/allocator.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "replay/allocator/model_driver.h"

namespace tidegauge::replay {
namespace {

class Silent final : public Listener {
 public:
  void wrote(const Entry&) override {}
};

#ifdef TIDEGAUGE_SANITIZED
constexpr bool kCountsBytes = false;
#else
constexpr bool kCountsBytes = true;
#endif

TEST(AllocatorCost, ALiveBlockTakesAtMost200Bytes) {
  if (!kCountsBytes) GTEST_SKIP() << "a sanitizer's malloc counts nothing: build/dev runs it";
  constexpr size_t kLive = 1'000'000;
  ModelDriver driver(uint64_t{1} << 44);
  Silent silent;
  size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  Allocator allocator(Settings{}, uint64_t{1} << 44, driver, silent);
  for (size_t i = 0; i < kLive; ++i) ASSERT_TRUE(allocator.malloc(64 << 10, 0, 0).has_value());
  size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  EXPECT_LE(after - before, 200 * kLive + (1 << 20));
  EXPECT_GE(after - before, sizeof(Block) * kLive);  // it counts
}

}  // namespace
}  // namespace tidegauge::replay
