// The story of one device in sentences, each with its numbers and the place that shows them. The
// report prints them, the page's overview links them.
//
//   "4,008 MiB were asked for, 3,842 MiB were left. 807 MiB lay free in 27 pieces."
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/advice.h"
#include "analysis/summary.h"
#include "base/format.h"

namespace tidegauge::exporting {

struct Part {
  enum class Style : uint8_t { kPlain, kStrong, kCode };
  std::string text;
  Style style = Style::kPlain;
};

struct Link {
  std::string view;   // "timeline"
  std::string label;  // "Timeline"
  std::vector<std::pair<std::string, std::string>> params;
};

struct Sentence {
  std::vector<Part> parts;
  std::optional<Link> link;
  std::string sql{};  // its result holds every number of the sentence
};

struct Finding {
  enum class Severity : uint8_t { kHigh, kMedium, kLow };
  Severity severity = Severity::kLow;
  std::vector<Part> parts;
  std::optional<uint64_t> bytes;
  std::optional<Link> link;
  std::optional<base::ByteUnit> unit{};  // of the headline, if it names the same bytes
  std::string sql{};                     // its result holds every number of the finding
};

struct Story {
  enum class Kind : uint8_t { kOom, kPeak, kState };
  Kind kind = Kind::kPeak;
  std::string eyebrow;  // "Out of memory"
  std::optional<analysis::Step> step;
  std::string headline;
  std::string headline_sql;
  std::vector<Sentence> sentences;
  std::vector<Finding> findings;  // worst first
  std::vector<analysis::Advice> advice{};
};

// `capacity_bytes` of the device, where somebody told it.
Story tellStory(const analysis::AnalysedTrace& analysed, const analysis::DeviceSummary& summary,
                std::optional<uint64_t> capacity_bytes = {});

// The first step that an issue is about. A device without events has no steps: what is met there is
// met in its final state.
std::optional<uint64_t> firstStep(const analysis::AnalysedTrace& analysed,
                                  const model::Issue& issue);

// PyTorch's code was seen, but none of its blocks: what counts as requested and live are its segments.
bool seesOnlySegments(const model::Trace& trace);

std::string plainText(const std::vector<Part>& parts);

}  // namespace tidegauge::exporting
