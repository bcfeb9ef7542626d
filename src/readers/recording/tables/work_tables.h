// The tables of a recording that are not about memory: processes, functions, losses, what was not
// watched, and per process
// its kernels, launches and copies. As they are in the file; a row that contradicts the rest is
// counted as an issue and passed over, a table that is not there is empty and an issue.
//
//   TG_ASSIGN_OR_RETURN(model::RecordedRun run, readRun(file, issues));
//   readWork(file, run, issues, [&](int64_t process_id) { return &work of that process; });
#pragma once

#include <functional>

#include "base/result.h"
#include "model/issues.h"
#include "model/recorded_work.h"
#include "readers/recording/file/sqlite_file.h"

namespace tidegauge::readers::recording {

inline constexpr int64_t kMax32 = UINT32_MAX;

base::Result<model::RecordedRun> readRun(SqliteFile& file, model::Issues& issues);

// `work_of` gives the place for a process's rows; nullptr: there is none, the row is an issue.
using WorkOf = std::function<model::RecordedWork*(int64_t process_id)>;
base::Status readWork(SqliteFile& file, model::RecordedRun& run, model::Issues& issues,
                      const WorkOf& work_of);

// A damaged or missing table costs only itself: an issue, and the figures that need it are
// incomplete.
void noteUnread(const char* table, const std::string& why, model::RecordedRun& run,
                model::Issues& issues);

// A row that contradicts the rest: the same, for what needs its table.
void notePassedOver(const char* table, model::RecordedRun& run, model::Issues& issues);

}  // namespace tidegauge::readers::recording
