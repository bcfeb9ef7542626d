#include "analysis/what_if/fit_factor.h"

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <vector>

#include "analysis/what_if/proven_program.h"
#include "analysis/what_if/scaling.h"
#include "analysis/what_if/what_if_runs.h"

namespace tidegauge::analysis {
namespace {

using replay::Op;
using replay::Request;

// parts / of.
struct ScaleShare {
  uint32_t parts = 0, of = 1;
  auto operator<=>(const ScaleShare&) const = default;
};
constexpr uint32_t kPercent = 100;  // a factor is a number of these parts

uint64_t scaledBytes(uint64_t bytes, ScaleShare share) {
  uint64_t rest = (bytes % share.of * share.parts + share.of - 1) / share.of;
  return std::max<uint64_t>(1, bytes / share.of * share.parts + rest);
}

// The program with some share of what scales.
class ScaledProgram {
 public:
  ScaledProgram(const ProvenProgram& program, const std::vector<Scaling>& scaling)
      : program_(program), scaled_(program.program()) {
    const model::Trace& trace = program.analysed().trace;
    const model::Device& device = program.device().device;
    // A request that failed is no allocation: it scales if others of its stack do.
    enum class Of : uint8_t { kNothing, kConstant, kScales };
    std::vector<Of> of_stack(trace.stacks.size());
    for (size_t i = 0; i < scaling.size(); ++i) {
      StackId stack = trace.allocations.stack[device.allocation_begin + i];
      if (!stack.valid() || scaling[i] == Scaling::kOlder) continue;
      Of& of = of_stack[stack.index()];
      of = std::max(of, scaling[i] == Scaling::kScales ? Of::kScales : Of::kConstant);
    }
    const std::vector<Request>& requests = program.program().requests;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].op != Op::kMalloc) continue;
      bool scales = true;
      if (requests[i].failed) {
        StackId stack = trace.events.stack[device.event_begin + requests[i].step];
        scales = !stack.valid() || of_stack[stack.index()] != Of::kConstant;
        if (!scales) constant_failures_.push_back(requests[i].step);
      } else {
        scales = scaling[requests[i].name] == Scaling::kScales;
      }
      if (scales) scaling_requests_.push_back(i);
    }
  }

  const replay::Program& with(ScaleShare share) {
    const std::vector<Request>& requests = program_.program().requests;
    for (size_t i : scaling_requests_)
      scaled_.requests[i].bytes = scaledBytes(requests[i].bytes, share);
    return scaled_;
  }
  bool scalesAt(Step failed) const {
    return !std::ranges::binary_search(constant_failures_, failed);
  }
  bool hasAny() const { return !scaling_requests_.empty(); }

 private:
  const ProvenProgram& program_;
  replay::Program scaled_;
  std::vector<size_t> scaling_requests_;
  std::vector<Step> constant_failures_;
};

// The largest share with which no request fails.
class Search {
 public:
  Search(const ProvenProgram& program, ScaledProgram& scaled)
      : program_(program), scaled_(scaled) {}

  // The most percent that fit wherever segments are placed; smaller ones that were tried fit under
  // the first placement. Absent: even one is too much.
  std::optional<uint32_t> most() {
    uint32_t least = 1, top = kPercent;  // `top` fails
    while (least < top) {
      std::optional<uint32_t> found;
      while (least < top) {  // found < least ≤ … < top
        uint32_t middle = least + (top - least) / 2;
        if (fits({middle, kPercent})) {
          found = middle;
          least = middle + 1;
        } else {
          top = middle;
        }
      }
      if (!found || isTooLong()) return std::nullopt;
      auto failing = firstFailingBelow(*found);
      if (!failing && peakWith({*found, kPercent})) return found;
      least = 1;
      top = failing.value_or(*found);
    }
    return std::nullopt;
  }
  bool fits(ScaleShare share) {
    auto known = known_.find(share);
    if (known != known_.end()) return known->second;
    if (isTooLong()) return false;
    ++replays_;
    Runs runs(program_.tape(), scaled_.with(share), program_.report(), 0);
    bool is_fitting = !runs.firstFailure(program_.settings(), Runs::Where::kFirstPlacement);
    known_[share] = is_fitting;
    return is_fitting;
  }
  // Reserved memory at the peak, the most wherever segments are placed. Absent: it does not fit
  // everywhere.
  std::optional<uint64_t> peakWith(ScaleShare share) {
    if (!fits(share) || isTooLong()) return std::nullopt;
    ++replays_;
    Replayed it = Runs(program_.tape(), scaled_.with(share), program_.report(), 0)
                      .one("", program_.settings());
    if (it.stopped_at || it.mostOoms() > 0) return std::nullopt;
    peak_bytes_ = it.mostReservedBytes();
    return peak_bytes_;
  }
  uint64_t peakBytes() const { return peak_bytes_; }  // of the last share that fits everywhere
  bool isTooLong() const { return replays_ >= FitFactor::kMaxReplays; }
  uint32_t replays() const { return replays_; }

 private:
  // In steps of 1, 4, 16 and 64.
  std::optional<uint32_t> firstFailingBelow(uint32_t percent) {
    for (uint32_t less = 1; less < percent; less *= 4)
      if (!fits({percent - less, kPercent})) return percent - less;
    return std::nullopt;
  }

  const ProvenProgram& program_;
  ScaledProgram& scaled_;
  std::map<ScaleShare, bool> known_;
  uint32_t replays_ = 0;
  uint64_t peak_bytes_ = 0;
};

void addUp(FitFactor& it, const std::array<uint64_t, kScalings>& bytes) {
  auto of = [&](Scaling scaling) { return bytes[static_cast<size_t>(scaling)]; };
  it.scaling_bytes = of(Scaling::kScales);
  it.older_bytes = of(Scaling::kOlder);
  it.parameter_bytes = of(Scaling::kParameter);
  it.optimizer_bytes = of(Scaling::kOptimizer);
  it.communication_bytes = of(Scaling::kCommunication);
  it.gradient_bytes = of(Scaling::kGradient);
  it.never_freed_bytes = of(Scaling::kNeverFreed);
  it.constant_bytes = it.older_bytes + it.parameter_bytes + it.optimizer_bytes +
                      it.communication_bytes + it.gradient_bytes + it.never_freed_bytes;
}

}  // namespace

std::optional<FitFactor> fitFactorOf(const ProvenProgram& program) {
  auto failure = Runs(program.tape(), program.program(), program.report(), 0)
                     .firstFailure(program.settings(), Runs::Where::kAnyPlacement);
  if (!failure) return std::nullopt;
  FitFactor it;
  it.step = failure->step;
  it.request_bytes = failure->request_bytes;
  it.available_bytes = program.report().availableBytes();
  std::vector<Scaling> scaling = scalingOf(program.analysed(), program.device());
  addUp(it, bytesByScaling(program.analysed(), program.device(), scaling,
                           it.step > 0 ? it.step - 1 : 0));
  ScaledProgram scaled(program, scaling);
  it.request_scales = scaled.scalesAt(it.step);
  it.is_proven = program.isProven();
  if (!it.is_proven || !scaled.hasAny()) return it;
  Search search(program, scaled);
  if (auto percent = search.most()) {
    it.factor = static_cast<double>(*percent) / kPercent;
    it.peak_reserved_bytes = search.peakBytes();
    // A batch may lie between this percent and the next.
    it.batch = (*percent + 1) * FitFactor::kBatchOf / kPercent;
    while (it.batch > 0 && !search.peakWith({it.batch, FitFactor::kBatchOf})) --it.batch;
  }
  if (search.isTooLong()) {
    it.is_proven = false;
    it.factor.reset();
    it.batch = 0;
  }
  it.replays = search.replays();
  return it;
}

}  // namespace tidegauge::analysis
