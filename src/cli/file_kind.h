// What a file is, by its content: the one place that decides which reader opens it.
//
//   kindOf("run.sqlite")   → kRecording      kindOf("job.wss.json") → kWorkingSet
//   kindOf("oom.pickle")   → kSnapshot       also "-", archives, and what no reader knows
//
// Cost: the first bytes of the file; of a text that may be a working set, its first line.
#pragma once

#include <string>

namespace tidegauge::cli {

enum class FileKind {
  kRecording,   // an SQLite file; its reader reports those of other programs
  kWorkingSet,  // of `wss -o`
  kSnapshot,    // PyTorch's, or unknown: the reader of snapshots says what is wrong
};
FileKind kindOf(const std::string& path);

}  // namespace tidegauge::cli
