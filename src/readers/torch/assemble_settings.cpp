#include <bit>
#include <charconv>

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
      default:
        break;
    }
  });
}

}  // namespace tidegauge::readers::torch
