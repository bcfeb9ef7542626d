// The moments at which a program is compared with itself: the beginnings of its steps.
//
//   [ step#0 ][ step#1 ][ step#2 ][ step#3 ] …     annotations of one name, without the counter
//   ●         ●         ●         ●                a point = the state just before each of them
//
// With fewer than five such annotations: the snapshots that the program took while it recorded, if
// it took five; else equal numbers of events. Among several names, the
// outermost, then the most regular one (least relative deviation of the events between its points)
// is used, if its points span a tenth of the recording, half of what follows the first, and half of
// what the longest name of that depth spans. What a
// program frees in its last clean-up (clean_up.h) is left out. Cost: O(annotations log
// annotations).
#pragma once

#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

inline constexpr size_t kMinStepPoints = 5;
inline constexpr size_t kMaxSamplePoints = 512;
inline constexpr size_t kEventPoints = 96;  // can be halved often

struct SamplePoints {
  enum class Basis : uint8_t { kSteps, kEvents };
  Basis basis = Basis::kEvents;
  // Of the annotations, without a counter; "snapshot"; empty for kEvents.
  std::string name{};
  std::vector<Step> steps{};  // the states after these steps; ascending, distinct
  Step end = 0;               // from this step on (the clean-up at the end) nothing is used
  // The points are every `stride`-th of the program's steps (or event slices).
  uint64_t stride = 1;
  double program_steps = 0;  // in the whole file; with kEvents: thousands of events, unrounded
  // What marks most steps, also if they are too few, or cover too little, to be points: two
  // annotations of one name, or two snapshots, at least. With kSteps: program_steps and name.
  uint64_t marked_steps = 0;
  std::string marked_name{};

  size_t size() const { return steps.size(); }
  // The first fifth is warm-up: points from this one on are used.
  size_t firstWarm() const { return (steps.size() + 4) / 5; }
  // Program steps between two points; with kEvents: thousands of events.
  double stepsPerPoint() const;
};

SamplePoints samplePointsOf(const AnalysedTrace& analysed, const DeviceAnalysis& device);

// The steps of the device's snapshot events: snapshots that the program took while it recorded.
std::vector<Step> snapshotSteps(const model::Trace& trace, const model::Device& device);

// "ProfilerStep#12" → "ProfilerStep", "step 7" → "step", "block_3" → "block"; others are unchanged.
std::string_view withoutCounter(std::string_view name);

}  // namespace tidegauge::analysis
