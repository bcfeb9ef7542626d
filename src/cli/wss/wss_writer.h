// Writes each row of `wss` as the user wants it: text, wss.pl's text, JSON, CSV.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options/output.h"
#include "cli/wss/wss_file.h"
#include "cli/wss/wss_rolling.h"
#include "wss/file/suggested_limit.h"
#include "wss/measure/choose.h"
#include "wss/process/memory_scope.h"
#include "wss/words/fit_text.h"
#include "wss/words/row_text.h"

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
  std::vector<wss::Group> groups(const wss::Row& row) const;
  wss::Grouping grouping() const;
  void writeHead(const wss::Process& process, const wss::Choice& choice);
  void writeText(const wss::Row& row);
  void writeLimit();
  void writeCareful();
  void lookAtPressure(const wss::Row& row);

  const WssOptions& options_;
  const wss::Plan& plan_;
  Output& out_;
  wss::TextOptions text_;
  nlohmann::json head_, all_ = nlohmann::json::array();
  std::unique_ptr<WssRolling> rolling_;  // if that was asked for
  WssFile file_;                         // -o
  const wss::Process& measured_;
  std::string process_;
  wss::Machine machine_;               // for text
  std::vector<wss::Touched> profile_;  // for text: of -P
  std::string cold_;                   // for text: what the longest window says is cold
  // What was counted of memory being short, since the row before: then the kernel takes accessed
  // bits away.
  wss::MemoryScope scope_;
  wss::MemoryCounters before_;
  wss::PressureWindow pressure_;
  std::optional<int64_t> looked_ns_;  // when the row before was read
  int64_t most_stall_ns_ = 0;         // of any row
  uint64_t searched_ = 0;             // in rows in which it was
  std::optional<wss::MinuteWindows>
      minutes_;  // for text: of windows that may say what limit would do
  int rows_ = 0;
};

}  // namespace tidegauge::cli
