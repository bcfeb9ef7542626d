// ProvenProgram: a recorded program, verified once, of which any number of changes are replayed.
//
//   ProvenProgram program(analysed, device, {});                verified: 37,378 of 37,378 events
//   effectOf(program, {kSetting, "expandable_segments:True"})   advised_change.h
//   fitFactorOf(program)                                        fit_factor.h
//   whatIf(program, wish)                                       what_if.h
//
// Cost: verification is one to some 45 replays of about 0.3 µs per event; 32 bytes per request.
#pragma once

#include <optional>

#include "analysis/what_if/what_if.h"
#include "analysis/what_if/what_if_device.h"

namespace tidegauge::analysis {

class ProvenProgram {
 public:
  // Only for replayable devices (isReplayable). Of the wish: the device as recorded, and as asked
  // about. Both objects must outlive this.
  ProvenProgram(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                const WhatIfWish& wish = {})
      : analysed_(analysed),
        device_(device),
        tape_(analysed.trace, device.device),
        report_(provenOn(analysed, device, wish)),
        program_(std::move(report_.verified.program)) {}

  // The recording's own settings, replayed on the device asked about. The first call replays them.
  const Replayed& own() const;
  void keepOwn(const Replayed& own) const { own_ = own; }  // replayed elsewhere
  // Whether figures of changes mean anything: the rules explain the recording, and its own settings
  // give the recorded outcome. As own().
  bool isProven() const;

  // Verification, capacity and limits; without candidates.
  const WhatIf& report() const { return report_; }
  const replay::Settings& settings() const { return report_.verified.settings; }
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
  mutable std::optional<Replayed> own_;
};

}  // namespace tidegauge::analysis
