#include "replay/limit.h"

#include <algorithm>

#include "replay/verifier.h"

namespace tidegauge::replay {
namespace {

// What the first difference shows about the tried limit.
enum class Tried : uint8_t { kFits, kTooLow, kTooHigh, kUnlike };

Tried tryLimit(const Tape& tape, Settings settings, const VerifyOptions& options,
               uint64_t limit_bytes) {
  settings.limit_bytes = limit_bytes;
  Verification it =
      Verifier(tape, settings, options.capacity_bytes, Verifier::Refusals::kNone).run(0);
  if (!it.first_divergence) return it.checked_until == tape.steps() ? Tried::kFits : Tried::kUnlike;
  if (it.released_too_early == it.released_too_late) return Tried::kUnlike;
  return it.released_too_early > 0 ? Tried::kTooLow : Tried::kTooHigh;
}

// Garbage is collected when more than threshold · limit is reserved. Reserved memory is a multiple
// of 2 MiB, so the limits with the same effect form a range of about that size. Returns the least
// whole MiB that explains the trace.
std::optional<uint64_t> limitOfCollections(const Tape& tape, const VerifyOptions& options,
                                           const Verification& verified, uint64_t least_bytes,
                                           uint64_t most_bytes) {
  std::optional<uint64_t> found_bytes;
  uint64_t least = least_bytes / kMiB, most = most_bytes / kMiB + 1;
  while (least <= most) {
    uint64_t middle = least + (most - least) / 2;
    switch (tryLimit(tape, verified.settings, options, middle * kMiB)) {
      case Tried::kTooLow:
        least = middle + 1;
        continue;
      case Tried::kFits:
        found_bytes = middle * kMiB;
        break;
      case Tried::kTooHigh:
        break;
      case Tried::kUnlike:
        return found_bytes;
    }
    if (middle == 0) break;
    most = middle - 1;
  }
  return found_bytes;
}

// The least limit with the same effect: both it and threshold · limit are compared with multiples
// of 2 MiB alone.
uint64_t leastWithThisEffect(double threshold, uint64_t limit_bytes) {
  auto down = [](uint64_t bytes) { return bytes / kSegmentStepBytes * kSegmentStepBytes; };
  auto garbageBytes = [&](uint64_t limit) {
    return static_cast<uint64_t>(threshold * static_cast<double>(limit));
  };
  uint64_t bound_bytes = down(garbageBytes(limit_bytes));
  auto least_bytes = static_cast<uint64_t>(static_cast<double>(bound_bytes) / threshold);
  while (garbageBytes(least_bytes) < bound_bytes) ++least_bytes;  // a rounding error away
  return std::max(least_bytes, down(limit_bytes));
}

// The same for a trace that no limit explains completely, such as one that began late: the limit
// under which the most events are exact. A difference is followed by the recorded state, so each
// collection counts once, as too early or too late.
std::optional<uint64_t> limitOfMostCollections(const Tape& tape, const VerifyOptions& options,
                                               const Verification& verified, uint64_t least_bytes,
                                               uint64_t most_bytes) {
  constexpr model::Step kMaxSteps = 500'000;
  constexpr uint64_t kMaxDivergences = 1000;
  if (tape.steps() > kMaxSteps || verified.unchecked > 0 || verified.divergences > kMaxDivergences)
    return std::nullopt;
  std::optional<uint64_t> found_bytes;
  const Verification* best = &verified;
  Verification better;
  uint64_t least = least_bytes / kMiB, most = most_bytes / kMiB + 1;
  while (least <= most) {
    uint64_t middle = least + (most - least) / 2;
    Settings settings = verified.settings;
    settings.limit_bytes = middle * kMiB;
    Verification it = Verifier(tape, settings, options.capacity_bytes).run(kMaxDivergences);
    bool is_too_low = it.released_too_early > it.released_too_late;
    if (it.unchecked == 0 && explainsMore(it, *best)) {
      found_bytes = middle * kMiB;
      better = std::move(it);
      best = &better;
    }
    if (is_too_low) {
      least = middle + 1;
      continue;
    }
    if (middle == 0) break;
    most = middle - 1;
  }
  return found_bytes;
}

}  // namespace

bool explainsMore(const Verification& a, const Verification& b) {
  if (a.events_exact != b.events_exact) return a.events_exact > b.events_exact;
  return a.emptied_before_requests + a.retried < b.emptied_before_requests + b.retried;
}

std::optional<Limit> limitOf(const model::Trace& trace, const model::Device& device,
                             const VerifyOptions& options, const Verification& verified,
                             uint64_t most_reserved_bytes) {
  if (most_reserved_bytes == 0) return std::nullopt;
  uint64_t refused_bytes = verified.refused_at_bytes.value_or(UINT64_MAX);
  double threshold = verified.settings.gc_threshold;
  bool is_guessed = verified.emptied_before_requests > 0 || verified.retried > 0;
  if (threshold > 0 && (verified.first_divergence || is_guessed)) {
    // The first collection happened with no more than was ever reserved. Refusals bound nothing
    // here: without the limit, a collection may look like one.
    double most = std::min(static_cast<double>(most_reserved_bytes) / threshold + 1, 0x1p60);
    auto most_bytes = static_cast<uint64_t>(most);
    Tape tape(trace, device);
    auto bytes = limitOfCollections(tape, options, verified, most_reserved_bytes, most_bytes);
    if (bytes) {
      uint64_t least_bytes = leastWithThisEffect(threshold, *bytes);
      if (tryLimit(tape, verified.settings, options, least_bytes) == Tried::kFits)
        bytes = least_bytes;
    } else {
      bytes = limitOfMostCollections(tape, options, verified, most_reserved_bytes, most_bytes);
    }
    if (bytes) return Limit{*bytes, *bytes};
  }
  if (verified.refused_with_room > 0)
    return Limit{most_reserved_bytes, std::max(most_reserved_bytes, refused_bytes - 1)};
  return std::nullopt;
}

}  // namespace tidegauge::replay
