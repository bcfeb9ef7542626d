#include "analysis/what_if/proven_program.h"

#include "analysis/what_if/what_if_runs.h"

namespace tidegauge::analysis {

const Replayed& ProvenProgram::own() const {
  if (!own_)
    own_ = Runs(tape_, program_, report_, 0)
               .one(replay::confOf(settings(), report_.fraction), settings());
  return *own_;
}

bool ProvenProgram::isProven() const {
  if (!report_.isProven() || own().stopped_at) return false;
  return report_.capacity_source == CapacitySource::kGiven || report_.isAsRecorded(own());
}

}  // namespace tidegauge::analysis
