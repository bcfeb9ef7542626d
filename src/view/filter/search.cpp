#include "view/filter/search.h"

#include <algorithm>

#include "base/ascii.h"
#include "model/tensors/tensors.h"
#include "view/filter/search_words.h"

namespace tidegauge::view {
namespace {

using model::StackId;
using model::StringId;

// Finds a lower-case literal in texts of any case, without copying them.
bool containsLower(std::string_view text, std::string_view literal) {
  if (literal.empty()) return true;
  if (text.size() < literal.size()) return false;
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (size_t i = 0; i + literal.size() <= text.size(); ++i) {
    size_t k = 0;
    while (k < literal.size() && lower(text[i + k]) == literal[k]) ++k;
    if (k == literal.size()) return true;
  }
  return false;
}

// Which strings contain a literal; each is checked on first use.
class StringMatch {
 public:
  StringMatch(const base::StringPool& strings, std::string_view literal)
      : strings_(strings), literal_(literal), known_(strings.size(), kUnknown) {}

  bool has(StringId id) {
    if (!id.valid()) return false;
    uint8_t& known = known_[id.index()];
    if (known == kUnknown) known = containsLower(strings_.text(id), literal_) ? kYes : kNo;
    return known == kYes;
  }

 private:
  enum : uint8_t { kUnknown, kNo, kYes };
  const base::StringPool& strings_;
  std::string literal_;
  std::vector<uint8_t> known_;
};

// The matches of one word.
class WordMatch {
 public:
  WordMatch(const model::Trace& trace, const model::Device& device, const SearchWord& word)
      : trace_(trace),
        a_(trace.allocations),
        device_(device),
        word_(word),
        strings_(trace.strings, word.text) {
    if (!word.size) matchStacks();
    if (!word.size && trace.tensors) matchTensors();
  }

  bool has(uint32_t row) {
    if (word_.size) return hasSize(row);
    if (word_.address && isAround(row)) return true;
    StackId stack = a_.stack[row];
    if (stack.valid() && stacks_[stack.index()]) return true;
    if (!a_.category.empty() && strings_.has(a_.category[row])) return true;
    if (std::binary_search(named_.begin(), named_.end(), row)) return true;
    if (trace_.events.metadata.empty() || !a_.has(row, model::kAllocSeen)) return false;
    return strings_.has(trace_.events.metadata[device_.event_begin + a_.first_step[row]]);
  }

 private:
  void matchStacks() {
    const model::Frames& frames = trace_.frames;
    std::vector<bool> frame_matches(frames.size());
    StringMatch file(trace_.strings, word_.file);
    for (size_t f = 0; f < frames.size(); ++f) {
      frame_matches[f] =
          strings_.has(frames.function[f]) || strings_.has(frames.file[f]) ||
          (!word_.file.empty() && frames.line[f] == word_.line && file.has(frames.file[f]));
    }
    const model::Stacks& stacks = trace_.stacks;
    stacks_.resize(stacks.size());
    for (size_t s = 0; s < stacks.size(); ++s) {
      model::FrameList frames_of = stacks.framesOf(StackId(static_cast<uint32_t>(s)));
      stacks_[s] = std::any_of(frames_of.begin(), frames_of.end(),
                               [&](model::FrameId f) { return frame_matches[f.index()]; });
    }
  }

  void matchTensors() {
    const model::Tensors& tensors = *trace_.tensors;
    for (uint32_t tensor : tensors.by_allocation) {
      if (strings_.has(tensors.name[tensor])) named_.push_back(tensors.allocation[tensor].value);
    }
  }

  bool hasSize(uint32_t row) const {
    auto inside = [&](uint64_t bytes) {
      return word_.size->least_bytes <= bytes && bytes <= word_.size->most_bytes;
    };
    return inside(a_.block_bytes[row]) || (word_.size->exact && inside(a_.requested_bytes[row]));
  }

  bool isAround(uint32_t row) const {
    uint64_t begin = a_.address[row];
    if (word_.address->version) {
      return begin == word_.address->address && a_.version[row] == *word_.address->version;
    }
    return begin <= word_.address->address &&
           word_.address->address - begin < std::max<uint64_t>(a_.block_bytes[row], 1);
  }

  const model::Trace& trace_;
  const model::Allocations& a_;
  const model::Device& device_;
  const SearchWord& word_;
  StringMatch strings_;
  std::vector<bool> stacks_;
  std::vector<uint32_t> named_;  // allocations that hold a tensor of that name, in order
};

std::vector<uint32_t> matchingRows(const model::Trace& trace, const model::Device& device,
                                   const std::vector<SearchWord>& words) {
  std::vector<uint32_t> rows;
  for (size_t w = 0; w < words.size(); ++w) {
    WordMatch match(trace, device, words[w]);
    if (w > 0) {
      std::erase_if(rows, [&](uint32_t row) { return !match.has(row); });
      continue;
    }
    for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
      if (match.has(static_cast<uint32_t>(row))) rows.push_back(static_cast<uint32_t>(row));
    }
  }
  return rows;
}

void addStacks(const model::Trace& trace, SearchResult& result) {
  const model::Allocations& a = trace.allocations;
  std::vector<uint32_t> hit_of(trace.stacks.size(), UINT32_MAX);
  for (uint32_t row : result.rows) {
    result.bytes += a.block_bytes[row];
    if (!a.stack[row].valid()) continue;
    uint32_t& index = hit_of[a.stack[row].index()];
    if (index == UINT32_MAX) {
      index = static_cast<uint32_t>(result.stacks.size());
      result.stacks.push_back({.stack = a.stack[row], .first_row = row});
    }
    result.stacks[index].count++;
    result.stacks[index].bytes += a.block_bytes[row];
  }
  std::stable_sort(result.stacks.begin(), result.stacks.end(),
                   [](const StackHit& x, const StackHit& y) { return x.bytes > y.bytes; });
}

void addAnnotations(const model::Trace& trace, SearchResult& result) {
  if (result.words.empty()) return;
  std::vector<StringMatch> matches;
  for (const std::string& word : result.words) matches.emplace_back(trace.strings, word);
  for (uint32_t row = 0; row < trace.annotations.size(); ++row) {
    StringId name = trace.annotations.name[row];
    auto has = [&](StringMatch& match) { return match.has(name); };
    if (std::all_of(matches.begin(), matches.end(), has)) result.annotations.push_back(row);
  }
  const std::vector<int64_t>& begin_us = trace.annotations.begin_us;
  std::stable_sort(result.annotations.begin(), result.annotations.end(),
                   [&](uint32_t x, uint32_t y) { return begin_us[x] < begin_us[y]; });
}

}  // namespace

SearchResult search(const analysis::AnalysedTrace& analysed, const model::Device& device,
                    std::string_view query) {
  std::vector<SearchWord> words = searchWords(query);
  SearchResult result;
  for (const SearchWord& word : words) {
    if (word.address) result.address = word.address->address;
    if (!word.size) result.words.push_back(word.text);
  }
  result.rows = matchingRows(analysed.trace, device, words);
  addStacks(analysed.trace, result);
  addAnnotations(analysed.trace, result);
  return result;
}

std::pair<size_t, size_t> matchIn(std::string_view text, const std::vector<std::string>& words) {
  std::string lower = base::lowerAscii(text);
  for (const std::string& word : words) {
    size_t begin = lower.find(word);
    if (begin != std::string::npos) return {begin, begin + word.size()};
  }
  return {0, 0};
}

}  // namespace tidegauge::view
