#include "model/live/watched.h"

#include <algorithm>

namespace tidegauge::model {

void fillWatched(RecordedRun& run) {
  RecordedProcesses& p = run.processes;
  p.watched_from_ns = p.began_ns;
  p.watched_to_ns = p.ended_ns;
  p.ran_before.assign(p.size(), 0);
  for (int64_t& to : p.watched_to_ns)
    if (to == kNotRecorded) to = run.ended_ns.value_or(kNotRecorded);
  const RecordedUnwatched& rows = run.unwatched;
  for (size_t i = 0; i < rows.size(); ++i) {
    bool is_before = rows.begin_ns[i] == kNotRecorded && rows.end_ns[i] != kNotRecorded &&
                     !rows.library[i].valid() && !rows.function[i].valid();
    std::optional<size_t> of = is_before ? rowOf(p, rows.process_id[i]) : std::nullopt;
    if (!of) continue;
    // A process is seen first at its first call, and was watched before that.
    int64_t& from = p.watched_from_ns[*of];
    from = p.ran_before[*of] != 0 ? std::max(from, rows.end_ns[i]) : rows.end_ns[i];
    p.ran_before[*of] = 1;
  }
}

}  // namespace tidegauge::model
