// Shared code of the tables of a recording.
#pragma once

#include "model/recorded_work.h"
#include "query/tables/tables.h"

namespace tidegauge::query {

// The recorded work of this trace; a snapshot has none, so all of it is empty.
const model::RecordedWork& workOf(const AnalysedTrace& analysed);

// The column process_id: the same in every row of a trace.
void addProcessId(Table& table, const model::RecordedWork& work);

}  // namespace tidegauge::query
