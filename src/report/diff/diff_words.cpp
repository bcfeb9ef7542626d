#include "report/diff/diff_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analysis/identities.h"
#include "analysis/layout/allocator_rules.h"
#include "analysis/oom/oom.h"
#include "analysis/summary.h"
#include "base/format.h"
#include "base/sizes.h"
#include "report/diff/diff_table.h"
#include "report/words/incomplete_words.h"

namespace tidegauge::report {
namespace {

using analysis::Change;
using analysis::Diff;
using analysis::DiffEvents;
using analysis::DiffSide;
using analysis::StackMatch;
using base::counted;
using base::humanBytes;
using base::withCommas;

constexpr size_t kMaxShown = 4;  // devices, settings: named individually

std::string seconds(uint64_t us) { return fmt::format("{:.3f} s", static_cast<double>(us) / 1e6); }
std::string milliseconds(uint64_t us) {
  return withCommas(us / 1000 + (us % 1000 >= 500 ? 1 : 0)) + " ms";
}

std::string atBoth(const Diff& diff) {
  if (diff.a.at == diff.b.at) return "at " + diff.a.at;
  return fmt::format("(A at {}, B at {})", diff.a.at, diff.b.at);
}

std::string eventText(const DiffSide& side, uint64_t step) {
  const model::Trace& trace = side.analysed->trace;
  uint64_t event = side.points[0].device->device.event_begin + step;
  std::string text(trace.actionName(trace.events.action[event]));
  uint64_t bytes = trace.events.size_bytes[event];
  if (bytes != model::kUnknownBytes) text += " of " + humanBytes(bytes);
  model::StackId stack = trace.events.stack[event];
  if (stack.valid()) text += " at " + side.analysed->labels.label(stack);
  return text;
}

void sayEvents(const Diff& diff, std::vector<std::string>& said) {
  const DiffEvents& events = *diff.events;
  if (events.events_a == 0 || events.events_b == 0) {
    if (events.events_a != events.events_b) {
      said.push_back(fmt::format("{} recorded no events, only its final state.",
                                 events.events_a == 0 ? "A" : "B"));
    }
    return;
  }
  if (events.allSame()) {
    said.push_back(events.same == 1 ? "The one event is the same in action, size and stack."
                                    : fmt::format("All {} are the same in action, "
                                                  "size and stack, in the same order.",
                                                  counted(events.same, "event")));
  } else if (events.same == std::min(events.events_a, events.events_b)) {
    said.push_back(
        fmt::format("A and B have the same events until {} ends after {}; {} has {} more.",
                    events.same == events.events_a ? "A" : "B", counted(events.same, "event"),
                    events.same == events.events_a ? "B" : "A",
                    withCommas(std::max(events.events_a, events.events_b) - events.same)));
  } else if (events.same > 0) {
    said.push_back(fmt::format(
        "The first {} the same. Step {} is {} in A, {} in B.",
        events.same == 1 ? std::string("event is") : counted(events.same, "event") + " are",
        withCommas(events.same), eventText(diff.a, events.same), eventText(diff.b, events.same)));
  }
}

void sayPace(const DiffEvents& events, std::vector<std::string>& said) {
  if (!events.length_us_a || !events.length_us_b) return;
  if (events.length_us_a == events.length_us_b && !events.pause) return;
  std::string text =
      fmt::format("A lasts {}, B {}", seconds(*events.length_us_a), seconds(*events.length_us_b));
  if (events.pause) {
    text += fmt::format("; the largest difference is between steps {} and {}: {} and {}",
                        withCommas(events.pause->step - 1), withCommas(events.pause->step),
                        milliseconds(events.pause->us_a), milliseconds(events.pause->us_b));
  }
  said.push_back(text + ".");
}

struct Ooms {
  uint64_t requests = 0;  // refused requests
  uint64_t events = 0;    // of any kind
  const DiffSide* side = nullptr;
  std::optional<analysis::OomReport> worst{};
};

Ooms oomsOf(const DiffSide& side) {
  Ooms ooms{.side = &side};
  for (const analysis::DiffPoint& point : side.points) {
    ooms.events += point.device->totals.steps();
    for (analysis::OomReport& oom : analysis::oomsOf(*side.analysed, *point.device, 0)) {
      ooms.requests += oom.requests();
      if (!ooms.worst || analysis::isAsBad(oom, *ooms.worst)) ooms.worst = std::move(oom);
    }
  }
  return ooms;
}

// "once, at step 3,273 (4,008 MiB requested, 3,842 MiB free in the driver)"
std::string oomText(const Ooms& ooms) {
  std::string text = ooms.requests == 1
                         ? std::string("once, at step ")
                         : fmt::format("{} times, the worst at step ", withCommas(ooms.requests));
  text += withCommas(ooms.worst->step);
  if (!ooms.worst->known()) return text;
  std::vector<std::string> sizes =
      base::inOneUnit({*ooms.worst->requested_bytes, *ooms.worst->device_free_bytes});
  return fmt::format("{} ({} requested, {} free in the driver)", text, sizes[0], sizes[1]);
}

std::string whetherOom(std::string_view side, const Ooms& ooms) {
  if (ooms.events == 0) return fmt::format("{} recorded no events", side);
  if (ooms.requests == 0) return fmt::format("{} did not run out of memory", side);
  return fmt::format("{} ran out of memory {}", side, oomText(ooms));
}

void sayOoms(const Diff& diff, std::vector<std::string>& said) {
  if (diff.a.analysed == diff.b.analysed && !diff.events) return;  // two places of one device
  Ooms a = oomsOf(diff.a);
  Ooms b = oomsOf(diff.b);
  if (a.requests == 0 && b.requests == 0) return;
  bool is_same = a.requests > 0 && b.requests > 0 && oomText(a) == oomText(b);
  said.push_back(is_same ? fmt::format("Both ran out of memory {}.", oomText(a))
                         : fmt::format("{}; {}.", whetherOom("A", a), whetherOom("B", b)));
}

void sayIncomplete(const DiffSide& side, std::string_view name, std::vector<std::string>& said) {
  model::Incomplete incomplete = incompleteOf(*side.analysed);
  if (!incomplete.touches(kOfHolders)) return;
  said.push_back(fmt::format("{}: {}", name, howIncomplete(incomplete, kOfHolders)));
}

void sayContradictions(const DiffSide& side, std::string_view name,
                       std::vector<std::string>& said) {
  for (const analysis::DiffPoint& point : side.points) {
    for (const analysis::Identity& identity :
         analysis::identitiesOf(*side.analysed, *point.device)) {
      if (identity.holds) continue;
      said.push_back(fmt::format("{} contradicts itself: {}.", name, identity.text));
    }
  }
}

void saySettings(const Diff& diff, std::vector<std::string>& said) {
  if (diff.a.analysed == diff.b.analysed) return;
  const model::AllocatorSettings& a = diff.a.analysed->trace.settings;
  const model::AllocatorSettings& b = diff.b.analysed->trace.settings;
  if (!a.present || !b.present) return;
  if (a.conf != b.conf) {
    auto shown = [](const model::AllocatorSettings& settings) {
      if (settings.conf.empty()) return std::string("default settings");
      bool lacks = analysis::lacksExpandable(settings);
      return settings.conf + (lacks ? " (expandable_segments is not in effect)" : "");
    };
    said.push_back(fmt::format("Allocator settings differ: {} in A, {} in B.", shown(a), shown(b)));
    return;
  }
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const auto& [key, value] : a.items) values[key].first = value;
  for (const auto& [key, value] : b.items) values[key].second = value;
  std::vector<std::string> differing;
  for (const auto& [key, of] : values) {
    if (of.first == of.second || of.first.empty() || of.second.empty()) continue;
    differing.push_back(fmt::format("{} {} in A, {} in B", key, of.first, of.second));
  }
  if (differing.empty()) return;
  size_t more = differing.size() > kMaxShown ? differing.size() - kMaxShown : 0;
  differing.resize(differing.size() - more);
  said.push_back(fmt::format("Allocator settings differ: {}{}.", fmt::join(differing, "; "),
                             more > 0 ? fmt::format("; {} more", more) : ""));
}

void sayMatches(const Diff& diff, std::vector<std::string>& said) {
  std::array<uint64_t, analysis::kStackMatches> rows{};
  for (const analysis::StackRow& row : diff.by_stack) {
    if (row.a.blocks > 0 && row.b.blocks > 0) rows[static_cast<size_t>(row.match)]++;
  }
  std::vector<std::string> ways;
  auto add = [&](StackMatch match, const char* words) {
    uint64_t count = rows[static_cast<size_t>(match)];
    if (count > 0) ways.push_back(fmt::format("{} {}", withCommas(count), words));
  };
  add(StackMatch::kPath, "by the ends of their file paths");
  add(StackMatch::kMoved, "with other line numbers");
  add(StackMatch::kUser, "by the frames of your own code only");
  if (!ways.empty()) {
    said.push_back(fmt::format("Tidegauge matched {} exactly, {}.", counted(rows[0], "stack"),
                               fmt::join(ways, ", ")));
  }
}

// "9.71 GiB more in 6 stacks, 2.69 GiB less in 4 stacks; 12 hold the same."
void sayParts(const Diff& diff, std::vector<std::string>& said) {
  const analysis::DiffSums& sums = diff.stacks;
  auto count = [&](Change x, Change y) {
    return sums.rows[static_cast<size_t>(x)] + sums.rows[static_cast<size_t>(y)];
  };
  auto fresh = [&](Change change) { return sums.rows[static_cast<size_t>(change)]; };
  auto part = [&](uint64_t bytes, uint64_t rows, uint64_t of_them, const char* more,
                  const char* fresh_word) {
    std::string text = fmt::format("{} {} in {}", humanBytes(bytes), more, counted(rows, "stack"));
    return of_them == 0 ? text : text + fmt::format(" ({} {})", withCommas(of_them), fresh_word);
  };
  std::vector<std::string> parts;
  if (uint64_t rows = count(Change::kGrew, Change::kNew)) {
    parts.push_back(part(sums.moreBytes(), rows, fresh(Change::kNew), "more", "new"));
  }
  if (uint64_t rows = count(Change::kShrank, Change::kGone)) {
    parts.push_back(part(sums.lessBytes(), rows, fresh(Change::kGone), "less", "gone"));
  }
  if (parts.empty()) return;
  uint64_t same = fresh(Change::kSame);
  std::string rest = same == 0   ? ""
                     : same == 1 ? "; one holds the same"
                                 : fmt::format("; {} hold the same", withCommas(same));
  said.push_back(fmt::format("B holds {}{}.", fmt::join(parts, " and "), rest));
}

void sayReserved(const Diff& diff, std::vector<std::string>& said) {
  uint64_t a = diff.a.totals.reserved_bytes;
  uint64_t b = diff.b.totals.reserved_bytes;
  double apart = static_cast<double>(a > b ? a - b : b - a);
  if (!diff.isAlike() || apart <= Diff::kAlikeShare * static_cast<double>(std::max(a, b))) return;
  RowNumbers numbers = bytesNumbers(a, b);
  said.push_back(
      fmt::format("Active memory is nearly equal, but reserved memory is not: "
                  "{} and {} ({}). --by segment shows where.",
                  numbers.a, numbers.b, numbers.change));
}

// Two lower bounds have no known difference.
std::string markOfBoth(const Diff& diff) {
  bool is_whole = markOf(diff.a).empty() && markOf(diff.b).empty();
  return is_whole ? "" : " (incomplete)";
}

std::vector<std::string> deviceNames(const DiffSide& side) {
  std::vector<std::string> names;
  for (const analysis::DiffPoint& point : side.points) {
    names.push_back(analysis::deviceLabel(point.device->device));
  }
  return names;
}

}  // namespace

std::string diffVerdict(const Diff& diff) {
  const analysis::DiffSums& sums = diff.stacks;
  uint64_t a = diff.a.totals.active_bytes;
  uint64_t b = diff.b.totals.active_bytes;
  RowNumbers numbers = bytesNumbers(a, b);
  std::string where = atBoth(diff);
  std::string mark = markOfBoth(diff);
  if (sums.allRows() == 0)
    return fmt::format("A and B are equal: nothing is active {}{}.", where, mark);
  std::string both = fmt::format("{} and {} {}", numbers.a, numbers.b, where);
  if (sums.differing() == 0) {
    return fmt::format("A and B are equal: {}; {} the same bytes{}.", both,
                       sums.allRows() == 1
                           ? std::string("the one stack holds")
                           : fmt::format("all {} hold", counted(sums.allRows(), "stack")),
                       mark);
  }
  std::string parts = fmt::format(
      "{} of {} {}, by {} in total", withCommas(sums.differing()), counted(sums.allRows(), "stack"),
      sums.differing() == 1 ? "differs" : "differ", humanBytes(sums.grossBytes()));
  if (diff.isAlike()) return fmt::format("A and B are nearly equal: {}; {}{}.", both, parts, mark);
  uint64_t change = a > b ? a - b : b - a;
  if (static_cast<double>(change) <= Diff::kAlikeShare * static_cast<double>(std::max(a, b))) {
    return fmt::format("A and B hold nearly the same amount, but in different stacks: {}; {}{}.",
                       both, parts, mark);
  }
  std::string percent;
  if (a > 0) {
    percent = fmt::format(" ({}{:.1f} % of A)", b > a ? "+" : "\u2212",
                          100.0 * static_cast<double>(change) / static_cast<double>(a));
  }
  return fmt::format("B holds {} {} than A {}: {} in A and {} in B{}{}.",
                     numbers.change.substr(b > a ? 1 : 3), b > a ? "more" : "less", where,
                     numbers.a, numbers.b, percent, mark);
}

std::vector<std::string> diffParticulars(const Diff& diff) {
  std::vector<std::string> said;
  sayIncomplete(diff.a, "A", said);
  if (diff.b.analysed != diff.a.analysed) sayIncomplete(diff.b, "B", said);
  if (!diff.isAlike()) sayParts(diff, said);
  if (!diff.addsUp()) {
    said.push_back(
        "The rows do not add up to the totals, so the recording contradicts itself; see report.");
  }
  sayReserved(diff, said);
  if (diff.events) sayEvents(diff, said);
  sayOoms(diff, said);
  sayContradictions(diff.a, "A", said);
  if (diff.b.analysed != diff.a.analysed) sayContradictions(diff.b, "B", said);
  if (diff.events) sayPace(*diff.events, said);
  saySettings(diff, said);
  sayMatches(diff, said);
  for (const DiffSide* side : {&diff.a, &diff.b}) {
    if (side->points.size() > 1 && (side == &diff.a || diff.a.points.size() < 2)) {
      said.push_back(
          "The figures are sums over all devices, each at its own step. --device N compares one "
          "device.");
    }
    for (const std::string& note : side->notes) {
      bool exists = std::find(said.begin(), said.end(), note) != said.end();
      if (!exists) said.push_back(note);
    }
  }
  return said;
}

std::string markOf(const DiffSide& side) {
  return markOf(incompleteOf(*side.analysed), kOfHolders);
}

std::string placeText(const DiffSide& side) {
  std::vector<std::string> names = deviceNames(side);
  if (side.points.size() != 1) {
    if (names.size() > kMaxShown) return counted(names.size(), "device");
    return fmt::format("{}", fmt::join(names, " + "));
  }
  const analysis::DiffPoint& point = side.points[0];
  analysis::Step steps = point.device->totals.steps();
  if (steps == 0) return names[0] + ", the final state without events";
  if (point.at_start) {
    return fmt::format("{}, before the first of {} steps", names[0], withCommas(steps));
  }
  std::string text =
      fmt::format("{}, step {} of {}", names[0], withCommas(point.step), withCommas(steps));
  const analysis::TimeAxis& time = point.device->time;
  if (time.present()) {
    text += ", " + seconds(static_cast<uint64_t>(time.timeOf(point.step)) -
                           static_cast<uint64_t>(time.firstUs()));
  }
  return text;
}

}  // namespace tidegauge::report
