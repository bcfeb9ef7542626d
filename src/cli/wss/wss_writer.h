// Writes each row of `wss` of one process where it is wanted: to standard output and, with -o, to a
// file.
#pragma once

#include <memory>
#include <optional>

#include "cli/options/output.h"
#include "cli/wss/wss_command.h"
#include "wss/file/measurement_file.h"
#include "wss/output/one_window.h"
#include "wss/output/printer.h"

namespace tidegauge::cli {

class WssWriter {
 public:
  WssWriter(const WssOptions& options, const wss::Plan& plan, const wss::Process& process,
            const wss::Choice& choice, Output& out);
  // False: nobody reads it any more.
  bool row(const wss::Row& row);
  // What stands after all rows; the exit code. `status`: how it ended.
  int end(const base::Status& status);
  int rows() const { return rows_; }

 private:
  int endFile();

  const WssOptions& options_;
  const wss::Plan& plan_;
  const wss::Process& process_;
  Output& out_;
  std::unique_ptr<wss::RollingWindows> rolling_;  // if that was asked for
  std::unique_ptr<wss::Printer<wss::OneWindow>> printer_;
  std::optional<wss::MeasurementFile> file_;  // -o
  int rows_ = 0;
};

}  // namespace tidegauge::cli
