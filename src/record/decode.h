// From records, as the BPF programs and the preloaded library write them, to what a sink takes.
// Times and processes are for the caller: both sources count them in their own way.
#pragma once

#include "bpf/records.h"
#include "record/source.h"

namespace tidegauge::record {

// `from_start`: all of the process's life was seen. record.function must be one of ours.
model::MemoryCall decoded(const memory_record& record, bool from_start);
Launch decoded(const launch_record& record);
LaunchCount decoded(const launch_key& key);
CopyCount decoded(const copy_key& key);
void add(CopyCount& count, const copy_sum& sum);

}  // namespace tidegauge::record
