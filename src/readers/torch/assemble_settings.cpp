#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include "readers/torch/assemble.h"

namespace tidegauge::readers::torch {
namespace {

// {"1": 0, "2": 4, "4": 8 …}: divisions by size class; the key is the class's lower end in MiB.
void readDivisions(model::AllocatorSettings& settings, Columns& columns, Value dict) {
  if (!isOtherDict(columns.values(), dict)) return;
  const Values& values = columns.values();
  values.tree().forEachPair(dict.index(), [&](Value key, Value value) {
    std::string_view text = values.textOf(key);
    uint32_t size_mib = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size_mib);
    auto divisions = values.unsignedOf(value);
    bool known = error == std::errc() && end == text.data() + text.size() &&
                 std::has_single_bit(size_mib) && size_mib <= 32768 && divisions &&
                 *divisions <= 0xffffffff;
    if (known) {
      auto size_class = static_cast<size_t>(std::countr_zero(size_mib));
      settings.roundup_power2_divisions[size_class] = static_cast<uint32_t>(*divisions);
    } else {
      columns.oddities().badValue(Place::kTopLevel, "roundup_power2_divisions");
    }
  });
}

// "expandable_segments:True,roundup_power2_divisions:[256:1,>:8]" → its parts. Spaces have no
// meaning, as in PyTorch's parser.
std::vector<model::AskedSetting> partsOf(std::string_view conf) {
  std::string text;
  std::copy_if(conf.begin(), conf.end(), std::back_inserter(text),
               [](char c) { return c != ' ' && c != '\t' && c != '\n'; });
  std::vector<model::AskedSetting> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    bool ends = i == text.size() || (text[i] == ',' && depth == 0);
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']' && depth > 0) --depth;
    if (!ends) continue;
    std::string_view part = std::string_view(text).substr(begin, i - begin);
    size_t colon = std::min(part.find(':'), part.size());
    if (!part.empty()) {
      parts.push_back({.key = std::string(part.substr(0, colon)),
                       .asked = std::string(part.substr(std::min(colon + 1, part.size()))),
                       .in_effect = {}});
    }
    begin = i + 1;
  }
  return parts;
}

std::optional<double> numberOf(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// What the settings in the file say of a part of the conf string, if they do.
void compare(model::AskedSetting& part, const model::AllocatorSettings& settings) {
  struct Stated {
    std::string_view asked, stated;
    double unit;  // of what was asked for, in that of what is stated
  };
  constexpr Stated kStated[] = {
      {"expandable_segments", "expandable_segments", 1},
      {"max_split_size_mb", "max_split_size", 1 << 20},
      {"garbage_collection_threshold", "garbage_collection_threshold", 1},
      {"release_lock_on_cudamalloc", "release_lock_on_cudamalloc", 1},
      {"graph_capture_record_stream_reuse", "graph_capture_record_stream_reuse", 1},
      {"pinned_use_cuda_host_register", "pinned_use_cuda_host_register", 1},
      {"pinned_num_register_threads", "pinned_num_register_threads", 1}};
  const auto* known = std::find_if(std::begin(kStated), std::end(kStated),
                                   [&](const Stated& it) { return it.asked == part.key; });
  if (known == std::end(kStated)) return;
  auto item = std::find_if(settings.items.begin(), settings.items.end(),
                           [&](const auto& it) { return it.first == known->stated; });
  if (item == settings.items.end()) return;
  std::optional<double> asked = numberOf(part.asked), stated = numberOf(item->second);
  bool numbers = asked && stated;
  part.differs = numbers ? std::abs(*asked * known->unit - *stated) > 1e-9 * std::abs(*stated)
                         : part.asked != item->second;
  part.in_effect = part.differs ? item->second : part.asked;
}

}  // namespace

void assembleSettings(model::Trace& trace, Columns& columns, Value dict) {
  model::AllocatorSettings& settings = trace.settings;
  Values& values = columns.values();
  settings.present = values.shapeOf(dict) == Values::Shape::kOther;
  if (!settings.present && dict.tag() != Tag::kNothing && dict.tag() != Tag::kNone) {
    columns.oddities().badValue(Place::kTopLevel, "allocator_settings");
  }
  if (!isOtherDict(values, dict)) return;
  values.tree().forEachPair(dict.index(), [&](Value key, Value value) {
    settings.items.emplace_back(values.describe(key), values.describe(value));
    switch (key.word()) {
      case Word::kCudaAllocConf:
      case Word::kAllocConf:
        settings.conf = settings.items.back().second;
        break;
      case Word::kExpandableSegments:
        settings.expandable_segments = values.boolOf(value).value_or(false);
        break;
      case Word::kMaxSplitSize:
        // −1 = unlimited
        settings.max_split_bytes = values.unsignedOf(value).value_or(model::kUnknownBytes);
        break;
      case Word::kRoundupPower2Divisions:
        readDivisions(settings, columns, value);
        break;
      case Word::kTraceAllocOverflowed:
        if (values.boolOf(value).value_or(false)) {
          model::Issue issue;
          issue.kind = model::IssueKind::kRingOverflow;
          issue.detail = "the file's settings say so";
          trace.issues.add(std::move(issue));
        }
        break;
      case Word::kMaxRoundThreshold:
        // −1 = unlimited
        settings.pinned_round_limit_bytes = values.unsignedOf(value).value_or(model::kUnknownBytes);
        break;
      default:
        break;
    }
  });
  settings.asked = partsOf(settings.conf);
  for (model::AskedSetting& part : settings.asked) compare(part, settings);
}

}  // namespace tidegauge::readers::torch
