// MachineSums: metrics of a machine that many people share, without who runs what: the labels pid,
// comm, kernel and library are gone, and what had them is summed (--no-process-labels).
//
//   device_memory_bytes{pid="42",comm="a",device="0"} 3 ┐
//   device_memory_bytes{pid="43",comm="b",device="0"} 4 ┴─► device_memory_bytes{device="0"} 7
//
// Counters keep what ended processes had counted, so they never decrease. What has no sum, such as
// a peak or a score, is left out. One object for the life of a recorder. Cost: O(samples).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "watch/metrics.h"

namespace tidegauge::watch {

class MachineSums {
 public:
  std::vector<Metric> take(std::vector<Metric> metrics);

 private:
  using Series = std::pair<std::string, Labels>;  // of a metric
  void count(Metric& metric);

  std::map<Series, double> last_;           // of each counter with all its labels
  std::map<Series, double> total_;          // without those of processes
  std::map<std::string, Metric> counters_;  // by name, without samples
};

}  // namespace tidegauge::watch
