// The sentences of a what-if: what helps and how to set it, what does not, and how far the replay
// is proven.
#include <fmt/format.h>

#include "base/format.h"
#include "base/sizes.h"
#include "base/text_layout.h"
#include "report/what_if/what_if_text.h"

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

// A request that fits now is freed at once, so later ones may need more.
const char* orMore(const Replayed& it) { return it.rescued > 0 ? " or more" : ""; }

std::string nameOf(const Replayed& it) {
  return it.conf.empty() ? "To set nothing" : withSpaces(it.conf);
}

std::string bestSentence(const analysis::WhatIf& report) {
  const Replayed &own = report.own, &best = report.candidates.front();
  std::vector<std::string> sizes{base::humanBytes(own.peakReservedBytes()),
                                 base::humanBytes(best.peakReservedBytes())};
  // Equal texts get a finer unit.
  if (sizes[0] == sizes[1])
    sizes = base::inOneUnit({own.peakReservedBytes(), best.peakReservedBytes()});
  bool is_real = report.ownIsAsRecorded();
  std::string helps = is_real ? "would have helped" : "would help there";
  if (own.mostOoms() == 0)
    return fmt::format("{} {}: peak reserved {} instead of {}.", nameOf(best), helps, sizes[1],
                       sizes[0]);
  return fmt::format("{} {}: {}, where {} {}; peak reserved {}{}, where it {} {}.", nameOf(best),
                     helps, failsWords(best), failedWords(own),
                     is_real ? "did" : "would under its own settings", sizes[1], orMore(best),
                     is_real ? "was" : "would be", sizes[0]);
}

// For a requested setting.
std::string wishedSentence(const analysis::WhatIf& report, const Replayed& it) {
  return fmt::format("{}: {}, {} under its own settings; peak reserved {}{}, there {}.", nameOf(it),
                     failsWords(it), failedWords(report.own),
                     base::humanBytes(it.peakReservedBytes()), orMore(it),
                     base::humanBytes(report.own.peakReservedBytes()));
}

std::string editSentence(const analysis::WhatIf& report, const analysis::ReplayedEdit& it) {
  const Replayed &own = report.own, &other = it.replayed;
  std::string text = fmt::format("{}: peak reserved {}, where it {} {}", analysis::words(it.edit),
                                 base::humanBytes(other.peakReservedBytes()),
                                 report.ownIsAsRecorded() ? "was" : "would be",
                                 base::humanBytes(own.peakReservedBytes()));
  if (own.mostOoms() > 0 || other.mostOoms() > 0)
    text += fmt::format("; {}, where {} {}", failsWords(other), failedWords(own),
                        report.ownIsAsRecorded() ? "did" : "would");
  if (other.min_capacity_bytes)
    text += fmt::format("; the smallest card on which it gets through has {}{}",
                        mibWords(*other.min_capacity_bytes),
                        report.recorded_ooms > 0 ? " or more" : "");
  text += ".";
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
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
    return {best.conf.empty() ? std::string("To set it: leave PYTORCH_CUDA_ALLOC_CONF out.")
                              : "To set it: PYTORCH_CUDA_ALLOC_CONF=" + inShell(best.conf)};
  }
  return {"To set it: PYTORCH_CUDA_ALLOC_CONF=" + inShell(replay::confOf(others)),
          fmt::format("With it, at the start of the program: "
                      "torch.cuda.set_per_process_memory_fraction({:g}); or, since torch 2.9, "
                      "per_process_memory_fraction:{:g} in the line.",
                      *fraction, *fraction)};
}

// Nothing that was tried is noticeably better.
std::string noneHelps(const analysis::WhatIf& report) {
  const Replayed &own = report.own, &best = report.candidates.front();
  if (own.mostOoms() == 0) return "No setting that was tried reserves noticeably less.";
  if (report.helps_from)
    return fmt::format(
        "It depends on that limit, which the file does not give exactly: it was "
        "{} to {}. From {} on {} would have helped: {} of the requests would fail.",
        mibWords(*report.limit_bytes), mibWords(*report.limit_most_bytes),
        mibWords(report.helps_from->limit_bytes),
        report.helps_from->conf.empty() ? "to set nothing" : withSpaces(report.helps_from->conf),
        report.helps_from->ooms == 0 ? "none" : base::withCommas(report.helps_from->ooms));
  if (auto could_have = report.availableBytes();
      could_have && own.peakActiveBytes() > *could_have / 10 * 9)
    return fmt::format(
        "No setting that was tried helps: {} of {} were in live blocks at the peak, so what is "
        "missing is {}, or holding less.",
        base::humanBytes(own.peakActiveBytes()), base::humanBytes(*could_have),
        report.limit_bytes ? "a higher limit" : "capacity");
  if (!best.stopped_at && best.mostOoms() < own.leastOoms())
    return fmt::format("The best of them lets {} more through, and {} fail still: no way out.",
                       base::withCommas(own.leastOoms() - best.mostOoms()),
                       base::withCommas(best.mostOoms()));
  return "No setting that was tried lets more requests through.";
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
    return {"No event of this device is the allocator's: nothing to replay."};
  if (uint64_t unread = trace.issues.count(model::IssueKind::kBadValue); unread > 0)
    sentences.push_back(fmt::format(
        "{} of the file could not be read and {} taken as unknown: `tidegauge report` says where.",
        base::counted(unread, "value"), unread == 1 ? "is" : "are"));
  const Replayed& own = report.own;
  uint64_t checked = report.verified.events_checked, exact = report.verified.events_exact;
  std::string estimates =
      fmt::format("{} of {} were not as these rules have it: take the figures as estimates.",
                  base::withCommas(checked - exact), base::counted(checked, "event"));
  bool is_poor = !report.isProven();
  if (is_poor)
    sentences.push_back(
        fmt::format("{} of {} were not as these rules have it: no figure of other settings is "
                    "proof, and none is said to help.",
                    base::withCommas(checked - exact), base::counted(checked, "event")));
  bool is_impossible = own.reserved_at_start_bytes > report.availableBytes().value_or(UINT64_MAX);
  if (is_impossible)
    sentences.push_back(fmt::format(
        "{} were reserved before the recording began: on a "
        "device of {} this program would not have come so far.",
        base::humanBytes(own.reserved_at_start_bytes), base::humanBytes(*report.availableBytes())));
  else if (own.reserved_at_start_bytes > 0 &&
           own.reserved_at_start_bytes == own.peakReservedBytes())
    sentences.push_back(fmt::format(
        "{} were reserved before the recording began, and never more: settings change only what "
        "comes after, so record from the start of the program.",
        base::humanBytes(own.reserved_at_start_bytes)));
  if (own.stopped_at)
    sentences.push_back(
        fmt::format("The replay stopped at step {}: there were too many "
                    "free blocks to search. Later steps are not covered.",
                    base::withCommas(*own.stopped_at)));
  if (!report.ownIsAsRecorded() && !is_poor &&
      report.capacity_source != analysis::CapacitySource::kGiven)
    sentences.push_back(fmt::format(
        "The recording reserved {} at its peak and {} failed; its replay "
        "differs, so something acted that the file does not contain, such as "
        "a memory fraction or other processes. --fraction and --capacity set it.",
        base::humanBytes(report.recorded_peak_bytes),
        report.recorded_ooms == 0 ? "no request" : base::counted(report.recorded_ooms, "request")));
  for (const std::string& pair : report.verified.settings.not_simulated)
    sentences.push_back(
        fmt::format("{} of the recording is not simulated: what it changes is not in here.",
                    base::printable(pair)));
  if (report.best_helps) {
    const Replayed& best = report.candidates.front();
    sentences.push_back(bestSentence(report));
    for (std::string& line : howToSet(best, report.fraction)) sentences.push_back(std::move(line));
    if (auto fraction = best.settings.fraction;
        fraction && report.capacity_source != analysis::CapacitySource::kGiven &&
        report.capacity_bytes && !report.device_bytes)
      sentences.push_back(
          fmt::format("PyTorch takes the fraction of the whole device, whose size is not known: "
                      "what was replayed is a "
                      "limit of {}. Where others hold a part of the device, give that by its size.",
                      base::humanBytes(best.settings.capBytes(*report.capacity_bytes))));
    if (report.limit_bytes && best.settings.gc_threshold > 0 &&
        best.settings.gc_threshold != own.settings.gc_threshold)
      sentences.push_back(
          "The threshold is of the limit that the program set: without one nothing is collected.");
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
  if (own.mostOoms() > 0 && !own.min_capacity_bytes && !report.best_helps && report.edits.empty() &&
      !is_impossible && !is_poor && report.availableBytes())
    sentences.push_back("--min-capacity says how large a card the run needs.");
  if (own.min_capacity_bytes) {
    std::string text = fmt::format(
        "The smallest card found on which the run gets through, as it does on larger ones that "
        "were tried, has {}{} for this process",
        mibWords(*own.min_capacity_bytes),
        report.recorded_ooms > 0 ? " or more (what it would have asked for next is not known)"
                                 : "");
    for (const Replayed& it : report.candidates)
      if (it.min_capacity_bytes)
        text += fmt::format(
            "; with {}, {}{}", it.conf.empty() ? "nothing set" : withSpaces(it.conf),
            mibWords(*it.min_capacity_bytes), report.recorded_ooms > 0 ? " or more" : "");
    sentences.push_back(text + ".");
  }
  auto isIdle = [](const Replayed& it) { return analysis::hasIdleThreshold(it.settings); };
  if (analysis::hasIdleThreshold(report.verified.settings) ||
      std::ranges::any_of(report.candidates, isIdle))
    sentences.push_back(
        "garbage_collection_threshold does nothing here: it is of a "
        "memory fraction below 1, and none is set (per_process_memory_fraction, "
        "or torch.cuda.set_per_process_memory_fraction()). If the "
        "program sets one, give --fraction and --capacity.");
  auto fighting = [](const Replayed& it) { return analysis::fights(it.settings); };
  if (fighting(own) || std::ranges::any_of(report.candidates, fighting))
    sentences.push_back(
        "max_split_size_mb and expandable_segments fight: small requests may not use the large "
        "free stretches "
        "that expandable segments have, and map new pages instead.");
  auto hasRange = [](const Replayed& it) { return it.hasRange(); };
  if (hasRange(own) || std::ranges::any_of(report.candidates, hasRange))
    sentences.push_back(
        "This PyTorch takes the lowest address among blocks of one size, so the "
        "driver's placement moves the result: the range is over three placements.");
  if (auto from = forecastFrom(report))
    sentences.push_back(
        fmt::format("From step {} on it is a forecast: there a request goes another way than it "
                    "did, and what the program would "
                    "have done next is not known: it may ask for more. Against PyTorch's own runs "
                    "such peaks were off by up to 13 %, and in most of them another number of "
                    "requests failed later.",
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
            ? "How much the device has is not known, so "
              "nothing fails here: --capacity 80GiB says it."
            : "How much the device has is not known, so only what no device has fails here: "
              "--capacity 80GiB says it.");
  if (exact < checked && !is_poor) sentences.push_back(estimates);
  return sentences;
}

}  // namespace tidegauge::report
