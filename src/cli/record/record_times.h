// The part of `record` that --device-times adds: what it says before and after.
//
//   RecordTimes times;
//   times.prepare(options, settings)   before the command starts: its cost is printed, its library
//                                      is in the command's environment
//   times.give(session)                the session takes what programs write
//   times.sayEnd(session)              what was measured, and where nothing could be
//
// Cost: some milliseconds for the measurement.
#pragma once

#include <optional>

#include "base/result.h"
#include "cli/record/record_options.h"
#include "record/process/child.h"
#include "record/session/session.h"
#include "record/times/times_area.h"

namespace tidegauge::cli {

class RecordTimes {
 public:
  // Nothing without --device-times, or where another library is named by CUDA_INJECTION64_PATH.
  base::Status prepare(const RecordOptions& options, record::ChildSettings& settings);
  void give(record::Session& session);
  static void sayEnd(const record::Session& session);

 private:
  std::optional<record::TimesArea> area_;
};

}  // namespace tidegauge::cli
