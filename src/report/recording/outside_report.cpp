#include "report/recording/outside_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/format.h"
#include "base/sizes.h"
#include "report/words/file_names.h"
#include "report/words/holder_names.h"
#include "report/words/sentence_json.h"
#include "report/words/text_page.h"
#include "report/words/text_table.h"

namespace tidegauge::report {
namespace {

using analysis::Outside;
using analysis::OutsideAt;
using analysis::OutsideMoment;
using analysis::OutsideOfDevice;
using analysis::OutsideRow;
using base::counted;
using base::humanBytes;
using base::sizeOrZero;
using base::withCommas;
using nlohmann::json;

constexpr size_t kMaxOutsideJsonRows = 1000;
constexpr size_t kMaxMissing = 5;  // shown in sentences
constexpr int64_t kClocksAgreeNs = 1'000'000;

constexpr const char* kKeys[] = {"peak", "oom", "end"};
constexpr const char* kHeads[] = {"at the peak", "out of memory", "at the end"};
constexpr const char* kPlaces[] = {"at the peak", "at the out-of-memory event", "at the end"};

const char* keyOf(const OutsideMoment& moment) { return kKeys[static_cast<size_t>(moment.at)]; }
const char* headOf(const OutsideMoment& moment) { return kHeads[static_cast<size_t>(moment.at)]; }
const char* placeOf(const OutsideMoment& moment) { return kPlaces[static_cast<size_t>(moment.at)]; }

std::string duration(int64_t ns) {
  uint64_t us = (static_cast<uint64_t>(std::llabs(ns)) + 500) / 1000;
  if (us < 10'000) return withCommas(us) + " µs";
  if (us < 10'000'000) return withCommas((us + 500) / 1000) + " ms";
  return withCommas((us + 500'000) / 1'000'000) + " s";
}

// "12 µs later in the snapshot"
std::string apart(int64_t ns) {
  if (std::llabs(ns) < 500) return "at the same µs";
  return fmt::format("{} {} in the snapshot", duration(ns), ns > 0 ? "later" : "earlier");
}

std::string matchWords(const Outside& outside) {
  const analysis::SegmentMatch& match = outside.match;
  std::string words = fmt::format(
      "{} of {} of PyTorch's segments {} memory that the "
      "driver gave to this process at the same place{}",
      withCommas(match.matched), counted(match.pieces, "piece"), match.matched == 1 ? "is" : "are",
      match.by_content ? "" : " and time");
  if (match.older > 0) {
    words += fmt::format("; {} more {} older than the recording", withCommas(match.older),
                         match.older == 1 ? "is" : "are");
  }
  return words + ".";
}

std::string clockWords(const analysis::SegmentMatch& match) {
  if (match.by_content) {
    return "The snapshot has no times, so it is joined where the recording holds most of its final "
           "segments, and only there.";
  }
  if (!match.median_difference_ns) {
    return "No segment began in both files, so it is unknown whether their clocks agree.";
  }
  std::string times =
      fmt::format("segments begin {}, the farthest {}", apart(*match.median_difference_ns),
                  apart(*match.largest_difference_ns));
  bool agree = std::llabs(*match.median_difference_ns) <= kClocksAgreeNs;
  if (agree) return "The clocks agree: " + times + ".";
  return "The clocks do NOT agree: " + times +
         ". The figures of the recording are from a moment that far away.";
}

// What makes the figures inexact, one sentence each.
std::vector<std::string> boundWords(const Outside& outside) {
  std::vector<std::string> words;
  for (size_t i = 0; i < outside.missing.size() && i < kMaxMissing; ++i) {
    words.push_back("Incomplete: " + clean(outside.missing[i]) + ".");
  }
  if (outside.missing.size() > kMaxMissing) {
    words.push_back(
        fmt::format("Incomplete: {} more.", withCommas(outside.missing.size() - kMaxMissing)));
  }
  if (outside.isIncomplete()) words.push_back("The memory outside may therefore be more or less.");
  if (outside.mayHaveOlder()) {
    words.push_back(
        fmt::format("At least: the process {} memory before the recording, and it is not included.",
                    outside.hasOlder() ? "held" : "may have held"));
  }
  if (outside.bytes_without_address > 0) {
    words.push_back(fmt::format("At least: {} more are at addresses that were not recorded.",
                                humanBytes(outside.bytes_without_address)));
  }
  if (outside.unknown_device_bytes > 0) {
    words.push_back(fmt::format("{} more are on a device that no call names.",
                                humanBytes(outside.unknown_device_bytes)));
  }
  return words;
}

std::vector<HolderName> namesOf(const Outside& outside, const OutsideOfDevice& device,
                                size_t limit) {
  std::vector<analysis::StackGroup> groups;
  for (const OutsideRow& row : device.rows) {
    if (groups.size() == limit) break;
    analysis::StackGroup group;
    group.stack = row.stack;
    groups.push_back(group);
  }
  return holderNames(*outside.recording, groups, limit);
}

std::string kindOf(const OutsideRow& row) {
  std::string kind(model::name(row.kind));
  return row.was_in_segment ? kind + ", was PyTorch's" : kind;
}

// What the three figures of a table do not show.
std::vector<std::string> momentWords(const Outside& outside, const OutsideOfDevice& device) {
  std::vector<std::string> words;
  for (const OutsideMoment& moment : device.moments) {
    if (moment.refused_without_call) {
      words.push_back(
          moment.reported_free_bytes
              ? fmt::format("No call to the driver failed before the out-of-memory event: PyTorch "
                            "refused the request itself, after the driver reported {} as free.",
                            humanBytes(*moment.reported_free_bytes))
              : "No call to the driver failed before the out-of-memory event: PyTorch refused the "
                "request itself, as with a memory fraction.");
    }
    if (moment.difference_bytes != 0) {
      uint64_t apart = static_cast<uint64_t>(std::llabs(moment.difference_bytes));
      words.push_back(fmt::format(
          "A{}, the driver held {} {} than reserved and outside together: {}.", placeOf(moment) + 1,
          humanBytes(apart), moment.difference_bytes > 0 ? "more" : "less",
          moment.difference_bytes > 0 ? "segments that PyTorch had released, or not noted yet"
                                      : "segments that the recording does not know"));
    }
    if (moment.least_outside_bytes != moment.most_outside_bytes) {
      words.push_back(fmt::format(
          "The end is when the snapshot was taken, and no file says when that was: {} to {} were "
          "outside in that time.",
          humanBytes(moment.least_outside_bytes), humanBytes(moment.most_outside_bytes)));
    }
  }
  if (device.ordinal == model::kHostOrdinal && !outside.knows_pinned) {
    words.push_back(
        "The snapshot does not contain PyTorch's pinned host memory, so all of it counts as "
        "outside.");
  }
  return words;
}

std::string deviceName(const OutsideOfDevice& device) {
  return device.ordinal == model::kHostOrdinal ? "pinned host memory"
                                               : fmt::format("cuda:{}", device.ordinal);
}

class OutsideText {
 public:
  OutsideText(const Outside& outside, const TextOptions& options)
      : outside_(outside), options_(options), page_(options.columns, options.colour) {}

  std::string write() {
    page_.heading(fmt::format("Memory outside PyTorch, by {}",
                              lastParts(outside_.recording->trace.source.name, 2)));
    page_.bullet(matchWords(outside_));
    page_.bullet(clockWords(outside_.match));
    for (const std::string& words : boundWords(outside_)) page_.bullet(words);
    for (const OutsideOfDevice& device : outside_.devices) section(device);
    page_.blank();
    page_.faint(
        "reserved: PyTorch's segments, by the snapshot; outside: what else the driver handed out "
        "to this process, by the recording; driver: all that it handed out. Contexts and code are "
        "allocated by no call and are in none of them. The end is when the snapshot was taken.",
        2, 2);
    return page_.take();
  }

 private:
  void section(const OutsideOfDevice& device) {
    page_.blank();
    const OutsideMoment& worst =
        *std::max_element(device.moments.begin(), device.moments.end(),
                          [](const OutsideMoment& a, const OutsideMoment& b) {
                            return a.outside_bytes < b.outside_bytes;
                          });
    const char* bound = outside_.isIncomplete() ? "about "
                        : outside_.isAtLeast()  ? "at least "
                                                : "";
    bool is_range = worst.least_outside_bytes != worst.most_outside_bytes;
    page_.heading(is_range ? fmt::format("{}: {}{} to {} outside PyTorch {}", deviceName(device),
                                         bound, sizeOrZero(worst.least_outside_bytes),
                                         humanBytes(worst.most_outside_bytes), headOf(worst))
                           : fmt::format("{}: {}{} outside PyTorch in {} {}", deviceName(device),
                                         bound, sizeOrZero(worst.outside_bytes),
                                         counted(worst.blocks, "block"), headOf(worst)),
                  2);
    std::vector<TextRow> rows;
    TextRow heads;
    auto add = [&](const char* name, auto&& bytes) {
      TextRow row;
      for (const OutsideMoment& moment : device.moments) row.numbers.push_back(bytes(moment));
      row.name = name;
      rows.push_back(std::move(row));
    };
    for (const OutsideMoment& moment : device.moments) heads.numbers.emplace_back(headOf(moment));
    rows.push_back(heads);
    add("reserved by PyTorch", [](const auto& m) { return sizeOrZero(m.reserved_bytes); });
    add("outside PyTorch", [](const auto& m) { return sizeOrZero(m.outside_bytes); });
    add("driver", [](const auto& m) { return sizeOrZero(m.driver_bytes); });
    printTable(page_, rows);
    for (const std::string& words : momentWords(outside_, device)) page_.bullet(words);
    holders(device);
  }

  void holders(const OutsideOfDevice& device) {
    if (device.rows.empty()) return;
    page_.blank();
    page_.line("  Holders, with the kind of memory:");
    std::vector<HolderName> names = namesOf(outside_, device, options_.holders);
    std::vector<TextRow> rows;
    TextRow heads;
    for (const OutsideMoment& moment : device.moments) heads.numbers.emplace_back(headOf(moment));
    rows.push_back(heads);
    for (size_t i = 0; i < names.size(); ++i) {
      TextRow row;
      for (uint64_t bytes : device.rows[i].bytes) row.numbers.push_back(sizeOrZero(bytes));
      row.name = fmt::format("{} ({})", oneName(names[i]), kindOf(device.rows[i]));
      rows.push_back(std::move(row));
    }
    printTable(page_, rows);
    if (names.size() < device.rows.size()) {
      page_.line(fmt::format("  {} more", withCommas(device.rows.size() - names.size())));
    }
  }

  const Outside& outside_;
  const TextOptions& options_;
  TextPage page_;
};

json orNull(const std::optional<int64_t>& value) { return value ? json(*value) : json(); }

json momentsJson(const OutsideOfDevice& device) {
  json moments = json::array();
  for (const OutsideMoment& moment : device.moments) {
    moments.push_back({{"at", keyOf(moment)},
                       {"step", moment.step ? json(*moment.step) : json()},
                       {"time_ns", moment.time_ns},
                       {"reserved_bytes", moment.reserved_bytes},
                       {"outside_bytes", moment.outside_bytes},
                       {"outside_blocks", moment.blocks},
                       {"driver_bytes", moment.driver_bytes},
                       {"difference_bytes", moment.difference_bytes},
                       {"least_outside_bytes", moment.least_outside_bytes},
                       {"most_outside_bytes", moment.most_outside_bytes},
                       {"refused_without_call", moment.refused_without_call},
                       {"reported_free_bytes",
                        moment.reported_free_bytes ? json(*moment.reported_free_bytes) : json()}});
  }
  return moments;
}

json rowsJson(const Outside& outside, const OutsideOfDevice& device) {
  std::vector<HolderName> names = namesOf(outside, device, kMaxOutsideJsonRows);
  json rows = json::array();
  for (size_t i = 0; i < names.size(); ++i) {
    const OutsideRow& row = device.rows[i];
    json stack = json::array();
    if (row.stack.valid()) {
      const model::Trace& trace = outside.recording->trace;
      model::FrameList frames = trace.stacks.framesOf(row.stack);
      for (size_t at = 0; at < trace.stacks.depth(row.stack); ++at) {
        stack.push_back(clean(outside.recording->labels.frameText(frames[at])));
      }
    }
    json of_moments = json::array();
    for (size_t at = 0; at < row.bytes.size(); ++at) {
      of_moments.push_back({{"at", keyOf(device.moments[at])},
                            {"bytes", row.bytes[at]},
                            {"blocks", row.blocks[at]}});
    }
    rows.push_back({{"label", clean(names[i].label)},
                    {"caller", clean(names[i].caller)},
                    {"stack_id", row.stack.valid() ? json(row.stack.value) : json()},
                    {"stack", stack},
                    {"kind", model::name(row.kind)},
                    {"was_in_segment", row.was_in_segment},
                    {"moments", of_moments}});
  }
  return rows;
}

}  // namespace

std::string outsideText(const Outside& outside, const TextOptions& options) {
  return OutsideText(outside, options).write();
}

json outsideJson(const Outside& outside) {
  json devices = json::array();
  for (const OutsideOfDevice& device : outside.devices) {
    devices.push_back({{"device", device.ordinal},
                       {"moments", momentsJson(device)},
                       {"rows", rowsJson(outside, device)},
                       {"rows_total", device.rows.size()}});
  }
  const analysis::SegmentMatch& match = outside.match;
  json bounds = json::array();
  for (const std::string& words : boundWords(outside)) bounds.push_back(words);
  return {{"process", clean(outside.recording->trace.source.name)},
          {"match",
           {{"pieces", match.pieces},
            {"matched", match.matched},
            {"older", match.older},
            {"by_content", match.by_content},
            {"median_difference_ns", orNull(match.median_difference_ns)},
            {"largest_difference_ns", orNull(match.largest_difference_ns)}}},
          {"incomplete", outside.isIncomplete()},
          {"at_least", outside.isAtLeast()},
          {"bounds", bounds},
          {"knows_pinned", outside.knows_pinned},
          {"unknown_device_bytes", outside.unknown_device_bytes},
          {"devices", devices}};
}

}  // namespace tidegauge::report
