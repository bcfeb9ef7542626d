// The rules for leaving a frame, compared with elfutils' libdw at the same places, with simulated
// registers and memory; and damaged files.
#include "record/unwind/unwind_table.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "record/code/elf_file.h"
#include "record/process/process_maps.h"
#include "record/unwind/unwind_entry.h"
#include "record/unwind/unwinder.h"

namespace tidegauge::record {
namespace {

constexpr uint64_t kSp = 0x7ffd00001000, kBp = 0x7ffd00002340;

uint64_t memory(uint64_t address) { return (address ^ 0x5bd1e995) * 0x9e3779b97f4a7c15; }

struct Caller {
  enum { kFound, kOutermost, kSignal, kOther } kind = kOther;
  uint64_t cfa = 0, place_at = 0, bp = 0;
  bool operator==(const Caller&) const = default;
};
void PrintTo(const Caller& caller, std::ostream* out) {
  *out << fmt::format("{{kind {}, cfa {:#x}, return address at {:#x}, bp {:#x}}}",
                      static_cast<int>(caller.kind), caller.cfa, caller.place_at, caller.bp);
}

Caller byRule(const std::optional<unwind_rule>& rule) {
  Caller caller;
  if (!rule || rule->cfa == UNWIND_CUT) return caller;
  caller.kind = rule->cfa == UNWIND_END      ? Caller::kOutermost
                : rule->cfa == UNWIND_SIGNAL ? Caller::kSignal
                                             : Caller::kFound;
  if (caller.kind != Caller::kFound) return caller;
  bool by_sp = rule->cfa == UNWIND_SP || rule->cfa == UNWIND_AT_SP;
  caller.cfa = (by_sp ? kSp : kBp) + static_cast<uint64_t>(int64_t{rule->cfa_offset});
  if (rule->cfa >= UNWIND_AT_SP)
    caller.cfa = memory(caller.cfa) + static_cast<uint64_t>(int64_t{rule->cfa_more});
  caller.place_at = caller.cfa - 8;
  caller.bp = kBp;
  if (rule->bp != UNWIND_BP_SAME)
    caller.bp = memory((rule->bp == UNWIND_BP_AT_CFA ? caller.cfa : kBp) +
                       static_cast<uint64_t>(int64_t{rule->bp_offset}));
  return caller;
}

// A stack machine for what compilers write; nothing for the rest.
std::optional<uint64_t> evaluate(const Dwarf_Op* ops, size_t count, uint64_t cfa) {
  std::vector<uint64_t> stack;
  for (size_t i = 0; i < count; ++i) {
    const Dwarf_Op& op = ops[i];
    bool direct = op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31;
    if (direct || op.atom == DW_OP_bregx) {
      uint64_t number = direct ? op.atom - DW_OP_breg0 : op.number;
      if (number != 6 && number != 7) return std::nullopt;
      stack.push_back((number == 6 ? kBp : kSp) + (direct ? op.number : op.number2));
    } else if (op.atom == DW_OP_call_frame_cfa) {
      stack.push_back(cfa);
    } else if (stack.empty()) {
      return std::nullopt;
    } else if (op.atom == DW_OP_plus_uconst) {
      stack.back() += op.number;
    } else if (op.atom == DW_OP_deref) {
      stack.back() = memory(stack.back());
    } else {
      return std::nullopt;
    }
  }
  return stack.empty() ? std::nullopt : std::optional(stack.back());
}

Caller byLibdw(Dwarf_CFI* cfi, uint64_t address) {
  Caller caller;
  Dwarf_Frame* raw = nullptr;
  if (dwarf_cfi_addrframe(cfi, address, &raw) != 0) return caller;
  std::unique_ptr<Dwarf_Frame, void (*)(void*)> frame(raw, std::free);
  bool of_signal = false;
  dwarf_frame_info(raw, nullptr, nullptr, &of_signal);
  if (of_signal) {
    caller.kind = Caller::kSignal;
    return caller;
  }
  Dwarf_Op *ops = nullptr, memory_of_ops[3];
  size_t count = 0;
  if (dwarf_frame_register(raw, 16, memory_of_ops, &ops, &count) != 0) return caller;
  if (count == 0 && ops == memory_of_ops) {  // undefined
    caller.kind = Caller::kOutermost;
    return caller;
  }
  Dwarf_Op* cfa_ops = nullptr;
  size_t cfa_count = 0;
  if (dwarf_frame_cfa(raw, &cfa_ops, &cfa_count) != 0) return caller;
  auto cfa = evaluate(cfa_ops, cfa_count, 0);
  if (!cfa) return caller;
  auto place_at = evaluate(ops, count, *cfa);
  if (!place_at || *place_at != *cfa - 8) return caller;
  uint64_t bp = kBp;
  if (dwarf_frame_register(raw, 6, memory_of_ops, &ops, &count) != 0) return caller;
  if (count != 0) {
    auto at = evaluate(ops, count, *cfa);
    if (!at) return caller;
    bp = memory(*at);
  } else if (ops == memory_of_ops) {
    return caller;  // undefined
  }
  return {Caller::kFound, *cfa, *place_at, bp};
}

bool hasTable(Dwarf_CFI* cfi, uint64_t address) {
  Dwarf_Frame* frame = nullptr;
  if (dwarf_cfi_addrframe(cfi, address, &frame) != 0) return false;
  std::free(frame);
  return true;
}

// The program of this test, and every library that it has mapped.
std::vector<std::string> realFiles() {
  std::vector<std::string> paths;
  for (const Mapping& mapping : executableMappings(static_cast<uint32_t>(getpid())))
    if (mapping.file.inode != 0) paths.push_back(mapping.path);
  return paths;
}

TEST(UnwindTable, SaysOfEveryFunctionWhatLibdwSays) {
  elf_version(EV_CURRENT);
  size_t compared = 0, with_table = 0, walked = 0;
  for (const std::string& path : realFiles()) {
    SCOPED_TRACE(path);
    auto table = UnwindTable::open(path);
    auto file = ElfFile::open(path);
    ASSERT_TRUE(file.ok());
    if (!table.ok()) {
      ADD_FAILURE() << table.error().what;
      continue;
    }
    int descriptor = open(path.c_str(), O_RDONLY);
    Elf* elf = elf_begin(descriptor, ELF_C_READ, nullptr);
    Dwarf_CFI* cfi = dwarf_getcfi_elf(elf);
    ASSERT_NE(cfi, nullptr);
    auto functions = file.value().allFunctions();
    size_t step = std::max<size_t>(1, functions.size() / 3000);
    size_t wrong = 0;
    for (size_t i = 0; i < functions.size(); i += step) {
      uint64_t size = std::max<uint64_t>(1, functions[i].size_bytes);
      for (uint64_t part = 0; part < 8; ++part) {
        uint64_t address = functions[i].address + (part < 3 ? part : size * (part - 2) / 5 - 1);
        Caller expected = byLibdw(cfi, address);
        Caller got = byRule(table.value().ruleAt(address));
        compared += 1;
        with_table += hasTable(cfi, address);
        walked += got.kind != Caller::kOther;
        if (got == expected || ++wrong > 5) continue;
        EXPECT_EQ(got, expected) << fmt::format("{} + {:#x}", functions[i].name,
                                                address - functions[i].address);
      }
    }
    EXPECT_EQ(wrong, 0U);
    dwarf_cfi_end(cfi);
    elf_end(elf);
    close(descriptor);
  }
  // Nearly every place with a table has a rule in a form that the walk supports.
  EXPECT_GT(compared, 20'000U);
  EXPECT_GT(with_table, 20'000U);
  EXPECT_LE(walked, with_table);
  EXPECT_GT(static_cast<double>(walked), 0.99 * static_cast<double>(with_table));
}

class DamagedTable : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / fmt::format("unwind-{}", getpid());
    for (const std::string& path : realFiles())
      if (path.find("libm.so") != std::string::npos || path.find("libgcc_s") != std::string::npos)
        whole_ = path;
    ASSERT_FALSE(whole_.empty());
    std::ifstream file(whole_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string path_, whole_, bytes_;
};

TEST_F(DamagedTable, NeverReadsPastTheEndOrForEver) {
  auto file = ElfFile::open(whole_);
  ASSERT_TRUE(file.ok());
  auto functions = file.value().allFunctions();
  std::mt19937 random(1);
  size_t opened = 0, differ = 0;
  auto whole = UnwindTable::open(whole_);
  ASSERT_TRUE(whole.ok());
  for (int round = 0; round < 60; ++round) {
    std::string damaged = bytes_;
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    constexpr size_t kHeaders = 1024;  // stay, or nothing is opened
    if (damaged.size() > kHeaders)
      for (int i = 0; i < 20'000; ++i)
        damaged[kHeaders + random() % (damaged.size() - kHeaders)] ^= static_cast<char>(random());
    write(damaged);
    auto table = UnwindTable::open(path_);
    if (!table.ok()) continue;
    opened += 1;
    for (size_t i = 0; i < 100; ++i) {
      uint64_t address = functions[random() % functions.size()].address;
      differ += byRule(table.value().ruleAt(address)) != byRule(whole.value().ruleAt(address));
    }
  }
  EXPECT_GT(opened, 10U);
  EXPECT_GT(differ, 0U);
}

// As a program that is linked with -static: no program header names .eh_frame_hdr.
std::string withoutIndex(std::string bytes) {
  Elf64_Ehdr file;
  std::memcpy(&file, bytes.data(), sizeof(file));
  for (size_t i = 0; i < file.e_phnum; ++i) {
    char* at = bytes.data() + file.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr header;
    std::memcpy(&header, at, sizeof(header));
    if (header.p_type != PT_GNU_EH_FRAME) continue;
    header.p_type = PT_NULL;
    std::memcpy(at, &header, sizeof(header));
  }
  return bytes;
}

TEST_F(DamagedTable, AnIndexOfOurOwnSaysTheSame) {
  write(withoutIndex(bytes_));
  auto whole = UnwindTable::open(whole_), own = UnwindTable::open(path_);
  ASSERT_TRUE(whole.ok());
  ASSERT_TRUE(own.ok()) << own.error().what;
  size_t known = 0;
  for (const FunctionSymbol& function : ElfFile::open(whole_).value().allFunctions())
    for (uint64_t part : {uint64_t{0}, uint64_t{5}, function.size_bytes / 2, function.size_bytes}) {
      auto wanted = whole.value().ruleAt(function.address + part);
      auto got = own.value().ruleAt(function.address + part);
      EXPECT_EQ(got.has_value(), wanted.has_value());
      EXPECT_EQ(byRule(got), byRule(wanted)) << function.name << " + " << part;
      known += got.has_value();
    }
  EXPECT_GT(known, 100U);
}

TEST_F(DamagedTable, AnIndexOfOurOwnNeverReadsPastTheEndOrForEver) {
  auto functions = ElfFile::open(whole_).value().allFunctions();
  auto whole = UnwindTable::open(whole_);
  ASSERT_TRUE(whole.ok());
  Elf64_Ehdr file;
  std::memcpy(&file, bytes_.data(), sizeof(file));
  std::mt19937 random(2);
  size_t opened = 0, same = 0, differ = 0;
  for (int round = 0; round < 60; ++round) {
    std::string damaged = withoutIndex(bytes_);
    // The section headers at the end stay in half of the rounds, or hardly one would be opened.
    size_t end = round % 2 == 0 ? file.e_shoff : damaged.size();
    for (int i = 0; i < 500; ++i)
      damaged[1024 + random() % (end - 1024)] ^= static_cast<char>(random());
    write(damaged);
    auto table = UnwindTable::open(path_);
    if (!table.ok()) continue;
    opened += 1;
    for (size_t i = 0; i < 100; ++i) {
      uint64_t address = functions[random() % functions.size()].address;
      bool is_same = byRule(table.value().ruleAt(address)) == byRule(whole.value().ruleAt(address));
      (is_same ? same : differ) += 1;
    }
  }
  EXPECT_GT(opened, 10U);
  EXPECT_GT(same, 0U);
  EXPECT_GT(differ, 0U);
}

TEST_F(DamagedTable, WithoutSectionHeadersNothingSaysWhereTheFramesAre) {
  std::string bytes = withoutIndex(bytes_);
  Elf64_Ehdr file;
  std::memcpy(&file, bytes.data(), sizeof(file));
  file.e_shnum = file.e_shstrndx = 0;
  file.e_shoff = 0;
  std::memcpy(bytes.data(), &file, sizeof(file));
  write(bytes);
  auto table = UnwindTable::open(path_);
  ASSERT_FALSE(table.ok());
  EXPECT_NE(table.error().what.find("no section headers"), std::string::npos) << table.error().what;
}

// Lengths and distances that lead out of the section, back to themselves, or nowhere.
TEST(IndexOfFrames, OfMadeUpSections) {
  auto words = [](std::vector<uint32_t> list) {
    std::vector<uint8_t> bytes(list.size() * 4);
    std::memcpy(bytes.data(), list.data(), bytes.size());
    return bytes;
  };
  EXPECT_TRUE(indexOf({}, 0).empty());
  for (uint32_t length : {0U, 1U, 3U, 4U, 8U, 0x7fffffffU, 0xfffffffcU, 0xffffffffU})
    for (uint32_t back : {0U, 1U, 4U, 8U, 12U, 16U, 0x80000000U, 0xffffffffU})
      EXPECT_TRUE(indexOf(words({length, back, length, back, 0, length, back}), 0x1000).empty());
  // A CIE without augmentation (version 1, addresses of 8 bytes), then two functions, the later
  // first.
  std::vector<uint8_t> section = {12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0, 0, 0};
  auto add = [&](uint32_t back, uint64_t begin, uint64_t length) {
    std::vector<uint8_t> fde(4 + 20);
    uint32_t bytes = 20;
    std::memcpy(fde.data(), &bytes, 4);
    std::memcpy(fde.data() + 4, &back, 4);
    std::memcpy(fde.data() + 8, &begin, 8);
    std::memcpy(fde.data() + 16, &length, 8);
    section.insert(section.end(), fde.begin(), fde.end());
  };
  add(20, 0x5000, 16);
  add(44, 0x4000, 32);
  add(68, 0x6000, 0);  // of no bytes
  auto rows = indexOf(section, 0x1000);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].function, 0x4000U);
  EXPECT_EQ(rows[0].fde, 0x1000U + 16 + 24);
  EXPECT_EQ(rows[1].function, 0x5000U);
  EXPECT_EQ(rows[1].fde, 0x1000U + 16);
  for (size_t end = 0; end < section.size(); ++end)
    EXPECT_LE(indexOf(std::span(section).first(end), 0x1000).size(), 2U);
}

TEST_F(DamagedTable, AFileThatIsCutShortMeanwhileSaysNothing) {
  write(bytes_);
  auto table = UnwindTable::open(path_);
  ASSERT_TRUE(table.ok());
  uint64_t address = ElfFile::open(whole_).value().allFunctions()[10].address;
  EXPECT_TRUE(table.value().ruleAt(address));
  std::filesystem::resize_file(path_, 0);
  EXPECT_FALSE(table.value().ruleAt(address));
}

TEST_F(DamagedTable, AnInvalidProgramIsRefused) {
  for (const char* text : {"", "#!/bin/sh\n",
                           "\x7f"
                           "ELF\x02\x01\x01"}) {
    write(text);
    EXPECT_FALSE(UnwindTable::open(path_).ok());
  }
  EXPECT_FALSE(UnwindTable::open("/proc").ok());
  EXPECT_FALSE(UnwindTable::open("/dev/zero").ok());
}

TEST(RuleOfEpilogue, OfStubsWithoutATable) {
  auto rule = [](std::vector<uint8_t> code) { return ruleOfEpilogue(code); };
  // CPython 3.12 and 3.13: sub $8,%rsp; call *%rcx; add $8,%rsp; ret
  auto python = rule({0x48, 0x83, 0xc4, 0x08, 0xc3});
  ASSERT_TRUE(python);
  EXPECT_EQ(python->cfa, UNWIND_SP);
  EXPECT_EQ(python->cfa_offset, 16);
  EXPECT_EQ(python->bp, UNWIND_BP_SAME);
  // pop %rbp; ret
  auto pushed = rule({0x5d, 0xc3});
  ASSERT_TRUE(pushed);
  EXPECT_EQ(pushed->cfa_offset, 16);
  EXPECT_EQ(pushed->bp, UNWIND_BP_AT_CFA);
  EXPECT_EQ(pushed->bp_offset, -16);
  // add $0x108,%rsp; pop %rbx; pop %rbp; pop %r12; ret
  auto many = rule({0x48, 0x81, 0xc4, 0x08, 0x01, 0, 0, 0x5b, 0x5d, 0x41, 0x5c, 0xc3});
  ASSERT_TRUE(many);
  EXPECT_EQ(many->cfa_offset, 0x108 + 24 + 8);
  EXPECT_EQ(many->bp_offset, 0x110 - many->cfa_offset);
  auto left = rule({0xc9, 0xc3});
  ASSERT_TRUE(left);
  EXPECT_EQ(left->cfa, UNWIND_BP);
  EXPECT_FALSE(rule({}));
  EXPECT_FALSE(rule({0x48, 0x83, 0xc4}));
  EXPECT_FALSE(rule({0x48, 0x83, 0xc4, 0x08}));
  EXPECT_FALSE(rule({0x48, 0x83, 0xc4, 0xf8, 0xc3}));  // it takes more
  EXPECT_FALSE(rule({0x5c, 0xc3}));                    // pop %rsp
  EXPECT_FALSE(rule({0xe8, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace tidegauge::record
