// What the tables of a recording share.
#pragma once

#include "model/recorded_work.h"
#include "query/tables/tables.h"

namespace tidegauge::query {

// The work that the recording holds for this trace; a snapshot has none, so all of it is empty.
const model::RecordedWork& workOf(const AnalysedTrace& analysed);

// The column process_id: the same in every row of a trace.
void addProcessId(Table& table, const model::RecordedWork& work);

}  // namespace tidegauge::query
