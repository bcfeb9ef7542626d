#include "wss/pages/linear_map.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "support/bytes.h"
#include "support/temp_folder.h"

namespace tidegauge::wss {
namespace {

// As /proc/kcore writes them.
std::vector<std::byte> kcore(std::vector<Elf64_Phdr> parts) {
  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_phoff = sizeof(file);
  file.e_phentsize = sizeof(Elf64_Phdr);
  file.e_phnum = static_cast<Elf64_Half>(parts.size());
  std::vector<std::byte> bytes(sizeof(file) + parts.size() * sizeof(Elf64_Phdr));
  std::memcpy(bytes.data(), &file, sizeof(file));
  std::memcpy(bytes.data() + sizeof(file), parts.data(), parts.size() * sizeof(Elf64_Phdr));
  return bytes;
}

Elf64_Phdr part(uint64_t address, uint64_t physical, uint64_t bytes) {
  Elf64_Phdr header{};
  header.p_type = PT_LOAD;
  header.p_vaddr = address;
  header.p_paddr = physical;
  header.p_memsz = bytes;
  return header;
}

const std::vector<Elf64_Phdr> kParts{
    part(0xffff'8000'8000'0000, ~uint64_t{0}, 1000 * kGiB),  // vmalloc
    part(0xffff'0000'4000'0000, 0x8000'0000, 2 * kGiB),      // memory
    part(0xffff'0008'0000'0000, 0x8'4000'0000, 30 * kGiB)};

TEST(LinearMap, IsThatOfTheMemoryAsked) {
  auto headers = kcore(kParts);
  constexpr uint64_t kMap = 0xffff'0000'4000'0000 - 0x8000'0000;
  EXPECT_EQ(linearMapOf(headers, 0xffff'0000'4123'4000), kMap);
  EXPECT_EQ(linearMapOf(headers, 0xffff'0008'0000'0000), kMap);
  EXPECT_EQ(linearMapOf(headers, 0xffff'0000'4000'0000 + 2 * kGiB), std::nullopt) << "a hole";
  EXPECT_EQ(linearMapOf(headers, 0xffff'8000'8000'1000), std::nullopt) << "no memory as such";
  auto at_zero = kcore({part(0xffff'ff80'0000'0000, 0, kGiB)});
  EXPECT_EQ(linearMapOf(at_zero, 0xffff'ff80'0000'3000), 0xffff'ff80'0000'0000U);
  auto marked = kcore({part(0xf4ff'0000'4000'0000, 0x8000'0000, kGiB)});
  EXPECT_EQ(linearMapOf(marked, 0xffff'0000'4000'1000), kMap);
}

TEST(LinearMap, HeadersThatAreNoneOrCutTellNothing) {
  auto headers = kcore(kParts);
  for (size_t bytes = 0; bytes < headers.size(); ++bytes)
    EXPECT_EQ(linearMapOf(std::span(headers).first(bytes), 0xffff'0008'0000'0000), std::nullopt)
        << bytes;
  headers[1] = std::byte{'X'};
  EXPECT_EQ(linearMapOf(headers, 0xffff'0008'0000'0000), std::nullopt);
}

TEST(LinearMap, OfAFile) {
  EXPECT_EQ(linearMapAt(0xffff'0008'0000'0000, "/nonexistent"), std::nullopt);
}

TEST(LinearMap, LevelsByWhereItBegins) {
  EXPECT_EQ(levelsOfArm64(0xffff'ff80'0123'4000), 3U);  // 39 bits
  EXPECT_EQ(levelsOfArm64(0xffff'ffbf'ffff'f000), 3U);
  EXPECT_EQ(levelsOfArm64(0xffff'0000'0123'4000), 4U);  // 48
  EXPECT_EQ(levelsOfArm64(0xffff'7fff'ffff'f000), 4U);
  EXPECT_EQ(levelsOfArm64(0xfff0'0000'0123'4080), 5U);  // 52
  EXPECT_EQ(levelsOfArm64(~uint64_t{0}), 0U);
}

}  // namespace
}  // namespace tidegauge::wss
