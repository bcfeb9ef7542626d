// KeptWork: launches and copies that were read, by process, so that a later reading of a recording
// that grows reads only the rows that are new.
//
//   launches   rows 1 … 900, then 901 …        each process gets its columns again
//
// Cost: as RecordedLaunches and RecordedCopies: 92 and 68 bytes per row.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/string_pool.h"
#include "model/recorded_work.h"
#include "readers/recording/file/sum_limit.h"

namespace tidegauge::readers::recording {

template <class Columns>
struct KeptRows {
  std::vector<std::pair<int64_t, Columns>> processes;  // in the order of their first rows
  boost::unordered_flat_map<int64_t, size_t> places;   // by process
  int64_t last_row = INT64_MIN;

  Columns& of(int64_t process) {
    auto [at, is_new] = places.try_emplace(process, processes.size());
    if (is_new) processes.emplace_back(process, Columns{});
    return processes[at->second].second;
  }
};

struct KeptWork {
  KeptRows<model::RecordedLaunches> launches;
  KeptRows<model::RecordedCopies> copies;  // their directions are numbers of the pool below
  base::StringPool directions;
  SumLimit sum_of_launches;
  std::array<SumLimit, 4> sums_of_copies;  // calls, bytes, time, failures
  bool continues = true;                   // false: the next reading must begin at the first row
};

}  // namespace tidegauge::readers::recording
