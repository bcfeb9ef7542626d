// How a recording comes by its name: a file has it only when it is a recording already.
//
//   run.sqlite-new   tables and views in one write, both locks held; nobody looks here
//   run.sqlite       … renamed: a reader finds no file, the part before, or this one, never half
//
// So a reader, ours or another program's, never sees an empty file, tables that are missing, or a
// rollback journal. Cost: one write of about 0.5 MiB and its way to the disk.
#pragma once

#include <string>

#include "base/result.h"

namespace tidegauge::store {

struct WriterOptions {
  bool replace = false;       // an existing file
  std::string recorder{};     // name and version of who writes, for people
  bool readers_wait = false;  // until letReadersWait(false): nobody sees its beginning by half
  std::string follows{};  // the part before: another name of the file that has this one until now
};

// A descriptor that holds both locks of model/recording_format.h; SQLite may open the file now.
// Errors: kUsage, there is a file that may not be replaced; kUnreadable, the system's.
base::Result<int> beginRecordingFile(const std::string& path, const WriterOptions& options);

// Told by its first bytes; a plain file.
bool isRecording(const std::string& path);
// Somebody writes the recording of this name.
bool isBeingWritten(const std::string& path);
// One of the locks of model/recording_format.h. On a file system without locks readers tell by the
// file's growth alone.
void lockByte(int file, int64_t byte, bool on);

// A recording that did not come about, with what SQLite has beside it. Nobody may have it open but
// to close it.
void removeRecording(const std::string& path);

}  // namespace tidegauge::store
