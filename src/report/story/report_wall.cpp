// The section "wall": when memory would reach the capacity.
#include <fmt/format.h>

#include <cmath>

#include "analysis/growth/wall.h"
#include "base/format.h"
#include "model/call_words.h"
#include "model/ledger/ledger.h"
#include "model/recorded_work.h"
#include "report/frag/frag_report.h"
#include "report/story/report_parts.h"

namespace tidegauge::report {
namespace {

using analysis::Wall;
using analysis::WallLine;
using base::humanBytes;
using base::withCommas;
using nlohmann::json;

uint64_t whole(double number) {
  return static_cast<uint64_t>(std::llround(std::clamp(number, 0.0, 9e18)));
}

std::string duration(double seconds) {
  return fmt::format("{:.{}f} s", seconds, seconds < 100 ? 3 : 1);
}

void add(Sentence& sentence, std::vector<Part> parts) {
  sentence.parts.insert(sentence.parts.end(), parts.begin(), parts.end());
}

std::vector<Part> exceeded(const Wall& wall, const WallLine& line) {
  return {plain(" It already exceeds the capacity of "), strong(humanBytes(*wall.capacity_bytes)),
          plain(" by "), strong(humanBytes(*line.excess_bytes)), plain(".")};
}

// Memory that does not grow can be above a capacity that the user gave.
Sentence level(const Wall& wall, const WallLine& line, const char* what, const std::string& from) {
  Sentence sentence{{plain(fmt::format("{} memory was ", what[0] == 'a' ? "Active" : "Reserved")),
                     strong(humanBytes(line.now_bytes)), plain(" in the last slice.")},
                    {},
                    fmt::format("SELECT now_bytes, capacity_bytes, excess_bytes FROM {} WHERE what "
                                "= '{}'",
                                from, what)};
  add(sentence, exceeded(wall, line));
  return sentence;
}

Sentence growing(const Wall& wall, const WallLine& line, const char* what,
                 const std::string& from) {
  Sentence sentence;
  sentence.parts = {strong(fmt::format("{} memory", what[0] == 'a' ? "Active" : "Reserved")),
                    plain(" grows by "),
                    strong(humanBytes(whole(1000 * line.bytes_per_event.slope))),
                    plain(fmt::format(" per 1,000 events (90 % confidence: {} to {}).",
                                      humanBytes(whole(1000 * line.bytes_per_event.low)),
                                      humanBytes(whole(1000 * line.bytes_per_event.high))))};
  if (wall.since_step) {
    sentence.parts.insert(sentence.parts.end(),
                          {plain(" This is its growth since step "),
                           strong(withCommas(*wall.since_step)), plain(", where it began.")});
  }
  if (wall.unmapped_bytes > 0) {
    sentence.parts.insert(sentence.parts.end(),
                          {plain(" When memory is full is not stated, because "),
                           strong(humanBytes(wall.unmapped_bytes)),
                           plain(" in MemPools may be unmapped and then are not on the device.")});
  } else if (line.excess_bytes) {
    add(sentence, exceeded(wall, line));
  } else if (line.events_left && whole(*line.events_left) == 0) {
    sentence.parts.insert(
        sentence.parts.end(),
        {plain(line.now_bytes == *wall.capacity_bytes ? " It has already reached "
                                                      : " The next event can reach "),
         strong(humanBytes(*wall.capacity_bytes)), plain(".")});
  } else if (line.events_left) {
    sentence.parts.insert(
        sentence.parts.end(),
        {plain(" At this rate it reaches "), strong(humanBytes(*wall.capacity_bytes)),
         plain(" after "), strong(withCommas(whole(*line.events_left))), plain(" more events")});
    if (wall.seconds_per_event) {
      double seconds = std::round(*line.events_left) * *wall.seconds_per_event;
      sentence.parts.push_back(plain(fmt::format(" ({})", duration(seconds))));
    }
    sentence.parts.push_back(plain(". This is a linear extrapolation."));
  } else {
    sentence.parts.push_back(
        plain(" The file does not contain the size of the device; set it with --capacity."));
  }
  sentence.sql = fmt::format("SELECT 1000, 90, * FROM {} WHERE what = '{}'", from, what);
  return sentence;
}

json lineJson(const Wall& wall, const WallLine& line, const char* what) {
  auto events = [](std::optional<double> left) { return left ? json(whole(*left)) : json(); };
  return {{"what", what},
          {"now_bytes", line.now_bytes},
          {"capacity_bytes", wall.capacity_bytes ? json(*wall.capacity_bytes) : json()},
          {"per_event_bytes", line.bytes_per_event.slope},
          {"least_per_event_bytes", line.bytes_per_event.low},
          {"most_per_event_bytes", line.bytes_per_event.high},
          {"grows", line.grows() ? 1 : 0},
          {"events_left", events(line.events_left)},
          {"least_events_left", events(line.events_left_least)},
          {"most_events_left", events(line.events_left_most)},
          {"excess_bytes", line.excess_bytes ? json(*line.excess_bytes) : json()},
          {"unmapped_bytes", wall.unmapped_bytes},
          {"since_step", wall.since_step ? json(*wall.since_step) : json()},
          {"seconds_per_event", wall.seconds_per_event ? json(*wall.seconds_per_event) : json()}};
}

// Then a missing wall would surprise.
bool wasRefused(const SectionContext& context) {
  if (!context.summary.ooms.empty()) return true;
  if (!context.analysed.trace.work) return false;
  const model::RecordedRefusals& refused = context.analysed.trace.work->refused;
  for (size_t i = 0; i < refused.size(); ++i) {
    bool is_here = refused.device[i] == context.summary.device->device.ordinal ||
                   refused.device[i] == model::kUnknownDevice;
    bool is_full = refused.code[i] == model::kOutOfMemoryCode;
    if (is_here && is_full && model::isDeviceMemory(refused.kind[i])) return true;
  }
  return false;
}

}  // namespace

json wallRowsJson(const Wall& wall) {
  if (!wall.enough) return json::array();
  return {lineJson(wall, wall.active, "active"), lineJson(wall, wall.reserved, "reserved")};
}

Section wallSection(const SectionContext& context) {
  int device = context.summary.device->device.ordinal;
  Wall wall = analysis::wallOf(context.analysed, *context.summary.device, context.capacity_bytes,
                               &context.summary.growth);
  std::string from = wall.capacity_bytes && context.capacity_bytes
                         ? fmt::format("wall_at({}, {})", device, *wall.capacity_bytes)
                         : fmt::format("wall({})", device);
  Section section{.key = "wall", .title = "Time until memory is full", .json = {}};
  if (wall.enough) {
    if (wall.active.grows()) {
      section.sentences.push_back(growing(wall, wall.active, "active", from));
    }
    if (wall.reserved.grows()) {
      section.sentences.push_back(growing(wall, wall.reserved, "reserved", from));
    }
    if (section.sentences.empty()) {
      section.sentences.push_back(
          {{plain("Neither active nor reserved memory grows over the recording."),
            plain(wasRefused(context) ? " Yet memory was refused; the out-of-memory event says why."
                                      : "")},
           {},
           fmt::format("SELECT what, grows FROM {}", from)});
    }
    if (wall.active.excess_bytes && !wall.active.grows())
      section.sentences.push_back(level(wall, wall.active, "active", from));
    if (wall.reserved.excess_bytes && !wall.reserved.grows())
      section.sentences.push_back(level(wall, wall.reserved, "reserved", from));
  }
  section.json = {{"rows", wallRowsJson(wall)},
                  {"rows_sql", fmt::format("SELECT * FROM {}", from)}};
  return section;
}

}  // namespace tidegauge::report
