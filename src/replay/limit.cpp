#include "replay/limit.h"

#include <algorithm>

#include "replay/verifier.h"

namespace tidegauge::replay {
namespace {

using model::Action;

bool returnsMemory(Action action) {
  return action == Action::kSegmentFree || action == Action::kSegmentUnmap ||
         action == Action::kOom;
}

// What the first difference shows about the tried limit.
enum class Tried : uint8_t { kFits, kTooLow, kTooHigh, kUnlike };

Tried tryLimit(const Tape& tape, Settings settings, const VerifyOptions& options,
               uint64_t limit_bytes) {
  settings.limit_bytes = limit_bytes;
  Verification it =
      Verifier(tape, settings, options.capacity_bytes, Verifier::Refusals::kNone).run(0);
  if (!it.first_divergence) return it.checked_until == tape.steps() ? Tried::kFits : Tried::kUnlike;
  const Divergence& first = *it.first_divergence;
  bool recorded = first.step < tape.steps() && returnsMemory(tape.action(first.step));
  bool replayed = !first.wrote_nothing && returnsMemory(first.replayed.action);
  if (recorded == replayed) return Tried::kUnlike;
  return replayed ? Tried::kTooLow : Tried::kTooHigh;
}

// Garbage is collected when more than threshold · limit is reserved. Reserved memory is a multiple
// of 2 MiB, so the limits with the same effect form a range larger than that. Returns the smallest
// MiB in it.
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

}  // namespace

std::optional<Limit> limitOf(const model::Trace& trace, const model::Device& device,
                             const VerifyOptions& options, const Verification& verified,
                             uint64_t most_reserved_bytes) {
  if (most_reserved_bytes == 0) return std::nullopt;
  uint64_t refused_bytes = verified.refused_at_bytes.value_or(UINT64_MAX);
  double threshold = verified.settings.gc_threshold;
  if (threshold > 0 && verified.first_divergence) {
    // The first collection happened with no more than was ever reserved.
    double most = std::min(static_cast<double>(most_reserved_bytes) / threshold + 1, 0x1p60);
    uint64_t most_bytes = std::min(static_cast<uint64_t>(most), refused_bytes - 1);
    if (auto bytes = limitOfCollections(Tape(trace, device), options, verified, most_reserved_bytes,
                                        most_bytes))
      return Limit{*bytes, *bytes};
  }
  if (verified.refused_with_room > 0)
    return Limit{most_reserved_bytes, std::max(most_reserved_bytes, refused_bytes - 1)};
  return std::nullopt;
}

}  // namespace tidegauge::replay
