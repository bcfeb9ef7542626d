// The file of `wss -o`: written line by line while a process is measured.
//
//   MeasurementFile file("mysqld.jsonl", headOf(…));   the head, at once: a follower sees who it is
//   file.row(row, …);                                  a line for each window
//   file.end();                                        the last one again, with its mappings
//
// Cost: a write for each window. Lines: measurement.h.
#pragma once

#include <fstream>
#include <string>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

class MeasurementFile {
 public:
  MeasurementFile(std::string path, MeasurementHead head);

  const std::string& path() const { return path_; }
  void row(const Row& row, double unix_s, const Plan& plan, const Rolling* rolling);
  bool failed() const { return !out_; }
  // False: it could not be written, or not all of it.
  bool end();

 private:
  std::string path_;
  RowLines lines_;
  std::ofstream out_;
  std::streamoff last_begins_at_ = 0;
};

}  // namespace tidegauge::wss
