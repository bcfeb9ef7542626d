// all_processes, all_held, unrecorded, part, gpus, gpu_processes, device_memory: facts about all
// processes of a recording, and the driver's own figures. The same for each process; empty for
// snapshots.
#pragma once

#include <memory>

#include "analysis/trace/whole_recording.h"
#include "query/tables/tables.h"

namespace tidegauge::query {

using Whole = std::shared_ptr<const analysis::WholeRecording>;

// With null they are empty.
Table allProcessesTable(const Whole& whole);
Table allHeldTable(const Whole& whole);
Table unrecordedTable(const Whole& whole);
Table partTable(const Whole& whole);
Table gpusTable(const Whole& whole);
Table gpuProcessesTable(const Whole& whole);
Table deviceMemoryTable(const Whole& whole);

}  // namespace tidegauge::query
