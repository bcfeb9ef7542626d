#include "readers/torch/assemble.h"

#include <fmt/format.h>

#include <algorithm>

#include "readers/torch/snapshot_reader.h"

namespace tidegauge::readers::torch {
namespace {

base::Error noSnapshot(std::string_view what) {
  return {base::ErrorKind::kUnreadable, fmt::format("{}: it is {}", kNotASnapshot, what),
          std::nullopt,
          "Create a snapshot with torch.cuda.memory._dump_snapshot(\"file.pickle\")."};
}

// "a number", for a top level that is not a dict.
std::string_view kindOf(const Values& values, Value top) {
  switch (values.shapeOf(top)) {
    case Values::Shape::kEvent:
      return "a single trace entry";
    case Values::Shape::kFrame:
      return "a single frame";
    default:
      break;
  }
  if (top.isString()) return "a text";
  if (top.tag() == Tag::kNone) return "None";
  bool list = top.isSequence() || top.tag() == Tag::kPair || top.tag() == Tag::kStack;
  if (list) return "a list of something else";
  return top.tag() == Tag::kBytes ? "bytes" : "a number";
}

// A bare list of segments, as torch.cuda.memory_snapshot() returns it?
bool isSegmentList(const Values& values, Value top) {
  if (top.tag() == Tag::kEmptyList) return true;
  if (top.tag() != Tag::kList) return false;
  bool all_segments = true;
  values.tree().forEachItem(top.index(), [&](Value item) {
    bool segment = false;
    if (isOtherDict(values, item)) {
      values.tree().forEachPair(item.index(), [&](Value key, Value) {
        segment |= key.word() == Word::kBlocks || key.word() == Word::kTotalSize;
      });
    }
    all_segments &= segment;
  });
  return all_segments;
}

bool hasNoData(const model::Device& device) {
  return device.event_begin == device.event_end &&
         device.final_segment_begin == device.final_segment_end;
}

}  // namespace

model::Device& deviceRow(model::Trace& trace, int32_t ordinal) {
  // Ordinals ascend, pinned host memory (−1) comes last.
  auto order = [](int32_t number) { return static_cast<uint32_t>(number); };
  auto place = std::lower_bound(trace.devices.begin(), trace.devices.end(), ordinal,
                                [&](const model::Device& device, int32_t number) {
                                  return order(device.ordinal) < order(number);
                                });
  if (place == trace.devices.end() || place->ordinal != ordinal) {
    model::Device device;
    device.ordinal = ordinal;
    device.kind =
        ordinal == kHostOrdinal ? model::DeviceKind::kPinnedHost : model::DeviceKind::kGpu;
    place = trace.devices.insert(place, device);
  }
  return *place;
}

base::Status assemble(model::Trace& trace, Columns& columns, Value top) {
  Value segments, traces, host_segments, host_traces, annotations, settings, names;
  const Values& values = columns.values();
  if (isSegmentList(values, top)) {
    segments = top;
  } else if (values.shapeOf(top) == Values::Shape::kOther) {
    if (top.tag() == Tag::kDict) {
      KeySet keys;
      values.tree().forEachPair(top.index(), [&](Value key, Value value) {
        if (!keys.meet(key.word())) columns.oddities().duplicateKey(Place::kTopLevel, key);
        switch (key.word()) {
          case Word::kSegments:
            segments = value;
            break;
          case Word::kDeviceTraces:
            traces = value;
            break;
          case Word::kHostSegments:
            host_segments = value;
            break;
          case Word::kHostTraces:
            host_traces = value;
            break;
          case Word::kExternalAnnotations:
            annotations = value;
            break;
          case Word::kAllocatorSettings:
            settings = value;
            break;
          case Word::kTidegauge:
            names = value;
            break;
          default:
            columns.oddities().unknownKey(Place::kTopLevel, key);
            break;
        }
      });
    }
    if (segments.tag() == Tag::kNothing && traces.tag() == Tag::kNothing) {
      bool empty = top.tag() == Tag::kEmptyDict || values.tree().itemCount(top.index()) == 0;
      return noSnapshot(empty ? "an empty dict without the keys 'segments' and 'device_traces'"
                              : "a dict without the keys 'segments' and 'device_traces'");
    }
  } else {
    return noSnapshot(
        fmt::format("{}, not a dict with 'segments' or a list of segments", kindOf(values, top)));
  }
  columns.finishEvents();
  TG_RETURN_IF_ERROR(assembleEvents(trace, columns, traces, host_traces));
  TG_RETURN_IF_ERROR(assembleSegments(trace, columns, segments, host_segments));
  columns.finishForward();
  assembleSettings(trace, columns, settings);
  assembleAnnotations(trace, columns, annotations);
  assembleTensors(trace, columns, names);
  if (values.tree().exhausted()) {
    return base::Error{
        base::ErrorKind::kLimit,
        "the file cannot be read, because it refers to the same parts from too many places",
        std::nullopt, "PyTorch does not write such files."};
  }
  std::erase_if(trace.devices, hasNoData);
  // A list of segments has no place for events: history may have been on.
  bool has_list = traces.tag() != Tag::kNothing || host_traces.tag() != Tag::kNothing;
  if (!has_list && trace.final_segments.size() > 0)
    trace.issues.add({.kind = model::IssueKind::kNoEventList});
  // Stacks of blocks show that history was on (only_state, recording_issues.h).
  auto has_stack = [](const std::vector<model::StackId>& stacks) {
    return std::any_of(stacks.begin(), stacks.end(), [](model::StackId s) { return s.valid(); });
  };
  bool was_on = has_stack(trace.final_blocks.stack) || has_stack(trace.final_segments.stack);
  bool could_have_events = trace.issues.count(model::IssueKind::kNoEventList) == 0;
  if (trace.events.size() == 0 && !was_on && could_have_events) {
    model::Issue issue;
    issue.kind = model::IssueKind::kNoTrace;
    trace.issues.add(std::move(issue));
  }
  if (values.repairedTexts() > 0) {
    model::Issue issue;
    issue.kind = model::IssueKind::kBadValue;
    issue.count = values.repairedTexts();
    issue.detail = "text that is not UTF-8";
    trace.issues.add(std::move(issue));
  }
  if (values.cutTexts() > 0) {
    model::Issue issue;
    issue.kind = model::IssueKind::kCutText;
    issue.count = values.cutTexts();
    trace.issues.add(std::move(issue));
  }
  columns.oddities().moveTo(trace.issues);
  return base::okStatus();
}

}  // namespace tidegauge::readers::torch
