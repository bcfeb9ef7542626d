// refused and held_at_end: tables of recordings; empty for snapshots.
#pragma once

#include "query/tables/tables.h"

namespace tidegauge::query {

Table refusedTable(const AnalysedTrace& trace);
Table heldAtEndTable(const AnalysedTrace& trace);

}  // namespace tidegauge::query
