#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "readers/torch/assemble.h"

namespace tidegauge::readers::torch {
namespace {

constexpr int kMaxDepth = 8;
constexpr uint64_t kMaxLookedAt = uint64_t{1} << 20;

class SnapshotSearch {
 public:
  explicit SnapshotSearch(Columns& columns) : values_(columns.values()) {}

  void look(Value value, const std::string& path, int depth) {
    if (++looked_at_ > kMaxLookedAt || found_.size() > kMaxWrapped) return;
    if (value.tag() == Tag::kDict && values_.shapeOf(value) == Values::Shape::kOther) {
      if (hasKeyOf(value, Word::kSegments, Word::kDeviceTraces)) {
        found_.push_back({value, path});
      } else if (depth < kMaxDepth) {
        lookIntoDict(value, path, depth);
      }
    } else if (value.isSequence() && depth < kMaxDepth) {
      lookIntoList(value, path, depth);
    }
  }
  std::vector<FoundSnapshot> take() { return std::move(found_); }

 private:
  bool hasKeyOf(Value dict, Word a, Word b) const {
    bool has = false;
    values_.tree().forEachPair(
        dict.index(), [&](Value key, Value) { has |= key.word() == a || key.word() == b; });
    return has;
  }

  void lookIntoDict(Value dict, const std::string& path, int depth) {
    std::vector<std::pair<Value, Value>> pairs;
    values_.tree().forEachPair(dict.index(),
                               [&](Value key, Value value) { pairs.emplace_back(key, value); });
    for (const auto& [key, value] : pairs) {
      if (!isContainer(value)) continue;
      std::string name = path.empty() ? std::string() : path + '.';
      name += values_.describe(key);
      look(value, name, depth + 1);
    }
  }

  void lookIntoList(Value list, const std::string& path, int depth) {
    std::vector<Value> items;
    values_.tree().forEachItem(list.index(), [&](Value item) { items.push_back(item); });
    // A list of segments, as torch.cuda.memory_snapshot() returns it.
    if (!items.empty() && items.front().tag() == Tag::kDict &&
        values_.shapeOf(items.front()) == Values::Shape::kOther &&
        hasKeyOf(items.front(), Word::kBlocks, Word::kTotalSize)) {
      found_.push_back({list, path});
      return;
    }
    for (size_t i = 0; i < items.size(); ++i) {
      if (isContainer(items[i])) look(items[i], fmt::format("{}[{}]", path, i), depth + 1);
    }
  }

  static bool isContainer(Value value) { return value.tag() == Tag::kDict || value.isSequence(); }

  Values& values_;
  std::vector<FoundSnapshot> found_;
  uint64_t looked_at_ = 0;
};

}  // namespace

std::vector<FoundSnapshot> findSnapshots(Columns& columns, Value top) {
  SnapshotSearch search(columns);
  search.look(top, "", 0);
  std::vector<FoundSnapshot> found = search.take();
  if (found.empty()) found.push_back({top, ""});
  return found;
}

}  // namespace tidegauge::readers::torch
