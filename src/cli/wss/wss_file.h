// wss -o FILE keeps a measurement as it comes; wss FILE tells it again.
//
//   tidegauge wss --rolling 8 -o mysqld.jsonl 4711 0.1
//   tidegauge wss mysqld.jsonl
#pragma once

#include <fstream>
#include <optional>

#include "cli/wss/wss_command.h"
#include "wss/file/measurement.h"

namespace tidegauge::cli {

// Whether the only word names a file and no process.
bool isWssFile(const WssOptions& options);
// What does not go with it; the exit code.
int checkWssFile(const WssOptions& options);
int runWssFile(const WssOptions& options);
// Of -o: what does not go with it, a file that is there already; the exit code.
int checkOutput(const WssOptions& options);

// Without -o it does nothing.
class WssFile {
 public:
  explicit WssFile(const WssOptions& options) : path_(options.output), lines_({}) {}
  bool isWanted() const { return !path_.empty(); }
  void begin(wss::MeasurementHead head);
  void row(const wss::Row& row, double unix_s, const wss::Plan& plan, const wss::Rolling* rolling,
           const wss::PressureWindow& pressure);
  bool failed() const { return isWanted() && !out_; }
  // The exit code.
  int end();

 private:
  std::string path_;
  wss::RowLines lines_;
  std::ofstream out_;
  std::streamoff last_begins_at_ = 0;
};

}  // namespace tidegauge::cli
