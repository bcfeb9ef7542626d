// The tables of SQL over one analysed trace, and the functions that return tables. Names and
// columns are a contract (docs/use/sql.md): more may be added, none renamed.
#pragma once

#include <memory>
#include <vector>

#include "analysis/layout/layout.h"
#include "analysis/trace/analysed_trace.h"
#include "base/result.h"
#include "model/recorded_work.h"
#include "query/scan/deadline.h"
#include "query/scan/table.h"

namespace tidegauge::query {

using analysis::AnalysedTrace;

// All of them refer to `analysed`, which must outlive them.
Table eventsTable(const AnalysedTrace& analysed);
Table allocationsTable(const AnalysedTrace& analysed);
Table tensorsTable(const AnalysedTrace& analysed);
Table segmentsTable(const AnalysedTrace& analysed);
Table piecesTable(const AnalysedTrace& analysed);
Table totalsTable(const AnalysedTrace& analysed);
Table stacksTable(const AnalysedTrace& analysed);
Table framesTable(const AnalysedTrace& analysed);
Table stackFramesTable(const AnalysedTrace& analysed);
Table devicesTable(const AnalysedTrace& analysed);
Table annotationsTable(const AnalysedTrace& analysed);
Table streamsTable(const AnalysedTrace& analysed);
Table poolsTable(const AnalysedTrace& analysed);
Table settingsTable(const AnalysedTrace& analysed);
Table issuesTable(const AnalysedTrace& analysed);
Table fileTable(const AnalysedTrace& analysed);
// Tables of recordings; empty for snapshots.
Table processesTable(const AnalysedTrace& analysed);
Table functionsTable(const AnalysedTrace& analysed);
Table kernelsTable(const AnalysedTrace& analysed);
Table launchesTable(const AnalysedTrace& analysed);
Table launchEventsTable(const AnalysedTrace& analysed);
Table deviceActivitiesTable(const AnalysedTrace& analysed);
Table deviceProgramsTable(const AnalysedTrace& analysed);
Table copiesTable(const AnalysedTrace& analysed);
Table lossesTable(const AnalysedTrace& analysed);
Table unwatchedTable(const AnalysedTrace& analysed);
Table incompleteTable(const AnalysedTrace& analysed);
Table refusedTable(const AnalysedTrace& analysed);
Table heldAtEndTable(const AnalysedTrace& analysed);

// The work that the recording holds for this trace; a snapshot has none, so all of it is empty.
const model::RecordedWork& workOf(const AnalysedTrace& analysed);
// The column process_id: the same in every row of a trace.
void addProcessId(Table& table, const model::RecordedWork& work);

// Blocks and free parts of segments: the file's final state, or any list of them.
struct DeviceBlocks {
  int32_t device = 0;
  std::vector<analysis::LayoutBlock> blocks;
};
std::vector<DeviceBlocks> finalBlocks(const AnalysedTrace& analysed);
Table blocksTable(const AnalysedTrace& analysed, const std::vector<DeviceBlocks>& by_device);

// The result of a table-valued function: some rows of a table, or its own table.
struct View {
  const Table* table = nullptr;
  std::shared_ptr<const Table> made;  // keeps `table` alive if this call created it
  std::vector<uint32_t> rows;         // ascending; meaningful if !all_rows
  bool all_rows = true;
};

struct TableFunction {
  std::string name;
  std::string doc;
  std::vector<std::string> arguments;        // all are integers
  const Table* shape = nullptr;              // its columns
  std::shared_ptr<const Table> own_shape{};  // keeps `shape` alive if it is not a table of the file
  // Errors say which argument is wrong, and list valid values; or that the deadline has passed.
  std::function<base::Result<View>(const std::vector<int64_t>& arguments, const Deadline& deadline)>
      call;

  std::string signature() const;  // "live_at(device, step)"
};

}  // namespace tidegauge::query
