// How a recording gets its name: a file has the name only when it is a complete recording.
//
//   run.sqlite-new   tables and views in one write, both locks held; no reader opens this name
//   run.sqlite       … renamed: a reader finds no file, the previous part, or this one, never half
//
// So no reader, of Tidegauge or another program, ever sees an empty file, missing tables, or a
// rollback journal. Cost: one write of about 0.5 MiB to the disk.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace tidegauge::store {

struct WriterOptions {
  bool replace = false;       // an existing file
  std::string recorder{};     // name and version of the writer, for people
  bool readers_wait = false;  // until letReadersWait(false): no reader sees an incomplete beginning
  // the previous part: the new name of the file that has had this name until now
  std::string follows{};
};

// A descriptor that holds both locks of model/recording_format.h; SQLite may open the file now.
// Errors: kUsage, the file exists and may not be replaced; kUnreadable, an error of the system.
base::Result<int> beginRecordingFile(const std::string& path, const WriterOptions& options);

// Decided by the first bytes of a plain file.
bool isRecording(const std::string& path);
// A row of its table meta; absent: it has none, or cannot be read.
std::optional<std::string> metaOf(const std::string& path, const char* key);
// Whether a recorder is writing it.
bool isBeingWritten(const std::string& path);
// One of the locks of model/recording_format.h. On a file system without locks, readers can only
// see that the file grows.
void lockByte(int file, int64_t byte, bool on);

// Removes a recording that failed to start, with SQLite's files beside it. No other process may use
// it.
void removeRecording(const std::string& path);

}  // namespace tidegauge::store
