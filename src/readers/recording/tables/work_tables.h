// The tables of a recording that do not concern memory: processes, functions, losses, unwatched,
// and per process its kernels, launches and copies, unchanged. A row that contradicts the rest is
// counted as an issue and skipped. A missing table is empty and an issue.
//
//   TG_ASSIGN_OR_RETURN(model::RecordedRun run, readRun(file, issues));
//   readWork(file, run, issues, [&](int64_t process_id) { return &work of that process; }, kept);
#pragma once

#include <functional>

#include "base/result.h"
#include "model/issues.h"
#include "model/recorded_work.h"
#include "readers/recording/file/sqlite_file.h"
#include "readers/recording/tables/kept_work.h"

namespace tidegauge::readers::recording {

inline constexpr int64_t kMax32 = UINT32_MAX;

base::Result<model::RecordedRun> readRun(SqliteFile& file, model::Issues& issues);

// `work_of` returns the place for a process's rows; nullptr: the process is unknown, and the row is
// an issue. Launches and copies that `kept` has are not read again.
using WorkOf = std::function<model::RecordedWork*(int64_t process_id)>;
base::Status readWork(SqliteFile& file, model::RecordedRun& run, model::Issues& issues,
                      const WorkOf& work_of, KeptWork& kept);

// A damaged or missing table becomes an issue, and only the figures that need it are incomplete.
void noteUnread(const char* table, const std::string& why, model::RecordedRun& run,
                model::Issues& issues);

// A row that contradicts the rest: the same, for the figures that need its table.
void notePassedOver(const char* table, model::RecordedRun& run, model::Issues& issues);

}  // namespace tidegauge::readers::recording
