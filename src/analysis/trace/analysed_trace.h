// A trace with the indexes that every front end needs: totals, live sets, labels, phases. Built
// once per file, read-only afterwards, so that any number of threads may query it.
#pragma once

#include <memory>
#include <vector>

#include "analysis/labels/categories.h"
#include "analysis/labels/phases.h"
#include "analysis/labels/stack_labels.h"
#include "analysis/labels/stack_names.h"
#include "analysis/trace/live_set.h"
#include "analysis/trace/once.h"
#include "analysis/trace/totals.h"
#include "model/trace.h"

namespace tidegauge::analysis {

// From this number of events on, a device's indexes are built on several processors.
inline constexpr Step kLongSteps = 100'000;
struct Growth;    // growth/growth.h
struct Identity;  // identities.h

struct DeviceAnalysis {
  const model::Device& device;
  TotalsIndex totals;
  LiveIndex live;
  TimeAxis time;
  std::vector<Phase> phases;
  Step clean_up_step;  // clean_up.h; the number of steps: none

  // What findGrowth() and identitiesOf() keep: the overview, the growth, a diff and the report need
  // them, and each walks through the whole recording.
  Once<Growth> growth;
  Once<std::vector<Identity>> identities;

  // The Continuation of a trace that continues another one says these; else they are 0 and null.
  // findGrowth() keeps there what it computed of these steps (growth/floor_blocks.h).
  Step settled_steps = 0;
  std::shared_ptr<model::SettledWork> settled_work;

  DeviceAnalysis(const model::Trace& trace, const model::Device& of_device);
  // Continues the indexes of `before`, which is used up.
  DeviceAnalysis(const model::Trace& trace, const model::Device& of_device, DeviceAnalysis& before,
                 const model::Continuation& continuation);

 private:
  struct Parts;
  static Parts partsOf(const model::Trace& trace, const model::Device& device);
  DeviceAnalysis(const model::Trace& trace, const model::Device& of_device, Parts&& parts);
};

// A trace that nobody reads any more, for who continues it: its indexes, without the trace.
struct AnalysedTrace;
struct BeforeTrace {
  std::unique_ptr<AnalysedTrace> analysed;
  model::Continuation continuation;
};

// Marks a trace whose lives were not built.
struct EventsAlone {};

struct AnalysedTrace {
  model::Trace trace;
  const StackLabels labels;
  const StackNames names;
  std::vector<std::unique_ptr<DeviceAnalysis>> devices;  // same order as trace.devices

  std::unique_ptr<const Categories> categories;

  // Without rules, the built-in ones are used.
  explicit AnalysedTrace(model::Trace&& read, std::shared_ptr<const CategoryRules> rules = {});
  // `read` continues the trace that `before` had.
  AnalysedTrace(model::Trace&& read, std::shared_ptr<const CategoryRules> rules,
                BeforeTrace&& before);
  // Without lives, and without what is computed of them: `devices` is empty. Only its events, and
  // the texts of their stacks, may be asked for.
  AnalysedTrace(model::Trace&& read, EventsAlone);
  AnalysedTrace(const AnalysedTrace&) = delete;
  AnalysedTrace& operator=(const AnalysedTrace&) = delete;

  // nullptr if there is no such device.
  const DeviceAnalysis* findDevice(int32_t ordinal) const;
};

}  // namespace tidegauge::analysis
