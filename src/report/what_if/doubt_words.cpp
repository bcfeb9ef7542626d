// How far the replay can be trusted: what it could not read, explain or cover.
#include <fmt/format.h>

#include "base/format.h"
#include "base/text_layout.h"
#include "report/what_if/result_words.h"
#include "report/what_if/what_if_sentences.h"

namespace tidegauge::report {

using analysis::WhatIf;

namespace {

void addUnread(const model::Trace& trace, Texts& out) {
  uint64_t unread = trace.issues.count(model::IssueKind::kBadValue);
  if (unread == 0) return;
  out.push_back(fmt::format(
      "Tidegauge could not read {} of the file and treats {} as unknown. `tidegauge report` prints "
      "where.",
      base::counted(unread, "value"), unread == 1 ? "it" : "them"));
}

void addStart(const WhatIf& report, Texts& out) {
  uint64_t at_start = report.own.reserved_at_start_bytes;
  if (isImpossible(report)) {
    out.push_back(impossibleWords(report));
  } else if (at_start > 0 && at_start == report.own.peakReservedBytes()) {
    out.push_back(fmt::format(
        "{} were reserved before the recording began, and never more than that. Settings change "
        "only what comes after, so record from the start of the program.",
        base::humanBytes(at_start)));
  }
}

// Memory that PyTorch counts need not be on the device.
void addUnmapped(const WhatIf& report, Texts& out) {
  if (!report.may_be_unmapped || report.recorded_ooms == 0 || report.unmapped_bytes > 0) return;
  if (report.best_helps || hasRemedy(report)) return;
  out.push_back(
      "Memory of a MemPool may be unmapped: if the pool has an allocator of its own (as in vLLM's "
      "sleep mode), PyTorch still counts memory that is not on the device. Then less memory is "
      "there than these replays use.");
}

void addDifferences(const WhatIf& report, Texts& out) {
  if (report.ownIsAsRecorded() || !report.isProven() ||
      report.capacity_source == analysis::CapacitySource::kGiven)
    return;
  out.push_back(fmt::format(
      "In the recording, peak reserved memory was {} and {} failed. The replay differs, so "
      "something had an effect that the file does not contain, such as a memory fraction or other "
      "processes. Set it with --recorded-fraction and --recorded-capacity.",
      base::humanBytes(report.recorded_peak_bytes),
      report.recorded_ooms == 0 ? "no request" : base::counted(report.recorded_ooms, "request")));
}

}  // namespace

void addDoubts(const model::Trace& trace, const WhatIf& report, Texts& out) {
  addUnread(trace, out);
  if (!report.isProven())
    out.push_back(differsWords(report.verified) +
                  ". Figures of other settings therefore prove nothing, and Tidegauge recommends "
                  "none.");
  addUnmapped(report, out);
  addStart(report, out);
  if (report.own.stopped_at)
    out.push_back(
        fmt::format("The replay stopped at step {}, because there were too many free blocks to "
                    "search. Later steps are not covered.",
                    base::withCommas(*report.own.stopped_at)));
  addDifferences(report, out);
  for (const std::string& pair : report.verified.settings.not_simulated)
    out.push_back(
        fmt::format("The replay does not simulate {} of the recording, so its effect is missing.",
                    base::printable(pair)));
}

}  // namespace tidegauge::report
