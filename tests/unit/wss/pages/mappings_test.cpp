#include "wss/pages/mappings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <fstream>

#include "wss/process/hugetlb_devices.h"

namespace tidegauge::wss {
namespace {

std::string text(const std::string& head, const std::string& fields) {
  return head + "\n" + fields;
}

TEST(ParseSmaps, TellsWhatEachMappingIs) {
  auto kind = [](const std::string& head, const std::string& flags = "rd") {
    auto uses = parseSmaps(text("7f00-8f00 rw-p 00000000 " + head, "VmFlags: " + flags + " \n"));
    return uses.size() == 1 ? name(uses[0].mapping.kind) : "none";
  };
  EXPECT_EQ(kind("00:00 0 [heap]"), "heap");
  EXPECT_EQ(kind("00:00 0 [stack]"), "stack");
  EXPECT_EQ(kind("00:00 0"), "anonymous");
  EXPECT_EQ(kind("00:00 0 [anon:arena]"), "anonymous");
  EXPECT_EQ(kind("fe:00 131     /usr/lib/libx.so"), "file");
  EXPECT_EQ(kind("00:1a 4 /dev/shm/ring"), "shared");
  EXPECT_EQ(kind("00:01 9 /memfd:x (deleted)"), "shared");
  EXPECT_EQ(kind("00:0f 9 /anon_hugepage (deleted)", "rd wr mr ht sd"), "hugetlb");
  EXPECT_EQ(kind("00:06 9 /dev/nvidia0", "rd wr sh pf io de"), "device");
  EXPECT_EQ(kind("00:00 0 [vvar]", "rd mr pf io de"), "kernel");
  EXPECT_EQ(kind("00:01 12 [anon_shmem:ring]"), "shared");
  EXPECT_EQ(kind("00:01 13 /i915 (deleted)"), "device");
  EXPECT_EQ(kind("00:01 14 /drm mm object (deleted)"), "device");
}

// maps has no flags: by the device alone is it known what a file is of.
TEST(ParseSmaps, KnowsReservedHugePagesByTheirDevice) {
  int asked = 0;
  auto devices = [&asked] {
    ++asked;
    return std::vector<std::string>{"00:0f", "00:2a"};
  };
  MappingsParser parser(devices);
  parser.add("7f00-8f00 r--p 00000000 fe:00 131   /a\n8f00-9f00 rw-p 00000000 00:00 0\n");
  EXPECT_EQ(asked, 0);  // files on disks and mappings without a file need no check
  parser.add("9f00-af00 rw-s 00000000 00:0f 131   /memfd:pool (deleted)\n");
  parser.add(
      "af00-bf00 rw-s 00000000 00:2a 7   /mnt/huge/rtemap_0\n"
      "bf00-cf00 rw-s 00000000 00:01 131   /memfd:pool (deleted)\n");
  auto uses = parser.take();
  ASSERT_EQ(uses.size(), 5U);
  EXPECT_EQ(uses[2].mapping.kind, MappingKind::kHugetlb);
  EXPECT_EQ(uses[3].mapping.kind, MappingKind::kHugetlb);
  EXPECT_EQ(uses[4].mapping.kind, MappingKind::kShared);
  EXPECT_EQ(asked, 1);
}

TEST(HugetlbMounts, AreFoundByTheirType) {
  EXPECT_EQ(hugetlbMounts("36 35 0:42 / /mnt/huge rw,nosuid - hugetlbfs none rw,pagesize=2M\n"
                          "37 35 0:43 / /mnt/hugetlbfs rw - tmpfs hugetlbfs rw\n"
                          "38 35 259:7 / /x rw shared:1 - hugetlbfs h rw\n"
                          "39\n - hugetlbfs \n39 - hugetlbfs x\n40 35 :3 / /y - hugetlbfs x\n"),
            (std::vector<std::string>{"00:2a", "103:07"}));
}

TEST(ParseSmaps, AddsWhatBelongsTogether) {
  auto uses = parseSmaps(
      "7f00-8f00 rw-s 00000000 fe:00 131   /a b\n"
      "Rss:  40 kB\nPss: 20 kB\nShared_Clean: 4 kB\nShared_Dirty: 8 kB\nPrivate_Dirty: 16 kB\n"
      "Referenced: 12 kB\nAnonHugePages: 2048 kB\nFilePmdMapped: 2048 kB\nPrivate_Hugetlb: 6 kB\n"
      "Swap: 3 kB\nLocked: 1 kB\nTHPeligible: 1\n");
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].mapping.path, "/a b");
  EXPECT_TRUE(uses[0].mapping.shared && uses[0].mapping.writable && !uses[0].mapping.executable);
  const MappingSums& sums = uses[0].sums;
  EXPECT_EQ(sums.rss, 40U << 10);
  EXPECT_EQ(sums.pss, 20U << 10);
  EXPECT_EQ(sums.shared, 12U << 10);
  EXPECT_EQ(sums.dirty, 24U << 10);
  EXPECT_EQ(sums.referenced, 12U << 10);
  EXPECT_EQ(sums.huge, 4U << 20);
  EXPECT_EQ(sums.hugetlb, 6U << 10);
  EXPECT_EQ(sums.swap, 3U << 10);
  EXPECT_EQ(sums.locked, 1U << 10);
}

TEST(ParseSmaps, NumbersThatAreTooLargeDoNotWrap) {
  auto uses = parseSmaps(
      "7f00-8f00 rw-p 0 fe:00 1 /a\nRss: 99999999999999999999 kB\nShared_Clean: 9007199254740991 "
      "kB\n"
      "Shared_Dirty: 9007199254740991 kB\nPss: x kB\n");
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].sums.rss, uint64_t{INT64_MAX});
  EXPECT_EQ(uses[0].sums.shared, 2 * (uint64_t{INT64_MAX} - 1023));
  EXPECT_EQ(uses[0].sums.pss, 0U);
  MappingSums sum = uses[0].sums;
  sum.add(sum);
  sum.add(sum);
  EXPECT_EQ(sum.rss, UINT64_MAX);
}

TEST(ParseSmaps, AFieldBeforeTheFirstMappingIsNobodys) {
  EXPECT_TRUE(parseSmaps("Rss: 4 kB\n").empty());
  EXPECT_TRUE(parseSmaps("9f00-8f00 rw-p 0 fe:00 1 /a\n").empty());
  EXPECT_TRUE(parseSmaps("").empty());
}

RC_GTEST_PROP(ParseSmaps, ReadsAnyText, (const std::string& any)) {
  (void)parseSmaps(any);
  (void)parseSmaps("7f00-8f00 rw-p 00000000 fe:00 131 /a\n" + any);
}

// Our own, beside a reading of it word by word.
TEST(ParseSmaps, IsWhatTheKernelSays) {
  std::ifstream file("/proc/self/smaps");
  std::string all{std::istreambuf_iterator<char>(file), {}};
  if (all.empty()) GTEST_SKIP() << "no /proc/self/smaps: CONFIG_PROC_PAGE_MONITOR would make it";
  uint64_t rss_kib = 0, mappings = 0;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    uint64_t number = 0;
    words >> first >> number;
    if (first == "Rss:") rss_kib += number, mappings += 1;
  }
  MappingSums sums;
  auto uses = parseSmaps(all);
  for (const MappingUse& use : uses) sums.add(use.sums);
  EXPECT_EQ(uses.size(), mappings);
  EXPECT_EQ(sums.rss, rss_kib << 10);
  EXPECT_GT(sums.referenced, 0U);
}

}  // namespace
}  // namespace tidegauge::wss
