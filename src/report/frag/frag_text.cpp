// The fragmentation report for a terminal: sentences first, then tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/identities.h"
#include "analysis/oom/oom_verdict.h"
#include "analysis/summary.h"
#include "base/format.h"
#include "base/sizes.h"
#include "report/frag/frag_report.h"
#include "report/words/holder_names.h"
#include "report/words/incomplete_words.h"
#include "report/words/pool_names.h"
#include "report/words/sentence.h"
#include "report/words/text_table.h"
#include "report/words/verdict_titles.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::FragmentationSample;
using analysis::FragmentationSums;
using analysis::StackPins;
using base::counted;
using base::humanBytes;
using base::padLeft;
using base::withCommas;

constexpr size_t kMaxFitRows = 8;
constexpr size_t kMaxPins = 5;

std::string percent(uint64_t part, uint64_t whole) {
  double share = whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", share);
}

class Writer {
 public:
  Writer(const AnalysedTrace& analysed, const FragReport& report, const FragTextOptions& options)
      : analysed_(analysed),
        report_(report),
        options_(options),
        page_(options.columns, options.colour) {}

  std::string write() {
    heading();
    oomSentence();
    headline();
    fitSentence();
    strandedSentence();
    wasteSentence();
    outsideSentence();
    contradictions();
    wallSentence();
    pins();
    if (!ofDriver()) {
      scores();
      page_.bullet(forecastSentence(report_));
      warnings();
    }
    if (report_.request_bytes) fits();
    overTime();
    if (report_.now.pools.size() > 1) pools();
    return page_.take();
  }

 private:
  const FragmentationSums& sums() const { return report_.now.sample.sums; }
  bool ofDriver() const { return report_.allocator() == analysis::AllocatorKind::kDriver; }
  bool timeless() const { return report_.device->totals.steps() == 0; }
  std::string poolOf(model::PoolId pool) const { return poolName(analysed_.trace, pool); }
  std::string listName(const analysis::FreeListKey& key) const {
    std::string text =
        fmt::format("{} blocks, {}", key.small ? "small" : "large", poolOf(key.pool));
    uint64_t stream = key.stream.index() < analysed_.trace.streams.size()
                          ? analysed_.trace.streams[key.stream.index()].raw
                          : 0;
    return text + (stream == 0 ? ", default stream" : fmt::format(", stream {}", stream));
  }

  // "1,000 B (…)": the exact request, if its short form is another size.
  static std::string exactSize(uint64_t bytes) {
    std::string human = humanBytes(bytes);
    std::string tight = human;
    std::erase(tight, ' ');
    std::erase(tight, ',');
    return base::parseSize(tight) == bytes ? human
                                           : fmt::format("{} ({} B)", human, withCommas(bytes));
  }

  void heading() {
    std::string place =
        timeless() ? "final state" : "after step " + withCommas(report_.now.sample.step);
    model::Incomplete incomplete = incompleteOf(analysed_);
    page_.heading(fmt::format("{}: Fragmentation, {}{}",
                              analysis::deviceLabel(report_.device->device), place,
                              markOf(incomplete, kOfMemory)));
    if (incomplete.touches(kOfMemory)) page_.paragraph(howIncomplete(incomplete, kOfMemory));
    if (report_.range) {
      for (const std::string& note : report_.range->notes) page_.paragraph(note);
    }
  }

  void headline() {
    const analysis::FreeSums& free = sums().free;
    if (sums().reserved_bytes == 0) {
      page_.paragraph("Nothing was reserved.");
      return;
    }
    if (ofDriver()) {
      page_.paragraph(
          fmt::format("The program held {} from the driver. The recording has no allocator's "
                      "blocks, so it shows no free memory inside.",
                      humanBytes(sums().covered_bytes)));
    }
    if (free.bytes == 0) {
      if (ofDriver()) return;
      page_.paragraph(
          fmt::format("All {} of reserved memory were active, so nothing was free inside segments.",
                      humanBytes(sums().reserved_bytes)));
      return;
    }
    page_.paragraph(fmt::format(
        "{} of {} reserved were free, in {}{}.", humanBytes(free.bytes),
        humanBytes(sums().reserved_bytes), freeRanges(free.holes),
        free.holes > 1 ? fmt::format("; the largest was {}", humanBytes(free.largest_bytes)) : ""));
    if (uint64_t scattered = free.scatteredBytes(); scattered > 0) {
      page_.bullet(
          fmt::format("{} ({}) were outside the largest free range, so one request could not use "
                      "all of the free memory.",
                      humanBytes(scattered), percent(scattered, free.bytes)));
    }
    if (free.releasable_bytes == free.bytes) {
      page_.bullet(
          "All of it could return to the driver, because no active block is in the same segment or "
          "page.");
    }
    if (free.pinned_bytes > 0) {
      bool all = free.pinned_bytes == free.bytes;
      page_.bullet(fmt::format(
          "{} return to the driver (pinned), because {} {} active blocks{}.",
          all ? "None of it could" : humanBytes(free.pinned_bytes) + " could not",
          counted(free.pinned_segments, "segment"), free.pinned_segments == 1 ? "has" : "have",
          free.releasable_bytes == 0
              ? ""
              : fmt::format("; {} could (releasable)", humanBytes(free.releasable_bytes))));
    }
    if (free.held_in_pools_bytes > 0) {
      page_.bullet(fmt::format(
          "{} are in whole free segments or pages of private pools (CUDA graphs, MemPool). Only "
          "requests of the same pool can use them. empty_cache() cannot return them while the pool "
          "is in use.",
          humanBytes(free.held_in_pools_bytes)));
    }
  }

  void outsideSentence() {
    uint64_t blocks = report_.now.sample.outside_blocks;
    if (blocks == 0) return;
    page_.bullet(
        fmt::format("{} in no segment of the file. These numbers do not include {}.",
                    blocks == 1 ? "1 active block is" : withCommas(blocks) + " active blocks are",
                    blocks == 1 ? "it" : "them"));
  }

  // Figures of a contradictory recording are no more reliable than the recording.
  void contradictions() {
    for (const analysis::Identity& identity : analysis::identitiesOf(analysed_, *report_.device)) {
      if (!identity.holds) page_.bullet("The recording contradicts itself: " + identity.text + ".");
    }
  }

  // The end of a recording is rarely the decisive moment.
  void oomSentence() {
    analysis::Step first = report_.series.samples.front().step;
    std::optional<analysis::OomReport> worst;
    std::vector<analysis::OomReport> ooms = analysis::oomsOf(analysed_, *report_.device, 0);
    for (const analysis::OomReport& oom : ooms) {
      if (oom.step == report_.now.sample.step) return oomHereSentence(oom, ooms);
      bool inside = oom.step >= first && oom.step < report_.now.sample.step;
      if (inside && (!worst || analysis::isAsBad(oom, *worst))) worst = oom;
    }
    if (!worst) return;
    page_.paragraph(
        fmt::format("The program ran out of memory at step {}. --to {} shows that moment.",
                    withCommas(worst->step), worst->step));
  }

  // Whether fragmentation is the reason, and what else is.
  void oomHereSentence(const analysis::OomReport& oom,
                       const std::vector<analysis::OomReport>& ooms) {
    if (oom.device_free_bytes) driver_free_ = humanBytes(*oom.device_free_bytes);
    if (!oom.known()) return page_.paragraph("The program ran out of memory at this step.");
    std::vector<std::string> sizes =
        base::inOneUnit({*oom.requested_bytes, *oom.device_free_bytes});
    driver_free_ = sizes[1];
    analysis::OomVerdict verdict = analysis::verdictOf(
        analysed_, *report_.device, oom,
        analysis::verdictOptions(analysed_, *report_.device, ooms, report_.total_bytes));
    std::vector<std::string> reasons;
    for (const analysis::VerdictRow& row : verdict.rows)
      reasons.push_back(title(verdict, row.verdict));
    page_.paragraph(fmt::format(
        "The program ran out of memory at this step. It requested {}, and the driver had {} "
        "free. {}.",
        sizes[0], sizes[1],
        reasons.empty() ? std::string("The file does not show the reason")
                        : fmt::format("Reason{}: {}", reasons.size() == 1 ? "" : "s",
                                      fmt::join(reasons, "; "))));
  }

  // For the whole recording: a part would give another line.
  void wallSentence() {
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
      std::string most =
          line.events_left_most ? withCommas(whole(*line.events_left_most)) : "never";
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

  void fitSentence() {
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

  void strandedSentence() {
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
    page_.bullet(fmt::format("{} requests of {} (95 % of the recorded requests are no larger).",
                             who, humanBytes(request)));
  }

  void wasteSentence() {
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

  void pins() {
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
          "{} of {} {} {} {} of free memory from the driver{}.", counted(pins.blocks, "block"),
          sizes,
          pins.stack.valid() ? "from " + oneName(names[i]) : fmt::format("({})", names[i].label),
          pins.blocks == 1 ? "keeps" : "keep", humanBytes(pins.pinsBytes()),
          pins.alone_bytes == 0   ? ", all of it together with blocks of other stacks"
          : pins.shared_bytes > 0 ? fmt::format(", {} of it together with blocks of other stacks",
                                                humanBytes(pins.shared_bytes))
                                  : ""));
    }
    size_t more = report_.pinned.stacks.size() - std::min(report_.pinned.stacks.size(), kMaxPins);
    if (more > 0) {
      page_.bullet(fmt::format("{} {} free memory from the driver, too.",
                               counted(more, "more stack"), more == 1 ? "keeps" : "keep"));
    }
  }

  void scores() {
    const FragmentationSample& now = report_.now.sample;
    page_.bullet(fmt::format(
        "The layout score is {:.1f} of 100, {} (reserved memory, {}). A high score means that free "
        "memory is cut into small ranges; it does not mean that a request failed.",
        now.reserved.score, name(analysis::bandOf(now.reserved.score)),
        poolOf(report_.series.pool)));
    page_.bullet(fmt::format(
        "The layout score of the address space is {:.1f}, {}. Free addresses there use no physical "
        "memory.",
        now.address.score, name(analysis::bandOf(now.address.score))));
  }

  void warnings() {
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

  void fits() {
    page_.blank();
    uint64_t request = *report_.request_bytes;
    page_.heading(fmt::format("Would {} fit?", exactSize(request)), 2);
    if (ofDriver()) return askedOfDriver(request);
    if (!report_.rulesKnown()) {
      page_.paragraph(
          "This is not computed, because this allocator does not follow the GPU allocator's "
          "rules.");
      return;
    }
    if (report_.rounded_bytes != request) {
      page_.bullet(fmt::format("The allocator rounds it up to a block of {}.",
                               exactSize(report_.rounded_bytes)));
    }
    std::optional<uint64_t> room = report_.wall.capacity_bytes;
    if (room && report_.rounded_bytes > *room) {
      page_.bullet(fmt::format("No, in any layout, because only {} were available to this process.",
                               humanBytes(*room)));
    }
    if (report_.fits.empty()) {
      page_.bullet(
          "No free list serves its size, so the allocator would request memory from the driver.");
    }
    for (size_t i = 0; i < std::min(report_.fits.size(), kMaxFitRows); ++i) {
      const FitRow& row = report_.fits[i];
      std::string verdict =
          row.block_bytes
              ? fmt::format("yes, in a free block of {}", humanBytes(*row.block_bytes))
              : fmt::format(
                    "no. {}. The allocator would request {} from the driver",
                    row.free_bytes == 0 ? std::string("Nothing is free")
                    : row.largest_request_bytes == 0
                        ? humanBytes(row.free_bytes) + " are free, but no request fits"
                        : fmt::format("{} are free, and the largest request that fits is {}",
                                      humanBytes(row.free_bytes),
                                      humanBytes(row.largest_request_bytes)),
                    humanBytes(row.driver_bytes));
      if (!row.block_bytes && !driver_free_.empty()) {
        verdict += fmt::format(", which had {} free", driver_free_);
      }
      page_.bullet(fmt::format("{}: {}.", listName(row.key), verdict));
    }
    if (report_.fits.size() > kMaxFitRows) {
      page_.bullet(fmt::format("--json prints {}.",
                               counted(report_.fits.size() - kMaxFitRows, "more list")));
    }
  }

  // Nothing is kept free for it; the driver's free memory is known only as last reported.
  void askedOfDriver(uint64_t request) {
    if (report_.device->device.kind == model::DeviceKind::kPinnedHost) {
      page_.paragraph("Unknown: the recording does not contain the amount of free host memory.");
      return;
    }
    page_.bullet(
        "The request would go to the driver, because no allocator of this program keeps free "
        "memory.");
    constexpr uint64_t kPage = analysis::kDriverPageBytes;
    uint64_t pages_bytes = (request + kPage - 1) / kPage * kPage;
    page_.bullet(fmt::format(
        "The driver allocates device memory in pages of {}, so this request takes {}, or less if "
        "it shares a page with others.",
        humanBytes(kPage), exactSize(pages_bytes)));
    if (!report_.driver_free) {
      page_.bullet(
          "Whether the driver had that much is unknown, because the recording does not contain its "
          "free memory.");
      return;
    }
    const analysis::DriverFree& free = *report_.driver_free;
    std::vector<std::string> sizes = base::inOneUnit({free.free_bytes, free.total_bytes});
    std::string since;
    if (free.taken_since_bytes != 0) {
      auto bytes = static_cast<uint64_t>(std::abs(free.taken_since_bytes));
      since = fmt::format(" Since then this program {} {}.",
                          free.taken_since_bytes > 0 ? "took" : "freed", humanBytes(bytes));
    }
    bool enough = free.leftBytes() >= pages_bytes;
    page_.bullet(fmt::format(
        "{} of {} were free when {}.{} {}.", sizes[0], sizes[1],
        free.is_answer ? "the program last asked the driver" : "the recorder last asked NVML",
        since,
        enough ? "That is enough, if other programs took no more"
               : "That is too little, if other programs freed nothing"));
  }

  void overTime() {
    const std::vector<FragmentationSample>& samples = report_.series.samples;
    if (samples.size() < 2) return;
    page_.blank();
    size_t rows = std::clamp<size_t>(options_.rows, 2, samples.size());
    std::string last = withCommas(samples.back().step);
    size_t step_width = std::max<size_t>(6, last.size());
    constexpr size_t kSize = 10;
    // A narrow page loses columns from the right; the score is the last.
    std::vector<std::string> names = {"reserved", "active",  "free",
                                      "pinned",   "largest", "stranded"};
    if (ofDriver()) names.resize(1);  // the others would be 0, or equal to it
    size_t room = options_.columns - std::min(options_.columns, 2 + step_width + 7);
    names.resize(std::min(names.size(), room / kSize));
    std::string head = "  " + padLeft("step", step_width);
    for (const std::string& title : names) head += padLeft(title, kSize);
    page_.line(ofDriver() ? head : head + padLeft("score", 7));
    for (size_t i = 0; i < rows; ++i) {
      const FragmentationSample& sample = samples[i * (samples.size() - 1) / (rows - 1)];
      const analysis::FreeSums& free = sample.sums.free;
      std::string line = "  " + padLeft(withCommas(sample.step), step_width);
      const uint64_t values[] = {
          sample.totals.reserved_bytes, sample.totals.active_bytes, free.bytes, free.pinned_bytes,
          free.largest_bytes,           free.stranded_bytes};
      for (size_t column = 0; column < names.size(); ++column) {
        line += padLeft(base::sizeOrZero(values[column]), kSize);
      }
      if (!ofDriver())
        line += padLeft(fmt::format("{:.1f}", scoreOf(sample, report_.arena).score), 7);
      page_.line(line);
    }
    if (samples.size() > rows) {
      page_.paragraph(fmt::format("The table shows {} of {} samples; --csv prints all.", rows,
                                  withCommas(samples.size())));
    }
    if (!options_.words || ofDriver()) return;
    std::string words =
        "reserved: memory held from the driver; active: memory in blocks that are in use; free: "
        "the rest; pinned: free memory in segments or pages with such blocks; largest: the largest "
        "free range";
    if (uint64_t request = report_.series.request_bytes; request > 0) {
      words += fmt::format("; stranded: free memory that requests of {} cannot use",
                           humanBytes(request));
    }
    page_.faint(words, 2, 2);
  }

  void pools() {
    page_.blank();
    std::vector<TextRow> lines = {{{"segments", "reserved", "free", "pinned", "score"}, "pool"}};
    for (const analysis::PoolRow& row : report_.now.pools) {
      lines.push_back(
          {{withCommas(row.segments), base::sizeOrZero(row.sums.reserved_bytes),
            base::sizeOrZero(row.sums.free.bytes), base::sizeOrZero(row.sums.free.pinned_bytes),
            fmt::format("{:.1f}", row.reserved.score)},
           poolOf(row.pool)});
    }
    printTable(page_, lines);
    if (report_.now.pools_total > report_.now.pools.size()) {
      page_.paragraph(fmt::format("These are the largest {} of {}.", report_.now.pools.size(),
                                  counted(report_.now.pools_total, "pool")));
    }
  }

  const AnalysedTrace& analysed_;
  const FragReport& report_;
  const FragTextOptions& options_;
  std::string driver_free_;  // at an out-of-memory event, as reported
  TextPage page_;
};

}  // namespace

namespace {

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

std::string fragText(const AnalysedTrace& analysed, const FragReport& report,
                     const FragTextOptions& options) {
  return Writer(analysed, report, options).write();
}

}  // namespace tidegauge::report
