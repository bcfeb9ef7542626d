// The sentences of a what-if: what helps and how to set it, what does not, and how far the replay
// is proven.
#include <fmt/format.h>

#include "base/format.h"
#include "base/text_layout.h"
#include "report/what_if/what_if_text.h"
#include "report/words/peak_words.h"

namespace tidegauge::report {

std::string withSpaces(const std::string& conf) {
  std::string spaced;
  for (size_t i = 0; i < conf.size(); ++i) {
    spaced += conf[i];
    bool is_key = i + 1 < conf.size() && conf[i + 1] >= 'a' && conf[i + 1] <= 'z';
    if (conf[i] == ',' && is_key) spaced += ' ';
  }
  return spaced;
}

std::string failedWords(const analysis::Replayed& it) {
  if (it.leastOoms() == it.mostOoms()) return base::withCommas(it.mostOoms());
  return fmt::format("{} to {}", base::withCommas(it.leastOoms()), base::withCommas(it.mostOoms()));
}

std::string failsWords(const analysis::Replayed& it) {
  if (it.leastOoms() < it.mostOoms()) return failedWords(it) + " requests fail";
  if (it.mostOoms() == 0) return "no request fails";
  return base::counted(it.mostOoms(), "request") + (it.mostOoms() == 1 ? " fails" : " fail");
}

namespace {

using analysis::Replayed;

// Exact: a rounded-down size would not suffice.
std::string mibWords(uint64_t bytes) {
  return fmt::format("{} MiB", base::withCommas(bytes / replay::kMiB));
}

std::string peakWords(const analysis::WhatIf& report, const Replayed& it) {
  return peakReservedWords(it.peakReservedBytes(), report.own.peakReservedBytes(), it.rescued > 0);
}

std::string nameOf(const Replayed& it) {
  return it.conf.empty() ? "default settings" : withSpaces(it.conf);
}

std::string bestSentence(const analysis::WhatIf& report) {
  const Replayed &own = report.own, &best = report.candidates.front();
  std::string peak = peakWords(report, best);
  if (own.mostOoms() == 0)
    return fmt::format("The result is best with {}: {}.", nameOf(best), peak);
  return fmt::format(
      "The result is best with {}: {} ({} {}), and {}.", nameOf(best), failsWords(best),
      failedWords(own),
      report.ownIsAsRecorded() ? "did in the recording" : "would with its own settings", peak);
}

// For a requested setting.
std::string wishedSentence(const analysis::WhatIf& report, const Replayed& it) {
  return fmt::format("With {}, {} ({} with its own settings), and {}.", nameOf(it), failsWords(it),
                     failedWords(report.own), peakWords(report, it));
}

std::string editSentence(const analysis::WhatIf& report, const analysis::ReplayedEdit& it) {
  const Replayed &own = report.own, &other = it.replayed;
  std::string text = fmt::format("{}: {}", analysis::words(it.edit), peakWords(report, other));
  if (own.mostOoms() > 0 || other.mostOoms() > 0)
    text += fmt::format(
        "; {} ({} {})", failsWords(other), failedWords(own),
        report.ownIsAsRecorded() ? "did in the recording" : "would in the unchanged program");
  if (other.min_capacity_bytes)
    text += fmt::format("; the smallest device memory with which no request fails is {}{}",
                        mibWords(*other.min_capacity_bytes),
                        report.recorded_ooms > 0 ? " or more" : "");
  text += ".";
  // A name of the program keeps its first letter.
  using What = analysis::ProgramEdit::What;
  bool is_word = it.edit.what == What::kDrop || it.edit.what == What::kHalve;
  if (is_word) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// For a shell, where brackets and > have another meaning.
std::string inShell(const std::string& conf) {
  return conf.find_first_of("[]<> ") == std::string::npos ? conf : "'" + conf + "'";
}

// The line for the environment, and the call to make: the fraction is a key only since torch 2.9,
// and a call since 1.7.
std::vector<std::string> howToSet(const Replayed& best, std::optional<double> known_fraction) {
  replay::Settings others = best.settings;
  auto fraction = std::exchange(others.fraction, std::nullopt);
  if (!fraction || fraction == known_fraction) {
    return {best.conf.empty() ? std::string("To set it, omit PYTORCH_CUDA_ALLOC_CONF.")
                              : "To set it: PYTORCH_CUDA_ALLOC_CONF=" + inShell(best.conf)};
  }
  std::string rest = replay::confOf(others);
  std::vector<std::string> sentences;
  if (!rest.empty()) sentences.push_back("To set it: PYTORCH_CUDA_ALLOC_CONF=" + inShell(rest));
  sentences.push_back(fmt::format(
      "{} torch.cuda.set_per_process_memory_fraction({:g}) at the start of the program; since "
      "PyTorch 2.9, per_process_memory_fraction:{:g} in {} has the same effect.",
      rest.empty() ? "To set it, call" : "Also call", *fraction, *fraction,
      rest.empty() ? "PYTORCH_CUDA_ALLOC_CONF" : "that variable"));
  return sentences;
}

// Nothing that was tried is noticeably better.
std::string noneHelps(const analysis::WhatIf& report) {
  const Replayed &own = report.own, &best = report.candidates.front();
  if (own.mostOoms() == 0) return "No tested setting lowers peak reserved memory noticeably.";
  if (report.helps_from)
    return fmt::format(
        "The result depends on that limit, which the file does not contain exactly: it was {} to "
        "{}. From {} on, {} would have helped: {} would fail.",
        mibWords(*report.limit_bytes), mibWords(*report.limit_most_bytes),
        mibWords(report.helps_from->limit_bytes),
        report.helps_from->conf.empty() ? "default settings" : withSpaces(report.helps_from->conf),
        report.helps_from->ooms == 0 ? "no request"
                                     : base::counted(report.helps_from->ooms, "request"));
  if (auto could_have = report.availableBytes();
      could_have && own.peakActiveBytes() > *could_have / 10 * 9)
    return fmt::format(
        "No tested setting helps. At the peak, {} of {} were in active blocks. The program needs "
        "{}, or it must hold less.",
        base::humanBytes(own.peakActiveBytes()), base::humanBytes(*could_have),
        report.limit_bytes ? "a higher limit" : "more memory");
  if (!best.stopped_at && best.mostOoms() < own.leastOoms())
    return fmt::format("With the best tested setting, {} {}, but {} still {}.",
                       base::counted(own.leastOoms() - best.mostOoms(), "more request"),
                       own.leastOoms() - best.mostOoms() == 1 ? "succeeds" : "succeed",
                       base::withCommas(best.mostOoms()), best.mostOoms() == 1 ? "fails" : "fail");
  return "With no tested setting do more requests succeed.";
}

// The first step at which one of the results in the text, or of another program, becomes a
// forecast.
std::optional<analysis::Step> forecastFrom(const analysis::WhatIf& report) {
  std::optional<analysis::Step> first = report.own.forecast_from;
  auto meet = [&](const Replayed& it) {
    if (it.forecast_from) first = std::min(first.value_or(*it.forecast_from), *it.forecast_from);
  };
  if (report.best_helps) meet(report.candidates.front());
  for (const analysis::ReplayedEdit& edit : report.edits) meet(edit.replayed);
  for (const Replayed& it : report.candidates)
    if (it.is_wished) meet(it);
  return first;
}

}  // namespace

std::vector<std::string> whatIfSentences(const model::Trace& trace,
                                         const analysis::WhatIf& report) {
  std::vector<std::string> sentences;
  if (report.verified.events_checked == 0)
    return {"No event of this device is from PyTorch's allocator, so there is nothing to replay."};
  if (uint64_t unread = trace.issues.count(model::IssueKind::kBadValue); unread > 0)
    sentences.push_back(fmt::format(
        "Tidegauge could not read {} of the file and treats {} as unknown. `tidegauge report` "
        "prints where.",
        base::counted(unread, "value"), unread == 1 ? "it" : "them"));
  const Replayed& own = report.own;
  uint64_t checked = report.verified.events_checked, exact = report.verified.events_exact;
  std::string estimates = fmt::format(
      "The replay differs from the recording in {} of {}, so the figures are estimates.",
      base::withCommas(checked - exact), base::counted(checked, "event"));
  bool is_poor = !report.isProven();
  if (is_poor)
    sentences.push_back(
        fmt::format("The replay differs from the recording in {} of {}. Figures of other settings "
                    "therefore prove nothing, and Tidegauge recommends none.",
                    base::withCommas(checked - exact), base::counted(checked, "event")));
  bool is_impossible = own.reserved_at_start_bytes > report.availableBytes().value_or(UINT64_MAX);
  if (is_impossible)
    sentences.push_back(fmt::format(
        "{} were reserved before the recording began. On a device of {}, this program would not "
        "have come so far.",
        base::humanBytes(own.reserved_at_start_bytes), base::humanBytes(*report.availableBytes())));
  else if (own.reserved_at_start_bytes > 0 &&
           own.reserved_at_start_bytes == own.peakReservedBytes())
    sentences.push_back(fmt::format(
        "{} were reserved before the recording began, and never more than that. Settings change "
        "only what comes after, so record from the start of the program.",
        base::humanBytes(own.reserved_at_start_bytes)));
  if (own.stopped_at)
    sentences.push_back(
        fmt::format("The replay stopped at step {}, because there were too many free blocks to "
                    "search. Later steps are not covered.",
                    base::withCommas(*own.stopped_at)));
  if (!report.ownIsAsRecorded() && !is_poor &&
      report.capacity_source != analysis::CapacitySource::kGiven)
    sentences.push_back(fmt::format(
        "In the recording, peak reserved memory was {} and {} failed. The replay differs, so "
        "something had an effect that the file does not contain, such as a memory fraction or "
        "other processes. Set it with --recorded-fraction and --recorded-capacity.",
        base::humanBytes(report.recorded_peak_bytes),
        report.recorded_ooms == 0 ? "no request" : base::counted(report.recorded_ooms, "request")));
  for (const std::string& pair : report.verified.settings.not_simulated)
    sentences.push_back(
        fmt::format("The replay does not simulate {} of the recording, so its effect is missing.",
                    base::printable(pair)));
  if (report.best_helps) {
    const Replayed& best = report.candidates.front();
    sentences.push_back(bestSentence(report));
    for (std::string& line : howToSet(best, report.fraction)) sentences.push_back(std::move(line));
    if (auto fraction = best.settings.fraction;
        fraction && report.capacity_source != analysis::CapacitySource::kGiven &&
        report.capacity_bytes && !report.device_bytes)
      sentences.push_back(fmt::format(
          "PyTorch applies the fraction to the whole device, whose size is unknown. The "
          "replay used a limit of {}. If other programs hold a part of the device, "
          "choose the fraction that gives this limit.",
          base::humanBytes(best.settings.capBytes(*report.capacity_bytes))));
    if (report.limit_bytes && best.settings.gc_threshold > 0 &&
        best.settings.gc_threshold != own.settings.gc_threshold)
      sentences.push_back(
          "The threshold is a share of the limit that the program set. Without a limit, the "
          "allocator collects no garbage.");
  } else if (!report.candidates.empty() && !is_impossible && !is_poor && !own.stopped_at) {
    sentences.push_back(noneHelps(report));
  }
  for (const analysis::ReplayedEdit& it : report.edits)
    sentences.push_back(editSentence(report, it));
  // The table has them too; among the known settings they also get a sentence.
  if (report.are_mixed)
    for (const Replayed& it : report.candidates)
      if (it.is_wished && !it.stopped_at &&
          !(report.best_helps && &it == &report.candidates.front()))
        sentences.push_back(wishedSentence(report, it));
  if (report.fit && !is_impossible && report.edits.empty())
    for (std::string& sentence : fitSentences(*report.fit))
      sentences.push_back(std::move(sentence));
  if (own.mostOoms() > 0 && !own.min_capacity_bytes && !report.best_helps && report.edits.empty() &&
      !is_impossible && !is_poor && report.availableBytes())
    sentences.push_back(
        "--min-capacity finds the smallest device memory with which no request fails.");
  if (own.min_capacity_bytes) {
    std::string text = fmt::format(
        "The smallest device memory with which no request of this process fails is {}{}",
        mibWords(*own.min_capacity_bytes),
        report.recorded_ooms > 0 ? " or more (its next requests are unknown)" : "");
    for (const Replayed& it : report.candidates)
      if (it.min_capacity_bytes)
        text += fmt::format(
            "; with {}, {}{}", it.conf.empty() ? "default settings" : withSpaces(it.conf),
            mibWords(*it.min_capacity_bytes), report.recorded_ooms > 0 ? " or more" : "");
    sentences.push_back(text + ". Larger sizes were tried too.");
  }
  auto isIdle = [](const Replayed& it) { return analysis::hasIdleThreshold(it.settings); };
  if (analysis::hasIdleThreshold(report.verified.settings) ||
      std::ranges::any_of(report.candidates, isIdle))
    sentences.push_back(
        "garbage_collection_threshold has no effect here. It is a share of a memory fraction below "
        "1, and none is set (per_process_memory_fraction, or "
        "torch.cuda.set_per_process_memory_fraction()). If the program sets one, add --fraction "
        "and --capacity.");
  auto fighting = [](const Replayed& it) { return analysis::fights(it.settings); };
  if (fighting(own) || std::ranges::any_of(report.candidates, fighting))
    sentences.push_back(
        "max_split_size_mb works against expandable_segments. Small requests must not use the "
        "large free ranges of expandable segments, so they map new pages.");
  auto hasRange = [](const Replayed& it) { return it.hasRange(); };
  if (hasRange(own) || std::ranges::any_of(report.candidates, hasRange))
    sentences.push_back(
        "This version of PyTorch takes the lowest address among free blocks of equal size, so the "
        "result depends on where the driver places segments. The ranges are over three "
        "placements.");
  if (auto from = forecastFrom(report))
    sentences.push_back(fmt::format(
        "The result is a forecast from step {} on. There, a request that failed in the "
        "recording succeeds in the replay, or the reverse, and the program might then "
        "have behaved differently. In comparisons with real runs of PyTorch, such peaks "
        "were wrong by up to 13 %, and the number of later failures usually differed.",
        base::withCommas(*from)));
  bool is_expandable = own.settings.expandable;
  for (const Replayed& it : report.candidates) is_expandable |= it.settings.expandable;
  if (report.verified.has_private_pools && !report.verified.private_pools_are_known &&
      own.settings.tie == replay::TieBreak::kAddress && is_expandable)
    sentences.push_back(
        "This recording does not show whether private pools (CUDA graphs) "
        "have expandable segments, as since torch 2.5; replays assume it.");
  if (!report.availableBytes())
    sentences.push_back(
        own.stats.ooms == 0
            ? "The file does not contain the size of the device, so no request fails in these "
              "replays. Set the size with --capacity, e.g. --capacity 80GiB."
            : "The file does not contain the size of the device, so only requests that no device "
              "can serve fail in these replays. Set the size with --capacity, e.g. --capacity "
              "80GiB.");
  if (exact < checked && !is_poor) sentences.push_back(estimates);
  return sentences;
}

}  // namespace tidegauge::report
