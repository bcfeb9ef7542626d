#include "record/code/static_probes.h"

#include <linux/ptrace.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <utility>

namespace tidegauge::record {
namespace {

constexpr const char* kNotes = ".note.stapsdt";
constexpr const char* kBase = ".stapsdt.base";
constexpr std::string_view kOwner("stapsdt\0", 8);
constexpr uint32_t kProbeNote = 3;
constexpr size_t kMaxNotes = 1 << 20;  // bytes

// A register by its names for 8, 4, 2 and 1 bytes.
struct Register {
  std::array<std::string_view, 4> names;
  size_t position;
};
constexpr std::array<Register, 17> kRegisters = {{
    {{"rax", "eax", "ax", "al"}, offsetof(pt_regs, rax)},
    {{"rbx", "ebx", "bx", "bl"}, offsetof(pt_regs, rbx)},
    {{"rcx", "ecx", "cx", "cl"}, offsetof(pt_regs, rcx)},
    {{"rdx", "edx", "dx", "dl"}, offsetof(pt_regs, rdx)},
    {{"rsi", "esi", "si", "sil"}, offsetof(pt_regs, rsi)},
    {{"rdi", "edi", "di", "dil"}, offsetof(pt_regs, rdi)},
    {{"rbp", "ebp", "bp", "bpl"}, offsetof(pt_regs, rbp)},
    {{"rsp", "esp", "sp", "spl"}, offsetof(pt_regs, rsp)},
    {{"r8", "r8d", "r8w", "r8b"}, offsetof(pt_regs, r8)},
    {{"r9", "r9d", "r9w", "r9b"}, offsetof(pt_regs, r9)},
    {{"r10", "r10d", "r10w", "r10b"}, offsetof(pt_regs, r10)},
    {{"r11", "r11d", "r11w", "r11b"}, offsetof(pt_regs, r11)},
    {{"r12", "r12d", "r12w", "r12b"}, offsetof(pt_regs, r12)},
    {{"r13", "r13d", "r13w", "r13b"}, offsetof(pt_regs, r13)},
    {{"r14", "r14d", "r14w", "r14b"}, offsetof(pt_regs, r14)},
    {{"r15", "r15d", "r15w", "r15b"}, offsetof(pt_regs, r15)},
    {{"rip", "eip", "ip", ""}, offsetof(pt_regs, rip)},
}};

std::optional<int16_t> registerOf(std::string_view word) {
  if (!word.starts_with('%')) return std::nullopt;
  word.remove_prefix(1);
  for (const Register& it : kRegisters)
    if (!word.empty() && std::find(it.names.begin(), it.names.end(), word) != it.names.end())
      return static_cast<int16_t>(it.position);
  return std::nullopt;
}

template <class Number>
bool isNumber(std::string_view text, Number& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view cutAt(std::string_view& text, char separator) {
  size_t end = text.find(separator);
  std::string_view head = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return head;
}

// "-24(%rbp)", "(%rax,%rcx,8)"
bool isMemory(std::string_view text, probe_argument& it) {
  size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return false;
  if (open > 0 && !isNumber(text.substr(0, open), it.number)) return false;
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  bool is_sum = inside.find(',') != std::string_view::npos;
  auto base = registerOf(cutAt(inside, ','));
  if (!base) return false;
  it.base = *base;
  it.in_memory = 1;
  if (!is_sum) return true;
  auto index = registerOf(cutAt(inside, ','));
  it.scale = 1;
  if (!index || (!inside.empty() && !isNumber(inside, it.scale))) return false;
  it.index = *index;
  return true;
}

std::optional<probe_argument> argumentOf(std::string_view text) {
  probe_argument it{};
  it.base = it.index = PROBE_NO_REGISTER;
  it.bytes = 8;
  if (size_t at = text.find('@'); at != std::string_view::npos) {
    int size = 0;
    if (!isNumber(text.substr(0, at), size)) return std::nullopt;
    it.is_signed = size < 0;
    size = std::abs(size);
    if (size != 1 && size != 2 && size != 4 && size != 8) return std::nullopt;
    it.bytes = static_cast<uint8_t>(size);
    text.remove_prefix(at + 1);
  }
  if (text.starts_with('$'))
    return isNumber(text.substr(1), it.number) ? std::optional(it) : std::nullopt;
  if (auto base = registerOf(text)) {
    it.base = *base;
    return it;
  }
  return isMemory(text, it) ? std::optional(it) : std::nullopt;
}

template <class Number>
Number numberAt(std::string_view bytes, size_t at) {
  Number value = 0;
  if (at + sizeof(value) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// {address, base, semaphore} provider, name, arguments
struct Note {
  uint64_t address = 0, base = 0, semaphore = 0;
  std::string_view provider, name, arguments;
};

template <class Visit>
void eachNote(std::string_view bytes, const Visit& visit) {
  constexpr size_t kHead = 12, kNumbers = 24;
  auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
  while (bytes.size() > kHead) {
    size_t owner = numberAt<uint32_t>(bytes, 0), text = numberAt<uint32_t>(bytes, 4);
    auto type = numberAt<uint32_t>(bytes, 8);
    size_t begin = kHead + padded(owner);
    if (owner > bytes.size() || text > bytes.size() || begin + text > bytes.size()) return;
    std::string_view body = bytes.substr(begin, text);
    if (type == kProbeNote && bytes.substr(kHead, owner) == kOwner && body.size() > kNumbers) {
      Note note{numberAt<uint64_t>(body, 0),
                numberAt<uint64_t>(body, 8),
                numberAt<uint64_t>(body, 16),
                {},
                {},
                {}};
      body.remove_prefix(kNumbers);
      note.provider = cutAt(body, '\0');
      note.name = cutAt(body, '\0');
      note.arguments = cutAt(body, '\0');
      visit(note);
    }
    bytes.remove_prefix(std::min(begin + padded(text), bytes.size()));
  }
}

}  // namespace

std::optional<probe_place> probeArguments(std::string_view text) {
  probe_place place{};
  while (!text.empty() && place.arguments < PROBE_ARGUMENTS) {
    std::string_view word = cutAt(text, ' ');
    if (word.empty()) continue;
    auto argument = argumentOf(word);
    if (!argument) return std::nullopt;
    place.argument[place.arguments++] = *argument;
  }
  return place;
}

std::vector<StaticProbe> staticProbes(const ElfFile& file, std::string_view provider,
                                      std::string_view name) {
  std::vector<StaticProbe> found;
  // A tool that moved the library's addresses (prelink) moved this section, but not the notes.
  std::optional<uint64_t> base;
  if (auto sections = file.sections(kBase); !sections.empty()) base = sections[0].address;
  for (const ElfFile::Section& section : file.sections(kNotes)) {
    std::vector<uint8_t> bytes =
        file.bytesAt(section.offset, std::min<uint64_t>(section.size_bytes, kMaxNotes));
    eachNote({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, [&](const Note& note) {
      if (note.provider != provider || note.name != name) return;
      uint64_t moved = base && note.base != 0 ? *base - note.base : 0;
      auto offset = file.offsetOfAddress(note.address + moved);
      if (!offset) return;
      StaticProbe& probe = found.emplace_back();
      probe.offset = *offset;
      probe.place = probeArguments(note.arguments);
      if (note.semaphore != 0)
        probe.semaphore = file.offsetOfAddress(note.semaphore + moved).value_or(0);
    });
  }
  return found;
}

}  // namespace tidegauge::record
