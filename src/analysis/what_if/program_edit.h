// What if the program did something else: a recorded program with some of its requests changed.
//
//   kDrop "attention.py"                what stacks with that text asked for is never asked for
//   kHalve "/flash|sdpa/"               … is half as large
//   kFreeAt "attention.py", "backward"  … and lives when a phase of that name begins is freed there
//   kEmptyCache, "900"                  torch.cuda.empty_cache() before the request of that step
//
// All else stays as it was, in its order. Cost: O(requests), and one pass over the distinct frames.
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
  // kFreeAt, kEmptyCache: a step; or a text_pattern.h for the names of phases, each time that one
  // begins.
  std::string where{};
};

struct EditedProgram {
  replay::Program program;
  uint64_t requests = 0;  // that were changed; kFreeAt: freed earlier; kEmptyCache: how often
  uint64_t bytes = 0;     // that they had asked for
};

// Blocks that are older than the recording stay as they are, but for kFreeAt. Errors (kUsage): a
// pattern that cannot be read, or that nothing matches; a step that the device does not have.
base::Result<EditedProgram> edited(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                   const replay::Program& program, const ProgramEdit& edit);

// "without attention.py", "half of /flash|sdpa/", "attention.py freed at backward", "empty_cache()
// at step 900".
std::string words(const ProgramEdit& edit);

}  // namespace tidegauge::analysis
