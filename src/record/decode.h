// Converts records of the BPF programs and the preloaded library into what a sink takes. The caller
// sets times and processes, since the two sources count them differently.
#pragma once

#include "bpf/records.h"
#include "record/source.h"

namespace tidegauge::record {

// `from_start`: the process was recorded from its start. record.function must be a watched one.
model::MemoryCall decoded(const memory_record& record, bool from_start);
Launch decoded(const launch_record& record);
LaunchCount decoded(const launch_key& key);
CopyCount decoded(const copy_key& key);
void add(CopyCount& count, const copy_sum& sum);

}  // namespace tidegauge::record
