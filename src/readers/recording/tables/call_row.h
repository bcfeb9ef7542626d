// A row of the table `calls` as a MemoryCall, checked. For reading a whole recording
// (recorded_tables.cpp) and for following one that grows (follow_recording.h).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>

#include "model/memory_call.h"
#include "readers/recording/file/sqlite_file.h"

namespace tidegauge::readers::recording {

struct Function {
  uint16_t row = 0;
  model::Plane plane{};
  model::Verb verb{};
  model::MemoryKind kind{};
  bool operator==(const Function&) const = default;
};
using Functions = boost::unordered_flat_map<int64_t, Function>;  // by function_id

// The columns that readCall() expects, in this order.
inline constexpr std::string_view kCallColumns =
    "start_ns, end_ns, process_id, thread, function_id, address, size_bytes, handle, stream, "
    "\"offset\", device, code, stack_id, inner, in_runtime";

inline constexpr int kCallColumnCount = 15;

struct CallRow {
  model::MemoryCall call;  // without process and stack
  int64_t process_id = 0;
  std::optional<int64_t> stack_id;
};
bool isSameRow(const CallRow& a, const CallRow& b);
// Absent: the row contains values that no recorder writes.
std::optional<CallRow> readCall(Row& row, const Functions& functions);

// Rows up to this call_id were carried over from the previous part (model/carried.cpp). 0: none.
int64_t carriedCalls(SqliteFile& file);

}  // namespace tidegauge::readers::recording
