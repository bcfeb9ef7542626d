// What --rolling adds to wss: ages of pages over windows back to back, and the heat map.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/wss/wss_command.h"
#include "wss/measure/heat_map.h"
#include "wss/words/rolling_text.h"

namespace tidegauge::cli {

// The exit code of a wish that cannot be: no such kind of picture, a file that is there already; or
// 0.
int checkRolling(const WssOptions& options);

class WssRolling {
 public:
  WssRolling(const WssOptions& options, double window_s);

  void add(const wss::Row& row);
  const wss::Rolling& last() const { return last_; }
  std::string header() const;
  std::string rowText(
      const wss::Row& row) const;  // of the last one added; before the first the header
  nlohmann::json rowJson(const wss::Row& row) const;
  wss::RollingPace pace() const;
  std::string closingText(size_t columns, bool colour) const;
  // The picture, if one was asked for; the exit code.
  int writePlot(const std::string& title) const;

 private:
  const WssOptions& options_;
  double window_s_;
  wss::PageHistory history_;
  wss::HeatMap heat_;
  wss::Reuse reuse_;
  wss::Rolling last_;
  std::vector<wss::MappingUse> mappings_;  // of the last window
  std::optional<int64_t> began_ns_;
  int64_t first_read_ns_ = 0, last_read_ns_ = 0,
          unseen_ns_ = 0;  // middles of readings; time between windows
  double time_s_ = 0;
  int windows_ = 0;
};

}  // namespace tidegauge::cli
