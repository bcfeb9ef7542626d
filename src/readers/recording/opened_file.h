// A recording's file, opened for one reading: the file that the path leads to, checked, with the
// state of its recorder.
//
//   TG_ASSIGN_OR_RETURN(OpenedFile opened, openFile("run.sqlite"));
//   opened.held     the same object in the next reading, if it is the same file
//
// With --max-size, the next part may take the name meanwhile; then that one is opened.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "readers/recording/file/held_file.h"
#include "readers/recording/file/sqlite_file.h"

namespace tidegauge::readers::recording {

// Whether it had a writer was checked before the read, on the same file.
struct OpenedFile {
  std::shared_ptr<const HeldFile> held;
  SqliteFile file;
  bool has_writer = false, is_open = false;
};

base::Result<OpenedFile> openFile(const std::string& path);

}  // namespace tidegauge::readers::recording
