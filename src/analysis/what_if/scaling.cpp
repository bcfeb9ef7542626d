#include "analysis/what_if/scaling.h"

#include <unordered_set>

namespace tidegauge::analysis {
namespace {

class Scales {
 public:
  Scales(const AnalysedTrace& analysed, const DeviceAnalysis& device)
      : analysed_(analysed),
        all_(analysed.trace.allocations),
        device_(device),
        work_end_(device.device.steps()),
        frees_(analysed.trace.stacks.size()) {
    const model::Events& events = analysed.trace.events;
    auto isFree = [&](Step step) {
      model::Action action = events.action[device.device.event_begin + step];
      return action != model::Action::kAlloc && action != model::Action::kOom;
    };
    while (work_end_ > 0 && isFree(work_end_ - 1)) --work_end_;
    for (size_t row = begin(); row < end(); ++row) {
      bool is_freed = isFreed(row);
      StackId stack = all_.stack[row];
      if (is_freed && stack.valid()) frees_[stack.index()] = true;
      bool is_older = model::isOlder(all_.provenance[row]);
      if ((is_older && !is_freed) || (!is_older && categoryOf(row) == Category::kParameters))
        sizes_.insert(all_.requested_bytes[row]);
    }
  }

  Scaling of(size_t row) const {
    if (model::isOlder(all_.provenance[row])) return Scaling::kOlder;
    switch (categoryOf(row)) {
      case Category::kParameters:
        return Scaling::kParameter;
      case Category::kOptimizer:
        return Scaling::kOptimizer;
      case Category::kCommunication:
        return Scaling::kCommunication;
      case Category::kActivations:
      case Category::kAttention:
      case Category::kNorm:
      case Category::kLogits:
        return Scaling::kScales;
      case Category::kGradients:
      case Category::kOther:
      case Category::kUnknown:
        break;
    }
    if (sizes_.contains(all_.requested_bytes[row])) return Scaling::kGradient;
    StackId stack = all_.stack[row];
    bool frees = stack.valid() && frees_[stack.index()];
    return isFreed(row) || frees ? Scaling::kScales : Scaling::kNeverFreed;
  }
  size_t begin() const { return device_.device.allocation_begin; }
  size_t end() const { return device_.device.allocation_end; }

 private:
  Category categoryOf(size_t row) const {
    return analysed_.categories->of(static_cast<uint32_t>(row));
  }
  bool isFreed(size_t row) const { return all_.last_step[row] < work_end_; }

  const AnalysedTrace& analysed_;
  const model::Allocations& all_;
  const DeviceAnalysis& device_;
  Step work_end_;                       // after its last request
  std::vector<bool> frees_;             // by stack: frees something
  std::unordered_set<uint64_t> sizes_;  // of parameters, and of what may be some
};

}  // namespace

std::vector<Scaling> scalingOf(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  Scales scales(analysed, device);
  std::vector<Scaling> of;
  of.reserve(scales.end() - scales.begin());
  for (size_t row = scales.begin(); row < scales.end(); ++row) of.push_back(scales.of(row));
  return of;
}

std::array<uint64_t, kScalings> bytesByScaling(const AnalysedTrace& analysed,
                                               const DeviceAnalysis& device,
                                               const std::vector<Scaling>& scaling, Step step) {
  std::array<uint64_t, kScalings> bytes{};
  const model::Allocations& all = analysed.trace.allocations;
  for (size_t i = 0; i < scaling.size(); ++i) {
    size_t row = device.device.allocation_begin + i;
    if (all.first_step[row] <= step && step < all.last_step[row])
      bytes[static_cast<size_t>(scaling[i])] += all.block_bytes[row];
  }
  return bytes;
}

}  // namespace tidegauge::analysis
