// Unrecorded programs: those of a recording that used CUDA, or may have, and of which no call was
// recorded, with the reason and what records them.
//
//   unrecordedPrograms(run)    [{pid 4711, "paced", "it did not load the library of --preload (…)",
//                                "Record it with eBPF …"}]
//
// They are rows of `unwatched` whose program is in no trace. A program that merely ran before it
// was watched is not one: it made no call since. Cost: O(n · m) for n rows of unwatched and m
// processes, but for at most 100 programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/recorded_work.h"

namespace tidegauge::analysis {

struct UnrecordedProgram {
  int64_t process_id = model::kNotRecorded;  // kNotRecorded: it is not a row of processes
  int64_t pid = 0;
  std::string name, command;  // empty: unknown
  std::string reason;         // several are joined by "; "
  std::string remedy;         // a sentence; empty: none is known
};

// In the order of their first row; at most 100.
std::vector<UnrecordedProgram> unrecordedPrograms(const model::RecordedRun& run);

// What records a program that was not watched for this reason; empty: nothing that is known.
std::string_view remedyFor(std::string_view reason);

}  // namespace tidegauge::analysis
