#include "report/what_if/what_if_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/summary.h"
#include "base/format.h"
#include "base/sizes.h"
#include "report/what_if/result_words.h"
#include "report/words/text_page.h"
#include "report/words/text_table.h"

namespace tidegauge::report {
namespace {

using analysis::Replayed;
using model::Action;
using replay::Verification;

std::string entryWords(const model::Trace& trace, Action action, uint64_t address, uint64_t bytes) {
  if (bytes == model::kUnknownBytes)
    return fmt::format("{} of unknown size", trace.actionName(action));
  if (action == Action::kOom) return fmt::format("out of memory for {}", base::humanBytes(bytes));
  if (action == Action::kSnapshot)
    return fmt::format("a snapshot with {} active", base::humanBytes(bytes));
  return fmt::format("{} of {} at {}", trace.actionName(action), base::humanBytes(bytes),
                     base::hexAddress(address));
}

void verified(TextPage& page, const model::Trace& trace, const model::Device& device,
              const Verification& it) {
  if (it.events_checked == 0) {
    page.paragraph(
        "No event of this device is from PyTorch's allocator, so there is nothing to replay.");
    return;
  }
  bool is_whole = it.events_exact == it.events_checked;
  page.paragraph(
      fmt::format("With the recording's own settings, the replay reproduces {} of {}{}, with the "
                  "same addresses.",
                  base::withCommas(it.events_exact), base::counted(it.events_checked, "event"),
                  is_whole && it.final_segments > 0 && it.final_differences == 0
                      ? " and each block of the final state"
                      : ""));
  if (it.tie_is_known)
    page.paragraph(
        it.settings.tie == replay::TieBreak::kSegment
            ? "If several free blocks have the same size, the allocator takes the one in "
              "the oldest segment (PyTorch 2.12 and later)."
            : "If several free blocks have the same size, the allocator takes the one at "
              "the lowest address (PyTorch 2.11 and before).");
  if (!it.began_empty)
    page.paragraph(
        "The program already held memory when the recording began. The replay rebuilds it from the "
        "events and the final state. The order of these segments, and how long their free blocks "
        "were free, are unknown.");
  if (it.left_out_at_start > 0)
    page.paragraph(fmt::format("{} from before the recording {} in no known segment.",
                               base::counted(it.left_out_at_start, "block"),
                               it.left_out_at_start == 1 ? "is" : "are"));
  if (it.first_divergence) {
    const replay::Divergence& first = *it.first_divergence;
    size_t row = device.event_begin + first.step;
    std::string recorded =
        first.step >= device.steps()
            ? "nothing, because it ends here"
            : entryWords(trace, trace.events.action[row], trace.events.address[row],
                         trace.events.size_bytes[row]);
    std::string replayed = first.wrote_nothing
                               ? "nothing"
                               : entryWords(trace, first.replayed.action, first.replayed.address,
                                            first.replayed.bytes);
    page.paragraph(
        fmt::format("The first difference is at step {}. The recording has {}; the "
                    "replay has {} ({}).",
                    base::withCommas(first.step), recorded, replayed, replay::words(first.cause)));
    page.paragraph(fmt::format(
        "The replay differs {} (in {}). After each difference, it continues from the recorded "
        "state.",
        it.divergences == 1 ? "once" : base::withCommas(it.divergences) + " times",
        base::counted(it.events_checked - it.events_exact, "event")));
  }
  if (it.first_divergence && analysis::hasIdleThreshold(it.settings))
    page.paragraph(
        "garbage_collection_threshold is set, and no memory fraction is known. If the program set "
        "one, add --recorded-capacity and --recorded-fraction.");
  if (it.checked_until < device.steps())
    page.paragraph(
        fmt::format("The replay differs, or memory was released, too often to compare all events. "
                    "They were compared until step {} of {}.",
                    base::withCommas(it.checked_until), base::withCommas(device.steps())));
}

std::string peakWords(const Replayed& it) {
  if (!it.peak_reserved_range ||
      it.peak_reserved_range->least_bytes == it.peak_reserved_range->most_bytes)
    return base::humanBytes(it.peakReservedBytes());
  std::string least = base::humanBytes(it.peak_reserved_range->least_bytes),
              most = base::humanBytes(it.peak_reserved_range->most_bytes);
  if (least == most) return most;
  // "38.14 to 38.20 GiB"
  size_t unit = most.rfind(' ');
  if (least.ends_with(most.substr(unit))) least.resize(least.size() - (most.size() - unit));
  return fmt::format("{} to {}", least, most);
}

std::string callsWords(const Replayed& it) {
  std::string calls = base::withCommas(it.driverCalls());
  if (!it.driver_s) return calls;
  return *it.driver_s < 1 ? fmt::format("{}, {:.3g} ms", calls, *it.driver_s * 1e3)
                          : fmt::format("{}, {:.3g} s", calls, *it.driver_s);
}

std::string changedWords(const analysis::ReplayedEdit& it) {
  using What = analysis::ProgramEdit::What;
  if (it.edit.what == What::kEmptyCache)
    return it.requests == 1 ? "" : fmt::format(" ({} times)", base::withCommas(it.requests));
  std::string what = it.edit.what == What::kFreeAt ? "block" : "request";
  return fmt::format(" ({}, {} in total)", base::counted(it.requests, what),
                     base::humanBytes(it.bytes));
}

// A row on a page that is too narrow for the table: "its own settings: reserved 8.63 GiB, …".
void listed(TextPage& page, const TextRow& heads, const TextRow& row) {
  std::string text = withSpaces(row.name) + ":";
  for (size_t i = 0; i < row.numbers.size(); ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", heads.numbers[i], row.numbers[i]);
  page.paragraph(text, 2, 2);
}

// Settings are never cut: if they do not fit into a row, they get their own line.
void table(TextPage& page, const analysis::WhatIf& report) {
  std::vector<TextRow> rows{
      {{"reserved", "active", "unused", "retries", "failed", "driver calls"}, "settings"}};
  auto add = [&](const Replayed& it, const std::string& name) {
    rows.push_back({{peakWords(it), base::humanBytes(it.peakActiveBytes()),
                     base::humanBytes(it.unused_at_peak_bytes), base::withCommas(it.stats.retries),
                     failedWords(it), callsWords(it)},
                    it.stopped_at ? fmt::format("{} (only until step {}, because there are too "
                                                "many free blocks to search)",
                                                name, base::withCommas(*it.stopped_at))
                                  : name});
  };
  std::string own = report.ownIsAsRecorded() ? "as recorded" : "its own settings";
  add(report.own, report.own.conf.empty() ? own : own + ": " + report.own.conf);
  for (const analysis::ReplayedEdit& it : report.edits) {
    add(it.replayed, analysis::words(it.edit) + changedWords(it));
  }
  std::string idle;  // of the known settings, one without an effect gets no row
  for (const Replayed& it : report.candidates) {
    std::string name = it.conf.empty() ? "default settings" : it.conf;
    if (report.are_known && it.isAs(report.own)) {
      idle += (idle.empty() ? "" : "; ") + withSpaces(name);
    } else {
      add(it, name);
    }
  }
  std::vector<size_t> widths(rows.front().numbers.size());
  for (const TextRow& row : rows)
    for (size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], base::displayWidth(row.numbers[i]));
  for (const TextRow& row : rows) {
    std::string numbers;
    for (size_t i = 0; i < widths.size(); ++i)
      numbers += "  " + base::padLeft(row.numbers[i], widths[i]);
    if (base::displayWidth(numbers) > page.columns()) {  // nor are numbers
      if (&row != &rows.front()) listed(page, rows.front(), row);
    } else if (base::displayWidth(numbers) + 2 + row.name.size() <= page.columns()) {
      page.line(numbers + "  " + row.name);
    } else {
      page.line(numbers);
      page.paragraph(withSpaces(row.name), 6, 2);
    }
  }
  if (!idle.empty()) page.paragraph("These settings change nothing: " + idle + ".", 2, 2);
  page.faint(
      "reserved, active: peaks; unused: the least reserved memory in no block while active memory "
      "is at its peak; retries: flushes of the cache; failed: requests that ran out of memory; "
      "driver calls: number of cudaMalloc, cudaFree, map and unmap calls",
      4, 2);
}

// The least that the recording's own memory fraction allowed, if that is below what the driver had.
std::optional<uint64_t> ownCapBytes(const analysis::WhatIf& report) {
  if (!report.device_bytes) return std::nullopt;
  uint64_t cap_bytes = report.verified.settings.capBytes(*report.device_bytes);
  if (report.capacity_bytes && cap_bytes >= *report.capacity_bytes) return std::nullopt;
  return cap_bytes;
}

std::string recordedWords(const analysis::WhatIf& report) {
  std::string available = base::humanBytes(report.availableBytes().value_or(0));
  if (report.fraction)
    return fmt::format(
        "The recorded program set a memory fraction of {:g}, so {} were available "
        "to it.",
        *report.fraction, available);
  if (report.unmapped_bytes > 0)
    return fmt::format(
        "The recorded device has {}. PyTorch counted {} beyond that, which are not on the device "
        "(a MemPool's own allocator unmapped them). It counts them in the replays, too.",
        base::humanBytes(*report.capacity_bytes), base::humanBytes(report.unmapped_bytes));
  return fmt::format("{} were available to the recorded program.", available);
}

// What an out-of-memory event shows.
std::string shownWords(uint64_t bytes, bool may_be_unmapped) {
  if (may_be_unmapped)
    return fmt::format(
        "The replays use {}: what the process held plus what the driver had free at the "
        "out-of-memory event. Memory of a MemPool counts here, even if the pool's own allocator "
        "has unmapped it, so less may be there. --recorded-capacity gives the size of the device.",
        base::humanBytes(bytes));
  return fmt::format(
      "{} were available to this process: what it held plus what the driver had free at the "
      "out-of-memory event.",
      base::humanBytes(bytes));
}

// What the process could have, and why.
void available(TextPage& page, const analysis::WhatIf& report) {
  if (report.capacity_source == analysis::CapacitySource::kOutOfMemory)
    page.paragraph(shownWords(*report.capacity_bytes, report.may_be_unmapped));
  if (report.limit_bytes)
    page.paragraph(
        fmt::format(fmt::runtime(report.verified.settings.gc_threshold > 0
                                     ? "The allocator collected garbage as it does under a limit "
                                       "of {} or slightly more. The file does not contain this "
                                       "limit; it is probably a memory fraction that the program "
                                       "set."
                                     : "A limit kept the process to {} or slightly more, although "
                                       "the driver had free memory. The file does not contain this "
                                       "limit; it is probably a memory fraction that the program "
                                       "set."),
                    base::humanBytes(*report.limit_bytes)));
  if (report.capacity_source == analysis::CapacitySource::kRefused)
    page.paragraph(fmt::format(
        "The driver refused memory beyond {}; the allocator released unused memory, and "
        "the program continued. The replays use the same limit.",
        base::humanBytes(*report.capacity_bytes)));
  if (auto least = ownCapBytes(report))
    page.paragraph(fmt::format(
        "Its memory fraction of {:g} limited it to {}{}, or slightly more.",
        *report.verified.settings.fraction, base::humanBytes(*least),
        report.capacity_source == analysis::CapacitySource::kOutOfMemory ? " of that" : ""));
  if (report.capacity_source == analysis::CapacitySource::kRecorded)
    page.paragraph(recordedWords(report));
  if (report.capacity_source == analysis::CapacitySource::kGiven)
    page.paragraph(fmt::format(
        "The replay uses {} for this process{}.",
        report.fraction ? fmt::format("{} of {}, which is {},", *report.fraction,
                                      base::humanBytes(*report.capacity_bytes),
                                      base::humanBytes(report.availableBytes().value_or(0)))
                        : base::humanBytes(*report.capacity_bytes),
        report.own.rescued > 0 ? fmt::format("; {} that failed in the recording {}",
                                             base::counted(report.own.rescued, "request"),
                                             report.own.rescued == 1 ? "fits" : "fit")
                               : std::string()));
}

// The answer: the best setting, and what to know about it.
void answer(TextPage& page, const analysis::AnalysedTrace& analysed,
            const analysis::WhatIf& report) {
  for (const std::string& sentence : whatIfSentences(analysed, report)) {
    // Text to copy is kept in one piece.
    size_t setting = sentence.find("PYTORCH_CUDA_ALLOC_CONF=");
    if (setting != std::string::npos &&
        base::displayWidth(sentence) + 4 > std::min(page.columns(), TextPage::kMaxProse)) {
      page.bullet(sentence.substr(0, setting));
      page.copyable(sentence.substr(setting), 4);
    } else {
      page.bullet(sentence);
    }
  }
}

}  // namespace

std::string whatIfText(const analysis::AnalysedTrace& analysed,
                       const analysis::DeviceAnalysis& device, const analysis::WhatIf& report,
                       const WhatIfPage& options) {
  TextPage page(options.columns, options.colour);
  page.heading(analysis::deviceLabel(device.device) + ": " +
               (options.verify_only ? "Replay" : "What if"));
  if (options.verify_only || report.verified.events_checked == 0) {
    verified(page, analysed.trace, device.device, report.verified);
    return page.take();
  }
  answer(page, analysed, report);
  page.blank();
  table(page, report);
  page.blank();
  verified(page, analysed.trace, device.device, report.verified);
  available(page, report);
  return page.take();
}

}  // namespace tidegauge::report
