// Kernels and copies of a recording's process, as tables of the page: one row per kernel name, one
// per direction and function.
//
//   launches of sgemm <<<64, 256>>> 900, <<<8, 256>>> 100   ─► sgemm  1,000 launches, 2 geometries,
//                                                              mostly 64×1×1 of 256×1×1
//
// They cover the whole process: a launch does not contain its device. Snapshots have none: no rows.
// Cost: one pass over the rows of launches or copies.
#pragma once

#include <optional>
#include <string_view>

#include "model/trace.h"
#include "view/tables/table.h"

namespace tidegauge::view {

inline bool isWorkTable(std::string_view name) { return name == "kernels" || name == "copies"; }
// Absent for other names.
std::optional<Table> workTableOf(const model::Trace& trace, std::string_view name);

}  // namespace tidegauge::view
