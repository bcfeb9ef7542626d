// ProvenProgram: a recorded program, verified once, of which any number of changes are replayed.
//
//   ProvenProgram program(analysed, device, {});         verified: 37,378 of 37,378 events
//   effectOf(program, {kSetting, "expandable_segments:True"})   advised_change.h
//   fitFactorOf(program)                                        fit_factor.h
//
// Cost: verification is one to some 25 replays of about 0.3 µs per event; 32 bytes per request.
#pragma once

#include "analysis/what_if/what_if.h"

namespace tidegauge::analysis {

class ProvenProgram {
 public:
  // Only for replayable devices (isReplayable). Of the wish: the device as recorded and as asked
  // about.
  ProvenProgram(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                const WhatIfWish& wish);

  // The rules explain the recording, and its own settings give the recorded outcome. Otherwise no
  // figure of a change means anything.
  bool isProven() const { return report_.isProven() && !own_.stopped_at && is_as_recorded_; }
  // The recording's own settings, replayed on the device asked about.
  const Replayed& own() const { return own_; }
  // Verification, capacity and limits; without candidates.
  const WhatIf& report() const { return report_; }
  const replay::Program& program() const { return program_; }
  const replay::Tape& tape() const { return tape_; }
  const AnalysedTrace& analysed() const { return analysed_; }
  const DeviceAnalysis& device() const { return device_; }

 private:
  const AnalysedTrace& analysed_;
  const DeviceAnalysis& device_;
  replay::Tape tape_;
  WhatIf report_;
  replay::Program program_;
  Replayed own_;
  bool is_as_recorded_ = true;
};

}  // namespace tidegauge::analysis
