// Short names for open files: the last part of each path, longer if that is not unique.
//
//   /runs/a/rank0.pickle  /runs/b/rank0.pickle  /runs/b/rank1.pickle
//   a/rank0.pickle        b/rank0.pickle        rank1.pickle
//
// The same path twice: "rank0.pickle", "rank0.pickle (2)".
#pragma once

#include <string>
#include <vector>

namespace tidegauge::report {

std::vector<std::string> distinctNames(const std::vector<std::string>& paths);

// "b/rank0.pickle" = the last two parts; the whole path if it has fewer.
std::string lastParts(const std::string& path, size_t parts);

}  // namespace tidegauge::report
