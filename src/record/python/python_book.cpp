#include "record/python/python_book.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "record/python/python_lines.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxWaitingStacks = 100'000;  // as of the unwinder
constexpr size_t kMaxCodes = 500'000;

void appendUtf8(std::string& text, uint32_t character) {
  auto byte = [&](uint32_t bits) { text += static_cast<char>(bits); };
  auto more = [&](uint32_t shift) { byte(0x80U | ((character >> shift) & 0x3fU)); };
  if (character < 0x80) {
    byte(character);
  } else if (character < 0x800) {
    byte(0xc0U | character >> 6);
    more(0);
  } else if (character < 0x10000) {
    byte(0xe0U | character >> 12);
    more(6);
    more(0);
  } else if (character < 0x110000) {
    byte(0xf0U | character >> 18);
    more(12);
    more(6);
    more(0);
  }
}

std::string textOf(const python_text& head, std::span<const uint8_t> room) {
  // The kind is beside the flags; both forms of the state keep it in these bits.
  uint32_t kind = (head.state >> 2) & 7U;
  if (kind != 1 && kind != 2 && kind != 4) return {};
  size_t copied = std::min<size_t>(head.copied_bytes, room.size());
  std::string text = pythonText(room.first(copied), kind);
  if (head.length * kind > copied) text += "…";
  return text;
}

}  // namespace

std::string pythonText(std::span<const uint8_t> characters, uint32_t bytes_each) {
  std::string text;
  for (size_t at = 0; bytes_each != 0 && at + bytes_each <= characters.size(); at += bytes_each) {
    uint32_t character = 0;
    std::memcpy(&character, characters.data() + at, std::min<size_t>(bytes_each, 4));
    appendUtf8(text, character);
  }
  return text;
}

void PythonBook::add(std::span<const uint8_t> record, uint32_t space) {
  uint32_t kind = 0;
  if (record.size() < sizeof(kind)) return;
  std::memcpy(&kind, record.data(), sizeof(kind));
  if (kind == PYTHON_CODE && record.size() >= sizeof(python_code_record)) {
    const auto& code = *reinterpret_cast<const python_code_record*>(record.data());
    auto lines = record.subspan(sizeof(code));
    addCode(code, lines.first(std::min<size_t>(code.copied_bytes, lines.size())), space);
  } else if (kind == PYTHON_STACK && record.size() >= sizeof(python_stack_record)) {
    const auto& stack = *reinterpret_cast<const python_stack_record*>(record.data());
    if (stacks_.size() >= kMaxWaitingStacks) stacks_.clear();
    size_t frames = std::min<size_t>(stack.frames, PYTHON_FRAMES);
    stacks_[keyOf(space, stack.id)] = {stack.tgid, {stack.frame, stack.frame + frames}};
  }
}

void PythonBook::addCode(const python_code_record& record, std::span<const uint8_t> lines,
                         uint32_t space) {
  if (codes_.size() >= kMaxCodes) codes_.clear();
  Code& code = codes_[keyOf(space, record.number)];
  code.tgid = record.tgid;
  code.minor = record.minor;
  code.first_line = record.first_line;
  code.first_traceable = static_cast<uint32_t>(std::max(record.first_traceable, 0));
  code.function = textOf(record.name_head, record.name);
  code.file = textOf(record.file_head, record.file);
  code.lines.assign(lines.begin(), lines.end());
}

void PythonBook::setLoops(uint32_t tgid, std::vector<AddressRange> loops) {
  loops_[tgid] = std::move(loops);
}

void PythonBook::inherit(uint32_t tgid, uint32_t parent) {
  if (auto from = loops_.find(parent); from != loops_.end()) loops_.try_emplace(tgid, from->second);
}

void PythonBook::forget(uint32_t tgid) {
  loops_.erase(tgid);
  std::erase_if(stacks_, [&](const auto& entry) { return entry.second.tgid == tgid; });
  std::erase_if(codes_, [&](const auto& entry) { return entry.second.tgid == tgid; });
}

// Absent: a mark, a frame that has not begun, or one whose code object could not be read.
std::optional<PythonFrame> PythonBook::frameOf(uint64_t word, uint32_t space) const {
  auto found = codes_.find(keyOf(space, static_cast<uint32_t>(word >> 32)));
  if (found == codes_.end()) return std::nullopt;
  const Code& code = found->second;
  auto flags = static_cast<uint32_t>(word);
  uint32_t place = flags & PYTHON_PLACE;
  bool before = code.minor >= 11 ? (place == PYTHON_PLACE || place < code.first_traceable)
                                 : place == PYTHON_PLACE;
  if (before && code.minor >= 11 && (flags & PYTHON_GENERATOR) == 0) return std::nullopt;
  std::optional<uint32_t> at;
  if (!before) at = place;
  PythonFrame frame;
  frame.function = code.function;
  frame.file = code.file;
  frame.line = pythonLine(code.minor, code.lines, code.first_line, at);
  return frame;
}

bool PythonBook::isLoop(uint32_t tgid, uint64_t place) const {
  auto loops = loops_.find(tgid);
  if (loops == loops_.end()) return false;
  return std::any_of(loops->second.begin(), loops->second.end(), [&](const AddressRange& loop) {
    return place - 1 >= loop.begin && place - 1 < loop.end;
  });
}

SeenStack PythonBook::take(uint32_t id, std::vector<uint64_t> places, uint32_t space) {
  SeenStack merged(std::move(places));
  auto found = stacks_.find(keyOf(space, id));
  if (found == stacks_.end()) return merged;
  size_t at = 0;
  auto nextLoop = [&] {
    while (at < merged.places.size() && !isLoop(found->second.tgid, merged.places[at])) ++at;
  };
  nextLoop();
  for (uint64_t word : found->second.frames) {
    if (auto frame = frameOf(word, space)) {
      frame->at = at;
      merged.python.push_back(std::move(*frame));
    }
    if ((word & PYTHON_ENTRY) == 0 || at == merged.places.size()) continue;
    ++at;
    nextLoop();
  }
  stacks_.erase(found);
  return merged;
}

}  // namespace tidegauge::record
