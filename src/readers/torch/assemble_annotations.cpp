#include <algorithm>
#include <queue>

#include "readers/torch/assemble.h"

namespace tidegauge::readers::torch {
namespace {

struct Mark {
  bool start = false;
  model::StringId name;
  int32_t device = 0;
  int64_t time_us = model::kNoTime;
};

std::vector<Mark> marksOf(Columns& columns, Value list) {
  std::vector<Mark> marks;
  Values& values = columns.values();
  Oddities& odd = columns.oddities();
  if (!list.isSequence()) return marks;
  values.tree().forEachItem(list.index(), [&](Value item) {
    if (!isOtherDict(values, item)) {
      odd.badValue(Place::kTopLevel, "external_annotations");
      return;
    }
    Mark mark;
    Value stage;
    KeySet keys;
    values.tree().forEachPair(item.index(), [&](Value key, Value value) {
      if (!keys.meet(key.word())) odd.duplicateKey(Place::kAnnotation, key);
      switch (key.word()) {
        case Word::kName:
          mark.name = values.internDescribed(value);
          break;
        case Word::kStage:
          stage = value;
          break;
        case Word::kDevice: {
          auto ordinal = values.signedOf(value);
          bool known = ordinal && *ordinal >= kHostOrdinal && *ordinal < kMaxDevices;
          if (!known) odd.badValue(Place::kAnnotation, "device");
          mark.device = known ? static_cast<int32_t>(*ordinal) : kHostOrdinal;
          break;
        }
        case Word::kTimeUs: {
          auto time_us = values.signedOf(value);
          mark.time_us = time_us && Columns::isTime(*time_us) ? *time_us : model::kNoTime;
          break;
        }
        default:
          odd.unknownKey(Place::kAnnotation, key);
          break;
      }
    });
    mark.start = stage.word() == Word::kStart;
    if (!mark.start && stage.word() != Word::kEnd) {
      odd.badValue(Place::kAnnotation, "stage");
    } else if (mark.time_us == model::kNoTime) {
      odd.badValue(Place::kAnnotation, "time_us");
    } else {
      if (!mark.name.valid()) mark.name = values.strings().intern("");
      marks.push_back(mark);
    }
  });
  return marks;
}

// The lowest free row of bands: neighbours never share one while both are open.
class DepthPool {
 public:
  uint16_t take() {
    if (free_.empty()) return next_ < 0xffff ? next_++ : uint16_t{0xffff};
    uint16_t depth = free_.top();
    free_.pop();
    return depth;
  }
  void release(uint16_t depth) {
    if (depth < 0xffff) free_.push(depth);
  }

 private:
  uint16_t next_ = 0;
  std::priority_queue<uint16_t, std::vector<uint16_t>, std::greater<>> free_;
};

void report(model::Trace& trace, model::IssueKind kind, const Mark& mark) {
  model::Issue issue;
  issue.kind = kind;
  issue.device = mark.device;
  trace.issues.add(std::move(issue));
}

int64_t earliestTime(const model::Trace& trace, const std::vector<Mark>& marks) {
  int64_t earliest_us = marks.front().time_us;
  for (int64_t time_us : trace.events.time_us) {
    if (time_us != model::kNoTime) earliest_us = std::min(earliest_us, time_us);
  }
  return earliest_us;
}

}  // namespace

// START and END have no thread, so ranges of one name on one device are matched as a stack.
void assembleAnnotations(model::Trace& trace, Columns& columns, Value list) {
  if (list.tag() != Tag::kNothing && list.tag() != Tag::kEmptyList && list.tag() != Tag::kNone &&
      !list.isSequence()) {
    columns.oddities().badValue(Place::kTopLevel, "external_annotations");
  }
  std::vector<Mark> marks = marksOf(columns, list);
  if (marks.empty()) return;
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.time_us < b.time_us; });

  model::Annotations& rows = trace.annotations;
  boost::unordered_flat_map<std::pair<int32_t, uint32_t>, std::vector<size_t>> open;
  boost::unordered_flat_map<int32_t, DepthPool> depths;
  std::vector<Mark> started;
  auto add = [&](const Mark& mark, int64_t begin_us, int64_t end_us, uint16_t depth) {
    rows.name.push_back(mark.name);
    rows.device.push_back(mark.device);
    rows.begin_us.push_back(begin_us);
    rows.end_us.push_back(end_us);
    rows.depth.push_back(depth);
  };
  int64_t earliest_us = earliestTime(trace, marks);
  for (const Mark& mark : marks) {
    auto& stack = open[{mark.device, mark.name.value}];
    DepthPool& pool = depths[mark.device];
    if (mark.start) {
      stack.push_back(rows.size());
      add(mark, mark.time_us, model::kNoTime, pool.take());
    } else if (!stack.empty()) {
      rows.end_us[stack.back()] = mark.time_us;
      pool.release(rows.depth[stack.back()]);
      stack.pop_back();
    } else {
      report(trace, model::IssueKind::kUnmatchedAnnotationEnd, mark);
      add(mark, earliest_us, mark.time_us, 0);
    }
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.end_us[row] != model::kNoTime) continue;
    Mark mark;
    mark.device = rows.device[row];
    report(trace, model::IssueKind::kMissingAnnotationEnd, mark);
  }
}

}  // namespace tidegauge::readers::torch
