#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/sizes.h"
#include "report/frag/frag_writer.h"
#include "report/words/holder_names.h"
#include "report/words/sentence.h"

namespace tidegauge::report {
namespace {

using analysis::FragmentationSample;
using analysis::StackPins;
using base::counted;
using base::humanBytes;
using base::withCommas;

constexpr size_t kMaxPins = 5;

// docs/explain/forecast.md has the formulas.
const char* inWords(analysis::ForecastModel model) {
  switch (model) {
    case analysis::ForecastModel::kWindow:
      return "“window” (the published model)";
    case analysis::ForecastModel::kRidge:
      return "“ridge” (a regression on the last samples)";
    case analysis::ForecastModel::kDrift:
      return "“drift” (a straight line)";
    case analysis::ForecastModel::kPersistence:
      break;
  }
  return "“no change”";
}

}  // namespace

// "1,000 B (…)": the exact request, if its short form is another size.
std::string FragWriter::exactSize(uint64_t bytes) {
  std::string human = humanBytes(bytes);
  std::string tight = human;
  std::erase(tight, ' ');
  std::erase(tight, ',');
  return base::parseSize(tight) == bytes ? human
                                         : fmt::format("{} ({} B)", human, withCommas(bytes));
}

// For the whole recording: a part would give another line.
void FragWriter::wallSentence() {
  const analysis::WallLine& line = report_.wall.reserved;
  if (report_.range || !report_.wall.enough) return;
  if (!line.grows()) {
    if (line.excess_bytes)
      page_.bullet("Reserved memory already exceeds the capacity of " +
                   humanBytes(*report_.wall.capacity_bytes) + " by " +
                   humanBytes(*line.excess_bytes) + ".");
    return;
  }
  auto whole = [](double number) {
    return static_cast<uint64_t>(std::llround(std::clamp(number, 0.0, 9e18)));
  };
  auto rate = [&](double bytes) { return humanBytes(whole(1000 * bytes)); };
  std::string reached;
  uint64_t capacity_bytes = report_.wall.capacity_bytes.value_or(UINT64_MAX);
  if (report_.wall.since_step)
    reached = fmt::format(" This is its growth since step {}, where it began.",
                          withCommas(*report_.wall.since_step));
  if (report_.wall.unmapped_bytes > 0) {
    reached += fmt::format(
        " When memory is full is not stated, because {} in MemPools may be unmapped and then are "
        "not on the device.",
        humanBytes(report_.wall.unmapped_bytes));
  } else if (line.excess_bytes) {
    reached += fmt::format(" It already exceeds the capacity of {} by {}.",
                           humanBytes(capacity_bytes), humanBytes(*line.excess_bytes));
  } else if (line.events_left && whole(*line.events_left) == 0) {
    reached += fmt::format(
        " {} {}.",
        line.now_bytes == capacity_bytes ? "It has already reached" : "The next event can reach",
        humanBytes(capacity_bytes));
  } else if (line.events_left) {
    std::string least = line.events_left_least ? withCommas(whole(*line.events_left_least)) : "?";
    std::string most = line.events_left_most ? withCommas(whole(*line.events_left_most)) : "never";
    reached += fmt::format(
        " At this rate it reaches {} after {} more events{}. This is a linear extrapolation.",
        humanBytes(capacity_bytes), withCommas(whole(*line.events_left)),
        least == most ? "" : fmt::format(" ({} to {})", least, most));
  }
  page_.bullet(
      fmt::format("Reserved memory grows by {} per 1,000 events (90 % confidence: {} to {}).{}",
                  rate(line.bytes_per_event.slope), rate(line.bytes_per_event.low),
                  rate(line.bytes_per_event.high), reached));
}

void FragWriter::fitSentence() {
  if (!report_.rulesKnown()) {
    if (sums().free.bytes == 0 || ofDriver()) return;
    page_.bullet(
        "Tidegauge does not compute which requests fit, because this allocator uses "
        "power-of-two size classes and never splits a block.");
    return;
  }
  uint64_t largest = 0;
  const FitRow* best = nullptr;
  for (const FitRow& row : report_.lists) {
    if (row.largest_request_bytes <= largest) continue;
    largest = row.largest_request_bytes;
    best = &row;
  }
  if (best == nullptr) return;
  page_.bullet(fmt::format(
      "The largest request that the allocator could serve without the driver is {} ({}).",
      humanBytes(largest), listName(best->key)));
}

void FragWriter::strandedSentence() {
  uint64_t request = report_.series.request_bytes;
  if (request == 0 || !report_.rulesKnown()) return;
  uint64_t free = 0;
  for (const FitRow& row : report_.lists) free += row.free_bytes;
  if (free == 0) return;
  uint64_t stranded = free;  // the lists of the other size class never serve it
  for (const FitRow& row : report_.typical_fits) stranded -= row.free_bytes - row.stranded_bytes;
  std::string who = stranded == 0 ? "All free bytes could serve"
                    : stranded == free
                        ? "None of the free bytes could serve"
                        : humanBytes(stranded) + " of the free bytes could not serve";
  page_.bullet(fmt::format("{} requests of {} (95 % of the recorded requests are no larger).", who,
                           humanBytes(request)));
}

void FragWriter::wasteSentence() {
  if (sums().waste_bytes == 0) return;
  const analysis::SizeClass* worst = nullptr;
  for (const analysis::SizeClass& row : report_.now.classes) {
    if (worst == nullptr || row.waste_bytes > worst->waste_bytes) worst = &row;
  }
  std::string most;
  if (worst != nullptr && report_.now.classes.size() > 1) {
    uint64_t below = worst->from_bytes == 0 ? 512 : 2 * worst->from_bytes;
    most = fmt::format("; most of it, {}, is in {} of {} to {}", humanBytes(worst->waste_bytes),
                       counted(worst->blocks, "block"), humanBytes(worst->from_bytes),
                       humanBytes(below));
  }
  page_.bullet(
      fmt::format("Active blocks contain {} that the program did not request (rounding, and ends "
                  "that were not split off){}.",
                  humanBytes(sums().waste_bytes), most));
}

void FragWriter::pins() {
  std::vector<analysis::StackGroup> groups;
  for (const StackPins& pins : report_.pinned.stacks) {
    groups.push_back({.stack = pins.stack,
                      .block_bytes = pins.block_bytes,
                      .older_bytes = timeless() ? 0 : pins.older_bytes});
  }
  std::vector<HolderName> names = holderNames(analysed_, groups, kMaxPins);
  for (size_t i = 0; i < std::min(report_.pinned.stacks.size(), kMaxPins); ++i) {
    const StackPins& pins = report_.pinned.stacks[i];
    std::string sizes = pins.smallest_bytes == pins.largest_bytes
                            ? humanBytes(pins.largest_bytes)
                            : fmt::format("{} to {}", humanBytes(pins.smallest_bytes),
                                          humanBytes(pins.largest_bytes));
    page_.bullet(fmt::format(
        "{} of {} {} {} {} of free memory from the driver{}.", counted(pins.blocks, "block"), sizes,
        pins.stack.valid() ? "from " + oneName(names[i]) : fmt::format("({})", names[i].label),
        pins.blocks == 1 ? "keeps" : "keep", humanBytes(pins.pinsBytes()),
        pins.alone_bytes == 0   ? ", all of it together with blocks of other stacks"
        : pins.shared_bytes > 0 ? fmt::format(", {} of it together with blocks of other stacks",
                                              humanBytes(pins.shared_bytes))
                                : ""));
  }
  size_t more = report_.pinned.stacks.size() - std::min(report_.pinned.stacks.size(), kMaxPins);
  if (more > 0) {
    page_.bullet(fmt::format("{} {} free memory from the driver, too.", counted(more, "more stack"),
                             more == 1 ? "keeps" : "keep"));
  }
}

void FragWriter::scores() {
  const FragmentationSample& now = report_.now.sample;
  page_.bullet(fmt::format(
      "The layout score is {:.1f} of 100, {} (reserved memory, {}). A high score means that free "
      "memory is cut into small ranges; it does not mean that a request failed.",
      now.reserved.score, name(analysis::bandOf(now.reserved.score)), poolOf(report_.series.pool)));
  page_.bullet(fmt::format(
      "The layout score of the address space is {:.1f}, {}. Free addresses there use no physical "
      "memory.",
      now.address.score, name(analysis::bandOf(now.address.score))));
}

void FragWriter::warnings() {
  const analysis::Forecast& forecast = report_.forecast;
  if (!forecast.enough || !forecast.publishedBeatsNoChange()) return;
  std::string said;
  if (forecast.warnings.worse) said += "it is getting clearly worse; ";
  if (forecast.warnings.jump) said += "it may jump soon; ";
  if (forecast.warnings.trend) {
    said += fmt::format("its trend is {:+.2f} per sample; ", forecast.slope);
  }
  if (said.empty()) return;
  said.resize(said.size() - 2);
  page_.bullet(
      fmt::format("The published model of the score warns: {}. The risk level is {}, with a "
                  "confidence of {:.2f} of 1.",
                  said, name(forecast.risk), forecast.confidence));
}

std::string forecastSentence(const FragReport& report) {
  const analysis::Forecast& forecast = report.forecast;
  if (!forecast.enough) {
    return fmt::format(
        "There is no forecast of the score, because there are {} samples and it needs {}.",
        forecast.history, analysis::kForecastLeast);
  }
  if (!forecast.beatsNoChange()) {
    return fmt::format(
        "No model forecasts the score better than the assumption that it stays at {:.1f}.",
        forecast.score_now);
  }
  const analysis::ModelForecast& best = forecast.of(forecast.best);
  double as_now = forecast.of(analysis::ForecastModel::kPersistence).errors.overall;
  return fmt::format(
      "The score of the next three samples, {} apart, is forecast as {:.1f}, {:.1f}, {:.1f} by the "
      "model {}. On this recording, its mean error was {:.1f} points, that of “no change” {:.1f}.",
      counted(report.forecast_steps_apart, "step"), best.predicted[0], best.predicted[1],
      best.predicted[2], inWords(forecast.best), best.errors.overall, as_now);
}

}  // namespace tidegauge::report
