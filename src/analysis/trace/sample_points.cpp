#include "analysis/trace/sample_points.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "model/lives/other_events.h"

namespace tidegauge::analysis {
namespace {

struct Candidate {
  uint16_t depth = 0;
  double irregularity = 0;  // standard deviation ÷ mean of the events between its points
  std::string_view name;
  std::vector<Step> begins;
};

double irregularityOf(const std::vector<Step>& begins) {
  double mean =
      static_cast<double>(begins.back() - begins.front()) / static_cast<double>(begins.size() - 1);
  double squares = 0;
  for (size_t i = 1; i < begins.size(); ++i) {
    double off = static_cast<double>(begins[i] - begins[i - 1]) - mean;
    squares += off * off;
  }
  return std::sqrt(squares / static_cast<double>(begins.size() - 1)) / mean;
}

// Steps may begin late, after weights were loaded, but then they continue.
bool coversRecording(const std::vector<Step>& begins, Step events) {
  Step span = begins.back() - begins.front();
  return span >= events / 10 && span >= (events - begins.front()) / 2;
}

std::optional<Candidate> bestAnnotations(const AnalysedTrace& analysed,
                                         const DeviceAnalysis& device) {
  std::map<std::pair<uint16_t, std::string_view>, std::vector<Step>> begins_of;
  for (const Phase& phase : device.phases) {  // by begin_step
    if (phase.begin_step == phase.end_step || phase.begin_step >= device.clean_up_step) continue;
    std::string_view name = withoutCounter(
        analysed.trace.strings.text(analysed.trace.annotations.name[phase.annotation]));
    std::vector<Step>& begins = begins_of[{phase.depth, name}];
    if (begins.empty() || begins.back() != phase.begin_step) begins.push_back(phase.begin_step);
  }
  std::optional<Candidate> best;
  std::map<uint16_t, Step> longest;  // span by depth
  for (const auto& [key, begins] : begins_of) {
    if (begins.size() < kMinStepPoints) continue;
    longest[key.first] = std::max(longest[key.first], begins.back() - begins.front());
  }
  for (auto& [key, begins] : begins_of) {
    if (begins.size() < kMinStepPoints) continue;
    if (!coversRecording(begins, device.clean_up_step)) continue;
    Step span = begins.back() - begins.front();
    if (span < longest[key.first] / 2) continue;  // an evaluation after the training, say
    Candidate candidate{key.first, irregularityOf(begins), key.second, {}};
    auto rank = [](const Candidate& c) { return std::tie(c.depth, c.irregularity, c.name); };
    if (best && rank(*best) <= rank(candidate)) continue;
    candidate.begins = std::move(begins);
    best = std::move(candidate);
  }
  return best;
}

std::optional<Candidate> asSteps(std::vector<Step> snapshots, const DeviceAnalysis& device) {
  std::erase_if(snapshots, [&](Step step) { return step >= device.clean_up_step; });
  bool enough =
      snapshots.size() >= kMinStepPoints && coversRecording(snapshots, device.clean_up_step);
  if (!enough) return std::nullopt;
  return Candidate{.name = model::name(model::Action::kSnapshot), .begins = std::move(snapshots)};
}

constexpr uint64_t kMinMarks = 2;  // what happens once does not mark steps

// Without points: the name that marks most steps. The outermost of several.
void noteMarks(const AnalysedTrace& analysed, const DeviceAnalysis& device, size_t snapshots,
               SamplePoints& points) {
  std::map<std::pair<uint16_t, std::string_view>, uint64_t> marks;
  for (const Phase& phase : device.phases) {
    if (phase.begin_step == phase.end_step || phase.begin_step >= device.clean_up_step) continue;
    marks[{phase.depth, withoutCounter(analysed.trace.strings.text(
                            analysed.trace.annotations.name[phase.annotation]))}]++;
  }
  auto note = [&](std::string_view name, uint64_t count) {
    if (count < kMinMarks || count <= points.marked_steps) return;
    points.marked_steps = count;
    points.marked_name = name;
  };
  for (const auto& [key, count] : marks) note(key.second, count);
  note(model::name(model::Action::kSnapshot), snapshots);
}

}  // namespace

std::vector<Step> snapshotSteps(const model::Trace& trace, const model::Device& device) {
  std::vector<Step> steps;
  model::forEachOther(trace.events, device, [&](uint64_t event) {
    if (trace.events.action[event] == model::Action::kSnapshot)
      steps.push_back(static_cast<Step>(event - device.event_begin));
  });
  return steps;
}

std::string_view withoutCounter(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == name.size() || end == 0) return name;
  while (end > 0 && std::string_view("#_ :/-").find(name[end - 1]) != std::string_view::npos) --end;
  return end == 0 ? name : name.substr(0, end);
}

double SamplePoints::stepsPerPoint() const {
  if (basis == Basis::kSteps) return static_cast<double>(stride);
  return program_steps / static_cast<double>(std::max<size_t>(1, size()));
}

SamplePoints samplePointsOf(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  SamplePoints points;
  uint64_t events = device.clean_up_step;
  points.end = device.clean_up_step;
  std::optional<Candidate> best = bestAnnotations(analysed, device);
  std::vector<Step> snapshots;  // another walk through the events
  if (!best) {
    snapshots = snapshotSteps(analysed.trace, device.device);
    best = asSteps(snapshots, device);
  }
  if (best) {
    points.basis = SamplePoints::Basis::kSteps;
    points.name = best->name;
    points.program_steps = static_cast<double>(best->begins.size());
    points.marked_steps = best->begins.size();
    points.marked_name = best->name;
    points.stride = (best->begins.size() + kMaxSamplePoints - 1) / kMaxSamplePoints;
    for (size_t i = 0; i < best->begins.size(); i += points.stride) {
      Step begin = best->begins[i];
      Step before = begin == 0 ? 0 : begin - 1;
      if (points.steps.empty() || points.steps.back() < before) points.steps.push_back(before);
    }
    return points;
  }
  noteMarks(analysed, device, snapshots.size(), points);
  points.program_steps = static_cast<double>(events) / 1000;
  uint64_t slices = std::min<uint64_t>(kEventPoints, events / 4);
  for (uint64_t i = 1; i <= slices; ++i) {
    points.steps.push_back(static_cast<Step>(i * events / slices - 1));
  }
  return points;
}

}  // namespace tidegauge::analysis
