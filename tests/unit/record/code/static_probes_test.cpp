#include "record/code/static_probes.h"

#include <gtest/gtest.h>
#include <linux/ptrace.h>

#include <cstddef>
#include <cstring>

// A probe of this program, as <sys/sdt.h> makes them: its note names the place of the nop.
__attribute__((section(".data"))) unsigned short probed_semaphore = 7;

namespace tidegauge::record {
namespace {

[[gnu::noinline]] uint64_t probed(uint64_t value) {
  asm volatile(
      "990: nop\n"
      ".pushsection .note.stapsdt,\"?\",\"note\"\n"
      ".balign 4\n"
      ".4byte 992f-991f, 994f-993f, 3\n"
      "991: .asciz \"stapsdt\"\n"
      "992: .balign 4\n"
      "993: .8byte 990b, 0, probed_semaphore\n"
      ".asciz \"gauge\", \"seen\", \"8@%%rdi -1@-24(%%rbp) 4@$5\"\n"
      "994: .balign 4\n"
      ".popsection\n"
      : "+r"(value));
  return value;
}

TEST(StaticProbes, LiesWhereTheNoteSays) {
  EXPECT_EQ(probed(3), 3U);
  auto file = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(file.ok());
  auto found = staticProbes(file.value(), "gauge", "seen");
  ASSERT_GE(found.size(), 1U);
  for (const StaticProbe& probe : found) {
    EXPECT_EQ(file.value().bytesAt(probe.offset, 1), std::vector<uint8_t>{0x90});
    uint16_t semaphore = 0;
    auto bytes = file.value().bytesAt(probe.semaphore, sizeof(semaphore));
    ASSERT_EQ(bytes.size(), sizeof(semaphore));
    std::memcpy(&semaphore, bytes.data(), sizeof(semaphore));
    EXPECT_EQ(semaphore, probed_semaphore);
    ASSERT_TRUE(probe.place);
    EXPECT_EQ(probe.place->arguments, 3U);
  }
  EXPECT_TRUE(staticProbes(file.value(), "gauge", "see").empty());
  EXPECT_TRUE(staticProbes(file.value(), "other", "seen").empty());
}

TEST(StaticProbes, RegistersOfEachSize) {
  auto place = probeArguments("8@%rdi -4@%r10d 2@%ax -1@%bpl");
  ASSERT_TRUE(place);
  ASSERT_EQ(place->arguments, 4U);
  const probe_argument* it = place->argument;
  EXPECT_EQ(it[0].base, offsetof(pt_regs, rdi));
  EXPECT_EQ(it[0].bytes, 8);
  EXPECT_FALSE(it[0].is_signed);
  EXPECT_EQ(it[1].base, offsetof(pt_regs, r10));
  EXPECT_EQ(it[1].bytes, 4);
  EXPECT_TRUE(it[1].is_signed);
  EXPECT_EQ(it[2].base, offsetof(pt_regs, rax));
  EXPECT_EQ(it[2].bytes, 2);
  EXPECT_EQ(it[3].base, offsetof(pt_regs, rbp));
  EXPECT_EQ(it[3].bytes, 1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(it[i].in_memory);
    EXPECT_EQ(it[i].index, PROBE_NO_REGISTER);
  }
}

TEST(StaticProbes, MemoryAndConstants) {
  auto place = probeArguments("8@-24(%rbp) 8@(%rax,%rcx,8) -8@$-77 8@16(%rsp,%rdx)");
  ASSERT_TRUE(place);
  ASSERT_EQ(place->arguments, 4U);
  const probe_argument* it = place->argument;
  EXPECT_EQ(it[0].number, -24);
  EXPECT_EQ(it[0].base, offsetof(pt_regs, rbp));
  EXPECT_TRUE(it[0].in_memory);
  EXPECT_EQ(it[1].base, offsetof(pt_regs, rax));
  EXPECT_EQ(it[1].index, offsetof(pt_regs, rcx));
  EXPECT_EQ(it[1].scale, 8);
  EXPECT_TRUE(it[1].in_memory);
  EXPECT_EQ(it[2].number, -77);
  EXPECT_EQ(it[2].base, PROBE_NO_REGISTER);
  EXPECT_FALSE(it[2].in_memory);
  EXPECT_EQ(it[3].number, 16);
  EXPECT_EQ(it[3].index, offsetof(pt_regs, rdx));
  EXPECT_EQ(it[3].scale, 1);
}

TEST(StaticProbes, WhatCannotBeFollowedIsRefused) {
  for (const char* text : {"8@symbol(%rip)", "8@%xmm0", "3@%rax", "8@$x", "8@", "8@(%rax", "8@%",
                           "x@%rax", "8@-24(%)", "8@(%rax,)", "8@4(%rax,%rcx,x)"})
    EXPECT_FALSE(probeArguments(text)) << text;
  EXPECT_EQ(probeArguments("")->arguments, 0U);
  EXPECT_EQ(probeArguments("8@%rax 8@%rax 8@%rax 8@%rax 8@%xmm0")->arguments, 4U);
}

}  // namespace
}  // namespace tidegauge::record
