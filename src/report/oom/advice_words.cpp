#include "report/oom/advice_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "base/sizes.h"
#include "report/shell/shell_line.h"
#include "report/words/holder_names.h"
#include "report/words/peak_words.h"
#include "report/words/pool_names.h"

namespace tidegauge::report {
namespace {

using analysis::Advice;
using analysis::AdviceKind;
using base::counted;
using base::humanBytes;
using base::withCommas;

// One advice in words: a function per kind that has more than a sentence.
class AdviceSentences {
 public:
  AdviceSentences(const analysis::AnalysedTrace& analysed, const Advice& advice)
      : analysed_(analysed), advice_(advice) {}

  std::string text() const {
    switch (advice_.kind) {
      case AdviceKind::kNoSettingHelps:
        return noSettingHelps();
      case AdviceKind::kHoldLess:
        return holdLess();
      case AdviceKind::kSmallerRequest:
        return smallerRequest();
      case AdviceKind::kExpandable:
        return expandable();
      case AdviceKind::kSplitLimit:
        return splitLimit();
      case AdviceKind::kLargerSplitLimit:
        return largerSplitLimit();
      case AdviceKind::kNoSplitLimit:
        return fmt::format(
            "Try expandable_segments without max_split_size_mb. Requests below {} must not use "
            "free ranges of that size or more, so they map new pages.",
            bytes("max_split_bytes"));
      case AdviceKind::kNoRoundup:
        return "Try without roundup_power2_divisions, or with more divisions. This setting makes "
               "blocks larger than their requests.";
      case AdviceKind::kEmptyCache:
        return emptyCache();
      case AdviceKind::kPool:
        return fmt::format(
            "Try to let the request use the default pool, or call torch.cuda.empty_cache() before "
            "the pool is used. {} in free blocks that are large enough belong to the default pool.",
            bytes("other_pool_bytes"));
      case AdviceKind::kStream:
        return fmt::format(
            "Try to allocate on one stream, with record_stream() where another uses the tensor. {} "
            "in free blocks that are large enough belong to other streams than the request's.",
            bytes("other_stream_bytes"));
      case AdviceKind::kMemoryFraction:
        return memoryFraction();
      case AdviceKind::kGcNeedsFraction:
        return fmt::format(
            "garbage_collection_threshold:{} does nothing unless a memory fraction below 1 is set "
            "too; the file does not say whether one is.",
            analysis::confValue(analysed_.trace.settings.conf, "garbage_collection_threshold"));
      case AdviceKind::kTryAgain:
        return fmt::format(
            "Try the same request again. A free block of {} fits, but the allocator does not "
            "search again after its flush.",
            bytes("fitting_bytes"));
      case AdviceKind::kOtherProcesses:
        return fmt::format("Check what else is on the device (nvidia-smi). {} are outside this {}.",
                           advice_.has("other_bytes") ? bytes("other_bytes")
                                                      : "At least " + bytes("least_other_bytes"),
                           isOfDriver() ? "process" : "allocator");
      case AdviceKind::kReleasePool:
        return releasePool();
      case AdviceKind::kFlushBeforeCapture:
        return fmt::format(
            "Call torch.cuda.empty_cache() before the capture begins. {} in whole free segments of "
            "the default pool could not be returned, because the allocator does not flush its "
            "cache during a capture.",
            bytes("unflushed_bytes"));
      case AdviceKind::kCheckRequest:
        return checkRequest();
      case AdviceKind::kNotInEffect:
        return "expandable_segments:True was requested, but it is not in effect: this platform or "
               "build does not support it. The setting changes nothing here.";
      case AdviceKind::kReplayedSetting:
        return fmt::format(
            "Try {}. Of the settings that Tidegauge replayed, it gives the best "
            "result.",
            replayedSetting());
    }
    return {};
  }

 private:
  std::string bytes(std::string_view name) const { return humanBytes(advice_.value(name)); }
  bool isOfDriver() const { return advice_.allocator == analysis::AllocatorKind::kDriver; }
  std::string phase() const {
    const auto& annotations = analysed_.trace.annotations;
    return std::string(analysed_.trace.strings.text(annotations.name[*advice_.annotation]));
  }
  std::string replayedSetting() const {
    if (!advice_.setting.empty()) return advice_.setting;
    bool is_default = !advice_.effect || advice_.effect->conf.empty();
    return is_default ? "PyTorch's default settings"
                      : "PYTORCH_CUDA_ALLOC_CONF=" + advice_.effect->conf;
  }
  std::string needsVersion() const {
    return analysed_.trace.settings.present ? "" : " It needs PyTorch 2.1 or newer.";
  }

  std::string noSettingHelps() const {
    std::string lacking = fmt::format(
        "because the memory is too small. Even if all free memory were one range, {} would be "
        "missing.",
        bytes("lacking_bytes"));
    uint64_t settings = advice_.value("settings_that_help_too_little");
    if (settings == 0) return "No allocator setting helps, " + lacking;
    uint64_t before = advice_.value("ooms_before"), after = advice_.value("ooms_after");
    return fmt::format(
        "No allocator setting helps enough, {} In a replay, {} {} more requests succeed, but at "
        "least {} of {} still {}.",
        lacking, counted(settings, "setting"), settings == 1 ? "lets" : "let", withCommas(after),
        withCommas(before), after == 1 ? "fails" : "fail");
  }

  std::string holdLess() const {
    std::string text =
        isOfDriver() ? "Free something before this point, or request less"
                     : "Try a smaller batch, or free or recompute something before this point";
    if (advice_.has("lacking_bytes")) {
      text += fmt::format(". The program must hold at least {} less.", bytes("lacking_bytes"));
    } else {
      text += fmt::format(". The bytes are free, but in pieces{}.",
                          analysis::rulesOf(analysed_.trace).expandable
                              ? ", although expandable_segments:True is in effect"
                              : "");
    }
    if (advice_.stack.valid()) {
      text += fmt::format(" The largest holder is {}: {} in {}.",
                          oneName(analysed_.names.of(advice_.stack)), bytes("largest_holder_bytes"),
                          counted(advice_.value("largest_holder_blocks"), "block"));
    }
    if (advice_.annotation) {
      text += fmt::format(" The phase at this step, {}, allocated {} of the active memory.",
                          phase(), bytes("phase_bytes"));
    }
    return text;
  }

  std::string smallerRequest() const {
    uint64_t parts = advice_.value("parts");
    return fmt::format(
        "Try to split the request{} into {} parts. {} did not fit; {} parts of {} would have "
        "fitted together.",
        advice_.stack.valid() ? " at " + analysed_.labels.label(advice_.stack) : std::string(),
        parts, bytes("request_bytes"), parts, bytes("part_bytes"));
  }

  std::string expandable() const {
    if (advice_.has("rounding_bytes")) {
      return "Try expandable_segments:True. With it, the allocator splits off the unused end of "
             "every block; otherwise it keeps ends that are too small for a block.";
    }
    if (advice_.has("unused_bytes")) {
      return fmt::format(
          "Try expandable_segments:True. At peak reserved memory, {} of {} were free, and active "
          "blocks kept {} of them from the driver.{}",
          bytes("unused_bytes"), bytes("reserved_bytes"), bytes("pinned_bytes"), needsVersion());
    }
    return fmt::format(
        "Try expandable_segments:True. {} were in {}. Expandable segments grow in place and return "
        "memory to the driver page by page.{}",
        bytes("free_bytes"), counted(advice_.value("pieces"), "free range"), needsVersion());
  }

  std::string splitLimit() const {
    uint64_t segments = advice_.value("cut_segments");
    return fmt::format(
        "Try {}. Smaller blocks cut up {} that {} large enough for the request, and {} in {} are "
        "free. The setting can also increase reserved memory.",
        advice_.setting, counted(segments, "segment"), segments == 1 ? "is" : "are",
        bytes("cut_free_bytes"), segments == 1 ? "it" : "them");
  }

  std::string largerSplitLimit() const {
    std::string limit = bytes("max_split_bytes");
    if (advice_.has("forbidden_bytes")) {
      return fmt::format(
          "Try a larger max_split_size_mb, or none. {} in free blocks were large enough, but the "
          "limit of {} forbids them for this request.",
          bytes("forbidden_bytes"), limit);
    }
    return fmt::format(
        "Try a larger max_split_size_mb, or none. The allocator does not split blocks of {} and "
        "more.",
        limit);
  }

  std::string emptyCache() const {
    if (!advice_.has("active_bytes")) {
      return fmt::format(
          "If other programs need the memory, call torch.cuda.empty_cache(). At the end it can "
          "return {} of {} reserved to the driver.",
          bytes("releasable_bytes"), bytes("reserved_bytes"));
    }
    return fmt::format(
        "Try torch.cuda.empty_cache() at step {}{}, where active memory was low ({}). It could "
        "have returned {} to the driver there.",
        withCommas(*advice_.step), advice_.annotation ? ", in phase " + phase() : std::string(),
        bytes("active_bytes"), bytes("releasable_bytes"));
  }

  std::string memoryFraction() const {
    std::string text = fmt::format("The driver had {} free, and the allocator needed {}.",
                                   bytes("driver_bytes"), bytes("wanted_bytes"));
    if (!advice_.has("fraction_percent"))
      return fmt::format(
          "Try a larger memory fraction (set_per_process_memory_fraction): {} must be allowed. {}",
          bytes("needed_bytes"), text);
    std::string now = fmt::format("{} %", advice_.value("fraction_percent"));
    if (advice_.setting.empty()) {
      return fmt::format(
          "Allow the process more than {} of the device (per_process_memory_fraction), if that is "
          "enough at all. {}",
          now, text);
    }
    return fmt::format(
        "Allow the process {} % of the device in place of {} (per_process_memory_fraction). Then "
        "{} may be reserved, which this request needed. {}",
        advice_.value("needed_percent"), now, bytes("needed_bytes"), text);
  }

  std::string releasePool() const {
    std::string name = poolName(analysed_.trace, advice_.pool);
    bool is_graph = name.starts_with("graph");
    std::string text =
        is_graph ? fmt::format(
                       "Let the CUDA graph of {} go, or let several graphs share one pool. ", name)
                 : fmt::format("Let {} go, share it, or move the work out of it. ", name);
    text += fmt::format("It keeps {} free that nothing else can use", bytes("pool_free_bytes"));
    if (advice_.value("pool_live_bytes") == 0) {
      text += ", and nothing lives in it.";
    } else {
      text += fmt::format("; {} in {} live in it{}.", bytes("pool_live_bytes"),
                          counted(advice_.value("pool_blocks"), "block"),
                          advice_.stack.valid()
                              ? ", most from " + oneName(analysed_.names.of(advice_.stack))
                              : std::string());
    }
    return text + (is_graph ? " torch.cuda.empty_cache() does not return it while the graph exists."
                            : " torch.cuda.empty_cache() does not return it while the pool is in "
                              "use.");
  }

  std::string checkRequest() const {
    std::string where =
        advice_.stack.valid() ? " at " + analysed_.labels.label(advice_.stack) : std::string();
    return fmt::format(
        "Check the request{}. {} is {} more than the process could have had even with nothing else "
        "held, so its size is probably wrong.",
        where, bytes("request_bytes"), bytes("too_many_bytes"));
  }

  const analysis::AnalysedTrace& analysed_;
  const Advice& advice_;
};

std::string fails(uint64_t ooms) {
  if (ooms == 0) return "no request fails";
  return counted(ooms, "request") + (ooms == 1 ? " fails" : " fail");
}

}  // namespace

std::string adviceText(const analysis::AnalysedTrace& analysed, const Advice& advice) {
  std::string text = AdviceSentences(analysed, advice).text();
  // What does not help is named, and not proposed.
  constexpr std::string_view kTry = "Try ";
  return advice.isDisproved() && text.starts_with(kTry) ? text.substr(kTry.size()) : text;
}

std::string copyLine(const analysis::AnalysedTrace& analysed, const Advice& advice) {
  switch (advice.kind) {
    case AdviceKind::kEmptyCache:
    case AdviceKind::kFlushBeforeCapture:
      return "torch.cuda.empty_cache()";
    case AdviceKind::kNotInEffect:
      return {};
    default:
      break;
  }
  if (advice.effect && (!advice.setting.empty() || !advice.effect->conf.empty()))
    return environmentLine(advice.effect->conf);
  if (advice.setting.empty()) return {};
  return environmentLine(analysis::changedConf(analysed.trace.settings.conf, advice.setting));
}

std::string environmentLine(const std::string& conf) {
  return "PYTORCH_CUDA_ALLOC_CONF=" + quotedForShell(conf);
}

std::string shortName(const analysis::AnalysedTrace& analysed, const Advice& advice) {
  if (!advice.setting.empty()) return advice.setting;
  if (advice.kind == AdviceKind::kReleasePool)
    return "release of " + poolName(analysed.trace, advice.pool);
  if (advice.kind == AdviceKind::kNoRoundup) return "no roundup_power2_divisions";
  if (advice.kind == AdviceKind::kNoSplitLimit)
    return "expandable_segments without max_split_size_mb";
  if (advice.kind == AdviceKind::kEmptyCache && advice.step)
    return fmt::format("empty_cache() at step {}", withCommas(*advice.step));
  std::string words(analysis::name(advice.kind));
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string disprovedWords(const analysis::AnalysedTrace& analysed,
                           const std::vector<Advice>& advice, const char* none_helps) {
  std::vector<std::string> disproved, too_little;
  for (const Advice& one : advice)
    if (one.isDisproved())
      (one.effect->isTooLittle() ? too_little : disproved).push_back(shortName(analysed, one));
  std::string text;
  if (!disproved.empty())
    text = fmt::format("{} in a replay: {}.", too_little.empty() ? none_helps : "Does not help",
                       fmt::join(disproved, ", "));
  if (!too_little.empty())
    text += fmt::format("{}Helps in a replay, but not enough: {}.", text.empty() ? "" : " ",
                        fmt::join(too_little, ", "));
  return text;
}

std::optional<Sentence> effectSentence(const Advice& advice, size_t place,
                                       const std::string& advice_table) {
  if (!advice.effect) return std::nullopt;
  const analysis::AdviceEffect& effect = *advice.effect;
  Sentence sentence;
  sentence.sql = fmt::format(
      "SELECT DISTINCT step + 1 AS next_step, ooms_before, ooms_after, "
      "first_failing_step, peak_reserved_before_bytes, peak_reserved_after_bytes, "
      "forecast_from_step FROM {} WHERE place = {}",
      advice_table, place);
  std::string text =
      effect.freed_live_bytes > 0
          ? "In a replay with this change, which also frees what lives in the pool, "
          : fmt::format("In a replay with {}, ", effect.conf.empty() && advice.setting.empty()
                                                     ? "this change"
                                                     : "this setting");
  if (effect.ooms_before > 0 || effect.ooms_after > 0) {
    text += fails(effect.ooms_after);
    if (effect.ooms_before > 0)
      text += fmt::format(" ({} did)",
                          effect.ooms_before == 1 ? "one" : withCommas(effect.ooms_before));
    if (effect.ooms_after > 0 && effect.first_failing_step)
      text += fmt::format(", {} at step {}", effect.ooms_after == 1 ? "that" : "the first",
                          withCommas(*effect.first_failing_step));
    text += ", and ";
  }
  text += peakReservedWords(effect.peak_reserved_after_bytes, effect.peak_reserved_before_bytes,
                            effect.peak_is_at_least) +
          ".";
  // After a request that failed when recorded and succeeds here, the program continues differently.
  if (effect.forecast_from)
    text += fmt::format(
        " From step {} on, this is a forecast: the file does not show what the program would "
        "request next, and that may fail.",
        withCommas(*effect.forecast_from));
  sentence.parts = {plain(std::move(text))};
  return sentence;
}

}  // namespace tidegauge::report
