// Windows back to back (--rolling), as they come: ages of pages, how soon memory is touched again,
// and the heat map.
//
//   add(row 1)   rowText: header, row     │ of each window: what the last 1, 2, 4 … N touched
//   add(row 2)   rowText: row             │
//   closingText: spacing, reuse, heat     │ of all windows together
//
// Cost: page_history.h and heat_map.h.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "wss/measure/heat_map.h"
#include "wss/words/rolling_text.h"

namespace tidegauge::wss {

struct RollingOptions {
  uint32_t windows = 0;     // that are reported together, at most
  double window_s = 0;      // as asked for
  bool shows_heat = false;  // in text and JSON
  bool keeps_heat = false;  // for a picture
};

class RollingWindows {
 public:
  explicit RollingWindows(const RollingOptions& options)
      : options_(options), history_(options.windows) {}

  void add(const Row& row);

  const Rolling& last() const { return last_; }
  std::string header() const;
  // Of the row that was added last; before the first one stands the header.
  std::string rowText(const Row& row) const;
  nlohmann::json rowJson(const Row& row) const;
  std::string closingText(size_t columns, bool colour) const;  // empty: there was no window

  bool isEmpty() const { return windows_ == 0; }
  const HeatMap& heat() const { return heat_; }
  const std::vector<MappingUse>& mappings() const { return mappings_; }  // of the last window

 private:
  RollingPace pace() const;

  RollingOptions options_;
  PageHistory history_;
  HeatMap heat_;
  Reuse reuse_;
  Rolling last_;
  std::vector<MappingUse> mappings_;
  std::optional<int64_t> began_ns_;
  int64_t first_read_ns_ = 0, last_read_ns_ = 0;  // the middles of these readings
  int64_t unseen_ns_ = 0;                         // between windows
  double time_s_ = 0;
  int windows_ = 0;
  std::optional<int> last_at_least_;  // the last window with a lower bound
};

}  // namespace tidegauge::wss
