// What if the program had done something else: a recorded program with some requests changed.
//
//   kDrop "attention.py"                requests whose stacks contain that text are dropped
//   kHalve "/flash|sdpa/"               … have half the size
//   kFreeAt "attention.py", "backward"  … that are live when such a phase begins are freed there
//   kEmptyCache, "900"                  torch.cuda.empty_cache() before the request of that step
//
// All else is unchanged, in its order. Cost: O(requests), and one pass over the distinct frames.
#pragma once

#include <string>

#include "analysis/trace/analysed_trace.h"
#include "base/result.h"
#include "replay/program.h"

namespace tidegauge::analysis {

struct ProgramEdit {
  enum class What : uint8_t { kDrop, kHalve, kFreeAt, kEmptyCache };
  What what = What::kDrop;
  std::string pattern{};  // text_pattern.h, matched against "file:line function"
  // kFreeAt, kEmptyCache: a step; or a text_pattern.h for names of phases, applied each time one
  // begins.
  std::string where{};
};

struct EditedProgram {
  replay::Program program;
  uint64_t requests = 0;  // changed requests; kFreeAt: freed earlier; kEmptyCache: number of calls
  uint64_t bytes = 0;     // that these had requested
};

// Blocks older than the recording are unchanged, except by kFreeAt. Errors (kUsage): an invalid
// pattern, or one without a match; a step that the device does not have.
base::Result<EditedProgram> edited(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                   const replay::Program& program, const ProgramEdit& edit);

// "without attention.py", "half of /flash|sdpa/", "attention.py freed at backward", "empty_cache()
// at step 900".
std::string words(const ProgramEdit& edit);

}  // namespace tidegauge::analysis
