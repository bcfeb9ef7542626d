// The frames of BPF functions from which a thread may wait: docs/decisions/0028.
#include <elf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

// The object, as bytes (cmake/bpf.cmake).
extern "C" const unsigned char tidegauge_bpf_object[];
extern "C" const unsigned char tidegauge_bpf_object_end[];

namespace tidegauge::record {
namespace {

// The kernel rounds up to 16 bytes; 64 and more are taken from memory of the processor.
constexpr int kMost = 48;
constexpr int kFrameRegister = 10;
constexpr uint32_t kCopyFromUser = 148, kCopyFromUserTask = 191;

struct Function {
  int frame = 0;
  bool waits = false;
  std::set<std::string> calls;
};

class Object {
 public:
  Object() : begin_(tidegauge_bpf_object), head_(at<Elf64_Ehdr>(0)), sections_(head_.e_shnum) {
    for (size_t i = 0; i < sections_.size(); ++i)
      sections_[i] = at<Elf64_Shdr>(head_.e_shoff + i * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : sections_)
      if (section.sh_type == SHT_SYMTAB) symbols_ = section;
  }

  std::map<std::string, Function> functions() {
    std::map<std::string, Function> found;
    for (size_t i = 0; i < symbols_.sh_size / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym it = symbol(i);
      if (ELF64_ST_TYPE(it.st_info) == STT_FUNC) found[nameOf(it)] = read(it);
    }
    return found;
  }

 private:
  template <class Part>
  Part at(uint64_t offset) const {
    Part part{};
    std::memcpy(&part, begin_ + offset, sizeof(part));
    return part;
  }
  Elf64_Sym symbol(size_t i) const {
    return at<Elf64_Sym>(symbols_.sh_offset + i * sizeof(Elf64_Sym));
  }
  std::string nameOf(const Elf64_Sym& it) const {
    return reinterpret_cast<const char*>(begin_) + sections_[symbols_.sh_link].sh_offset +
           it.st_name;
  }
  std::string functionAt(uint16_t section, uint64_t offset) const {
    for (size_t i = 0; i < symbols_.sh_size / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym it = symbol(i);
      if (ELF64_ST_TYPE(it.st_info) == STT_FUNC && it.st_shndx == section && it.st_value == offset)
        return nameOf(it);
    }
    return {};
  }
  // What the instruction at an offset of a section refers to, if the linker must say it.
  const Elf64_Rel* relocation(uint16_t section, uint64_t offset) {
    for (const Elf64_Shdr& list : sections_) {
      if (list.sh_type != SHT_REL || list.sh_info != section) continue;
      for (uint64_t i = 0; i < list.sh_size / sizeof(Elf64_Rel); ++i) {
        found_ = at<Elf64_Rel>(list.sh_offset + i * sizeof(Elf64_Rel));
        if (found_.r_offset == offset) return &found_;
      }
    }
    return nullptr;
  }
  // Frames are reached by r10 + offset, or by a copy of r10 to which a number is added.
  Function read(const Elf64_Sym& it) {
    Function function;
    int lowest = 0;
    std::array<bool, 11> is_frame{};
    for (uint64_t at_byte = 0; at_byte < it.st_size; at_byte += sizeof(bpf_insn)) {
      uint64_t place = it.st_value + at_byte;
      auto code = at<bpf_insn>(sections_[it.st_shndx].sh_offset + place);
      int kind = BPF_CLASS(code.code);
      bool reads = kind == BPF_LDX && code.src_reg == kFrameRegister;
      bool writes = (kind == BPF_STX || kind == BPF_ST) && code.dst_reg == kFrameRegister;
      if (reads || writes) lowest = std::min<int>(lowest, code.off);
      if (kind == BPF_ALU64 && BPF_OP(code.code) == BPF_MOV && BPF_SRC(code.code) == BPF_X)
        is_frame[code.dst_reg] = code.src_reg == kFrameRegister;
      else if (kind == BPF_ALU64 && BPF_OP(code.code) == BPF_ADD && is_frame[code.dst_reg] &&
               BPF_SRC(code.code) == BPF_K)
        lowest = std::min(lowest, code.imm);
      if (code.code == (BPF_LD | BPF_IMM | BPF_DW)) {
        const Elf64_Rel* callback = relocation(it.st_shndx, place);
        addCall(function, callback, code.imm / 8);  // in bytes
        at_byte += sizeof(bpf_insn);
      }
      if (code.code != (BPF_JMP | BPF_CALL)) continue;
      if (code.src_reg == BPF_PSEUDO_CALL) {
        const Elf64_Rel* callee = relocation(it.st_shndx, place);
        if (callee != nullptr)
          addCall(function, callee, code.imm + 1);
        else
          function.calls.insert(
              functionAt(it.st_shndx, place + static_cast<uint64_t>(int64_t{code.imm} + 1) * 8));
      } else {
        function.waits |= code.imm == kCopyFromUser || code.imm == kCopyFromUserTask;
      }
    }
    function.frame = -lowest;
    return function;
  }
  void addCall(Function& function, const Elf64_Rel* to, int instructions) const {
    if (to == nullptr) return;
    Elf64_Sym target = symbol(ELF64_R_SYM(to->r_info));
    std::string name =
        ELF64_ST_TYPE(target.st_info) == STT_SECTION
            ? functionAt(target.st_shndx, static_cast<uint64_t>(int64_t{instructions}) * 8)
            : nameOf(target);
    if (!name.empty()) function.calls.insert(name);
  }

  const unsigned char* begin_;
  Elf64_Ehdr head_;
  std::vector<Elf64_Shdr> sections_;
  Elf64_Shdr symbols_{};
  Elf64_Rel found_{};
};

TEST(Frames, OfFunctionsFromWhichAThreadWaitsAreSmall) {
  std::map<std::string, Function> functions = Object().functions();
  ASSERT_TRUE(functions.contains("libraries_changed"));
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [name, function] : functions) {
      bool waits = function.waits;
      for (const std::string& callee : function.calls) waits |= functions[callee].waits;
      changed |= waits && !function.waits;
      function.waits = waits;
    }
  }
  // What is known to wait, so that this test cannot pass because it finds nothing.
  for (const char* name :
       {"turnAtGate", "waitAtGate", "libraries_changed", "readText", "name_exit", "name_given"}) {
    EXPECT_TRUE(functions[name].waits) << name;
  }
  EXPECT_GT(functions["launch_enter"].frame, kMost);  // it may, and does not wait
  EXPECT_FALSE(functions["launch_enter"].waits);
  for (const auto& [name, function] : functions)
    if (function.waits) {
      EXPECT_LE(function.frame, kMost) << name;
    }
}

}  // namespace
}  // namespace tidegauge::record
