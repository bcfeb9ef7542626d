// With a pagemap written by the test: the entries of a kernel with soft-dirty bits.
#include "wss/backends/write_backend.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "unit/wss/fake_proc.h"
#include "wss/measure/measure.h"
#include "wss/pages/own_page.h"
#include "wss/pages/pagemap.h"
#include "wss/words/row_json.h"
#include "wss/words/row_text.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kFirstWritten = 0x400, kHere = kPagemapPresent,
                   kWritten = kPagemapPresent | kPagemapSoftDirty;

// 16 pages of heap, 12 of them there, and 4 of a library.
class Write : public testing::Test {
 protected:
  Write() {
    proc_.write("smaps",
                "00400000-00410000 rw-p 00000000 00:00 0 [heap]\nRss: 48 kB\nPss: 48 kB\n"
                "Referenced: 48 kB\nVmFlags: rd wr\n"
                "00410000-00414000 r-xp 00000000 fd:01 131 /lib/libc.so\nRss: 16 kB\n"
                "Referenced: 16 kB\n");
  }
  void pagemap(const std::map<uint64_t, uint64_t>& entries) {
    std::string bytes((kFirstWritten + 0x14) * 8, '\0');
    for (auto [page, entry] : entries) memcpy(bytes.data() + (kFirstWritten + page) * 8, &entry, 8);
    proc_.write("pagemap", bytes);
  }
  Row row(int64_t window_ns) {
    Row row;
    clock_.onSleep = [&] { cleared_ = proc_.read("clear_refs"); };
    auto status =
        measure(process_, backend_, {.duration_ns = window_ns}, clock_, [&](const Row& it) {
          row = it;
          return true;
        });
    EXPECT_TRUE(status.ok());
    return row;
  }

  FakeProc proc_;
  Process process_ = Process::open(423, proc_.root()).value();
  FakeClock clock_{0};
  WriteBackend backend_;
  std::string cleared_;
};

TEST_F(Write, PagesThatAreMarkedAndThere) {
  pagemap({{0, kWritten}, {1, kHere}, {5, kWritten | 77}, {6, kPagemapSoftDirty}, {17, kHere}});
  Row it = row(100'000'000);
  EXPECT_EQ(cleared_, "4");
  EXPECT_EQ(it.sums.referenced, 2 * kPage);
  EXPECT_EQ(it.uses[0].sums.referenced, 2 * kPage);
  EXPECT_EQ(it.uses[1].sums.referenced, 0U);
  EXPECT_EQ(it.sums.rss, 16 * kPage);
}

TEST_F(Write, SaysHowSoonAllIsWritten) {
  std::map<uint64_t, uint64_t> entries;
  for (uint64_t page = 0; page < 4; ++page) entries[page] = kWritten;
  pagemap(entries);
  Row it = row(100'000'000);
  TextOptions options{.tells_writes = true};
  EXPECT_EQ(writesText(it, options),
            "16.0 KiB were written in 0.1 s (160 KiB/s). At this rate, all 64.0 KiB of\n  "
            "resident memory are written once after 0.4 s at the earliest.\n");
  EXPECT_NE(rowHeader(options).find("Wrt(MB)  Wrt%     MB/s"), std::string::npos);
  nlohmann::json json = rowJson(it, {}, 1.5, {}, true, true);
  EXPECT_EQ(json["bytes"]["written"], 4 * kPage);
  EXPECT_FALSE(json["bytes"].contains("referenced"));
  EXPECT_EQ(json["writes"]["bytes_per_s"], 160 << 10);
  EXPECT_DOUBLE_EQ(json["writes"]["all_after_s"], 0.4);
  pagemap({});
  it = row(100'000'000);
  EXPECT_EQ(writesText(it, options), "Nothing was written in 0.1 s.\n");
  EXPECT_TRUE(rowJson(it, {}, 1.5, {}, true, true)["writes"]["all_after_s"].is_null());
}

// On any kernel: its report about itself matches a page of this process.
TEST(WriteBackend, IsTriedOnOurselves) {
  bool has = (OwnPage().pagemapEntry().value_or(0) & kPagemapSoftDirty) != 0;
  EXPECT_EQ(WriteBackend::check().ok(), has);
}

}  // namespace
}  // namespace tidegauge::wss
