#include <fmt/format.h>

#include "analysis/identities.h"
#include "analysis/oom/oom_verdict.h"
#include "analysis/summary.h"
#include "base/sizes.h"
#include "report/frag/frag_writer.h"
#include "report/words/incomplete_words.h"
#include "report/words/sentence.h"
#include "report/words/verdict_titles.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using base::counted;
using base::humanBytes;
using base::withCommas;

std::string percent(uint64_t part, uint64_t whole) {
  double share = whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", share);
}

}  // namespace

std::string FragWriter::write() {
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

std::string FragWriter::listName(const analysis::FreeListKey& key) const {
  std::string text = fmt::format("{} blocks, {}", key.small ? "small" : "large", poolOf(key.pool));
  uint64_t stream = key.stream.index() < analysed_.trace.streams.size()
                        ? analysed_.trace.streams[key.stream.index()].raw
                        : 0;
  return text + (stream == 0 ? ", default stream" : fmt::format(", stream {}", stream));
}

void FragWriter::heading() {
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

void FragWriter::headline() {
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

void FragWriter::outsideSentence() {
  uint64_t blocks = report_.now.sample.outside_blocks;
  if (blocks == 0) return;
  page_.bullet(
      fmt::format("{} in no segment of the file. These numbers do not include {}.",
                  blocks == 1 ? "1 active block is" : withCommas(blocks) + " active blocks are",
                  blocks == 1 ? "it" : "them"));
}

// Figures of a contradictory recording are no more reliable than the recording.
void FragWriter::contradictions() {
  for (const analysis::Identity& identity : analysis::identitiesOf(analysed_, *report_.device)) {
    if (!identity.holds) page_.bullet("The recording contradicts itself: " + identity.text + ".");
  }
}

// The end of a recording is rarely the decisive moment.
void FragWriter::oomSentence() {
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
void FragWriter::oomHereSentence(const analysis::OomReport& oom,
                                 const std::vector<analysis::OomReport>& ooms) {
  if (oom.device_free_bytes) driver_free_ = humanBytes(*oom.device_free_bytes);
  if (!oom.known()) return page_.paragraph("The program ran out of memory at this step.");
  std::vector<std::string> sizes = base::inOneUnit({*oom.requested_bytes, *oom.device_free_bytes});
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
      reasons.empty()
          ? std::string("The file does not show the reason")
          : fmt::format("Reason{}: {}", reasons.size() == 1 ? "" : "s", fmt::join(reasons, "; "))));
}

std::string fragText(const AnalysedTrace& analysed, const FragReport& report,
                     const FragTextOptions& options) {
  return FragWriter(analysed, report, options).write();
}

}  // namespace tidegauge::report
