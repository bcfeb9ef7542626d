// The parameters that cubins say, of files made by NVIDIA's tools from tests/fixtures/cubin/*.ptx,
// which are the truth. make_cubins.sh there makes them; ./dev test calls it.
#include "record/cubin/kernel_parameters.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "record/cubin/fat_binary.h"
#include "record/cubin/kernel_layouts.h"
#include "record/cubin/lz4_block.h"

namespace tidegauge::record {
namespace {

using Bytes = std::vector<uint8_t>;
using Kernels = std::map<std::string, std::string>;

// Where the cubins are: one folder for all builds.
std::string folder() {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/build/cubins/";
}

class NeedsCubins : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::ifstream(folder() + "made"))
      GTEST_SKIP()
          << "no cubins: tests/fixtures/cubin/make_cubins.sh build/cubins makes them (x86-64)";
  }
};
class ParametersOfCubins : public NeedsCubins {};
class FatBinaries : public NeedsCubins {};

Bytes fixture(const std::string& name) {
  std::ifstream file(folder() + name, std::ios::binary);
  EXPECT_TRUE(file) << folder() + name;
  return {std::istreambuf_iterator<char>(file), {}};
}

Kernels kernelsOf(std::span<const uint8_t> cubin) {
  Kernels kernels;
  CubinCounts counts = eachKernel(cubin, [&](std::string_view name, KernelParameters parameters) {
    kernels[std::string(name)] = parametersText(parameters);
  });
  EXPECT_EQ(counts.kernels, kernels.size());
  EXPECT_EQ(counts.damaged, 0U);
  return kernels;
}

const Kernels kTruth = {
    {"none", ""}, {"_Z4axpyifPf", "0:4 4:4 8:8"}, {"bigone", "0:1 8:600 608:2 624:3000"}};

TEST_F(ParametersOfCubins, HaveTheOffsetsAndSizesOfTheirSource) {
  EXPECT_EQ(kernelsOf(fixture("older.cubin")), kTruth);
}

TEST_F(ParametersOfCubins, OfMoreThanFourKibAreReadToo) {
  EXPECT_EQ(kernelsOf(fixture("large.cubin")), (Kernels{{"large", "0:4 8:20000 20008:8"}}));
}

// In PyTorch 2.15's libtorch_cuda.so, the word of some pointers is 0x05000008.
TEST_F(ParametersOfCubins, OfMoreThanFourKibMayHaveAMarkAboveTheirSize) {
  Bytes marked = fixture("large.cubin");
  size_t found = 0;
  for (size_t i = 0; i + 16 <= marked.size(); ++i) {
    bool is_last = marked[i] == 4 && marked[i + 1] == 0x45 && marked[i + 2] == 12 &&
                   marked[i + 8] == 2 && marked[i + 12] == 8;
    if (is_last) marked[i + 15] = 5;
    found += is_last;
  }
  ASSERT_EQ(found, 1U);
  EXPECT_EQ(kernelsOf(marked), (Kernels{{"large", "0:4 8:20000 20008:8"}}));
}

// In PyTorch 2.15's libtorch_cuda.so, 346 kernels of CUTLASS have a parameter aligned to 128 bytes.
TEST_F(ParametersOfCubins, HaveOffsetsThatDependOnTheArchitecture) {
  const Kernels kOfArchitecture = {
      {"80", "0:1 32:256"}, {"90", "0:1 112:256"}, {"100", "0:1 128:256"}};
  LayoutsByName layouts;
  for (const auto& [architecture, layout] : kOfArchitecture) {
    Bytes cubin = fixture("aligned_" + architecture + ".cubin");
    EXPECT_EQ(kernelsOf(cubin), (Kernels{{"aligned", layout}}));
    addLayouts(cubin, layouts);
  }
  EXPECT_EQ(findLayout(layouts, "aligned", false), kOfArchitecture.begin()->second);
}

TEST_F(ParametersOfCubins, OfOneNameAreUnknownWhereTheirSizesDiffer) {
  LayoutsByName layouts = {{"aligned", "0:1 32:255"}, {"more", "0:1"}};
  addLayouts(fixture("aligned_80.cubin"), layouts);
  EXPECT_EQ(findLayout(layouts, "aligned", false), std::nullopt);
  EXPECT_EQ(findLayout(layouts, "more", false), "0:1");
  layouts = {{"aligned", "0:1"}};
  addLayouts(fixture("aligned_80.cubin"), layouts);
  EXPECT_EQ(findLayout(layouts, "aligned", false), std::nullopt);
}

// Each name begins one word later in the same text: all of them are longer than the file.
TEST(CraftedCubins, CannotHaveMoreNamesThanBytes) {
  constexpr size_t kSections = 20'000, kNameBytes = 60'000;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 190;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sizeof(header);
  header.e_shnum = kSections;
  std::string names;
  while (names.size() < kNameBytes) names += ".nv.info.";
  std::vector<Elf64_Shdr> sections(kSections);
  for (size_t i = 1; i < kSections; ++i) sections[i].sh_name = static_cast<uint32_t>(i % 5000 * 9);
  sections[0].sh_offset = sizeof(header) + kSections * sizeof(Elf64_Shdr);
  sections[0].sh_size = names.size();
  std::string cubin(reinterpret_cast<const char*>(&header), sizeof(header));
  cubin.append(reinterpret_cast<const char*>(sections.data()), kSections * sizeof(Elf64_Shdr));
  cubin += names;
  uint64_t bytes = 0;
  CubinCounts counts =
      eachKernel({reinterpret_cast<const uint8_t*>(cubin.data()), cubin.size()},
                 [&](std::string_view name, const KernelParameters&) { bytes += name.size(); });
  EXPECT_LE(bytes, names.size());
  EXPECT_GT(counts.damaged, 0U);
}

TEST_F(FatBinaries, GivesTheCubinsHoweverTheyArePacked) {
  for (const char* name : {"plain.fatbin", "lz4.fatbin", "zstd.fatbin", "several.fatbin"}) {
    SCOPED_TRACE(name);
    for (Cubins which : {Cubins::kAll, Cubins::kSmallest}) {
      uint64_t seen = 0;
      FatBinaryCounts counts = eachCubin(fixture(name), which, [&](std::span<const uint8_t> cubin) {
        EXPECT_EQ(cubin.size(), seen == 0 ? 9384U : 9792U);
        EXPECT_EQ(kernelsOf(cubin), kTruth);
        ++seen;
      });
      EXPECT_EQ(seen, which == Cubins::kAll ? 2U : 1U);
      EXPECT_EQ(counts.containers, 1U);
      EXPECT_EQ(counts.cubins, 2U);
      EXPECT_EQ(counts.unpacked, seen);
      EXPECT_EQ(counts.damaged, 0U);
    }
  }
}

// As in a section: containers one after the other, with padding between them, and damage.
TEST_F(FatBinaries, GoesOnAfterPaddingAndDamage) {
  Bytes section = fixture("lz4.fatbin");
  section.resize(section.size() + 24);
  Bytes damaged = fixture("lz4.fatbin");
  damaged[16 + 8 + 7] = 0xff;  // the size of the first cubin
  section.insert(section.end(), damaged.begin(), damaged.end());
  Bytes last = fixture("zstd.fatbin");
  section.insert(section.end(), last.begin(), last.end());
  uint64_t seen = 0;
  FatBinaryCounts counts =
      eachCubin(section, Cubins::kSmallest, [&](std::span<const uint8_t> cubin) {
        EXPECT_EQ(kernelsOf(cubin), kTruth);
        ++seen;
      });
  EXPECT_EQ(seen, 2U);
  EXPECT_EQ(counts.containers, 3U);
  EXPECT_EQ(counts.damaged, 1U);
}

TEST_F(ParametersOfCubins, AreNotMadeUpWhereTheFileContradictsItself) {
  Bytes whole = fixture("older.cubin");
  // Each kernel's total size; of "_Z4axpyifPf" it is 16 bytes.
  for (size_t i = 0; i + 4 <= whole.size(); ++i) {
    if (whole[i] != 3 || whole[i + 1] != 0x19 || whole[i + 2] != 16 || whole[i + 3] != 0) continue;
    Bytes spoilt = whole;
    spoilt[i + 2] = 12;
    Kernels kernels;
    CubinCounts counts = eachKernel(spoilt, [&](std::string_view name, const KernelParameters&) {
      kernels[std::string(name)] = "known";
    });
    EXPECT_EQ(counts.damaged, 1U);
    EXPECT_FALSE(kernels.contains("_Z4axpyifPf"));
    EXPECT_TRUE(kernels.contains("bigone"));
    return;
  }
  FAIL() << "the attribute is not in the file";
}

TEST_F(ParametersOfCubins, OfAFileThatEndsAnywhereAreThoseOfTheWholeOrNone) {
  Bytes whole = fixture("older.cubin");
  for (size_t size = 0; size < whole.size(); size += 37) {
    eachKernel(std::span(whole).first(size), [&](std::string_view name, KernelParameters it) {
      EXPECT_EQ(parametersText(it), kTruth.at(std::string(name))) << size;
    });
  }
}

TEST(Lz4Block, CopiesThatOverlapRepeat) {
  // "ab", then 4 + 6 bytes from two bytes before, then the literal "c".
  Bytes block = {0x26, 'a', 'b', 2, 0, 0x10, 'c'};
  auto out = unpackLz4(block, 100);
  ASSERT_TRUE(out);
  EXPECT_EQ(std::string(out->begin(), out->end()), "ababababababc");
}

TEST(Lz4Block, DamageIsRefused) {
  EXPECT_FALSE(unpackLz4(Bytes{0x26, 'a', 'b', 9, 0}, 100)) << "from before the beginning";
  EXPECT_FALSE(unpackLz4(Bytes{0x26, 'a', 'b', 0, 0}, 100)) << "from itself";
  EXPECT_FALSE(unpackLz4(Bytes{0x50, 'a'}, 100)) << "literals are missing";
  EXPECT_FALSE(unpackLz4(Bytes{0xf0, 255}, 1000)) << "a length without its end";
  EXPECT_FALSE(unpackLz4(Bytes{0x2f, 'a', 'b', 2, 0, 255, 255, 0}, 100)) << "more than announced";
}

}  // namespace
}  // namespace tidegauge::record
