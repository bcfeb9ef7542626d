// The tables of SQL over one analysed trace, and the functions that return tables. Names and
// columns are a contract (docs/use/sql.md): more may be added, none renamed.
#pragma once

#include <memory>
#include <vector>

#include "analysis/layout/layout.h"
#include "analysis/trace/analysed_trace.h"
#include "base/result.h"
#include "model/recorded_work.h"
#include "query/scan/table.h"

namespace tidegauge::query {

using analysis::AnalysedTrace;

// All of them refer to `trace`, which must outlive them.
Table eventsTable(const AnalysedTrace& trace);
Table allocationsTable(const AnalysedTrace& trace);
Table segmentsTable(const AnalysedTrace& trace);
Table piecesTable(const AnalysedTrace& trace);
Table totalsTable(const AnalysedTrace& trace);
Table stacksTable(const AnalysedTrace& trace);
Table framesTable(const AnalysedTrace& trace);
Table stackFramesTable(const AnalysedTrace& trace);
Table devicesTable(const AnalysedTrace& trace);
Table annotationsTable(const AnalysedTrace& trace);
Table streamsTable(const AnalysedTrace& trace);
Table poolsTable(const AnalysedTrace& trace);
Table settingsTable(const AnalysedTrace& trace);
Table issuesTable(const AnalysedTrace& trace);
Table fileTable(const AnalysedTrace& trace);
// Tables of recordings; empty for snapshots.
Table processesTable(const AnalysedTrace& trace);
Table functionsTable(const AnalysedTrace& trace);
Table kernelsTable(const AnalysedTrace& trace);
Table launchesTable(const AnalysedTrace& trace);
Table launchEventsTable(const AnalysedTrace& trace);
Table copiesTable(const AnalysedTrace& trace);
Table lossesTable(const AnalysedTrace& trace);
Table unwatchedTable(const AnalysedTrace& trace);
Table incompleteTable(const AnalysedTrace& trace);
Table refusedTable(const AnalysedTrace& trace);
Table heldAtEndTable(const AnalysedTrace& trace);

// The work that the recording holds for this trace; a snapshot has none, so all of it is empty.
const model::RecordedWork& workOf(const AnalysedTrace& trace);
// The column process_id: the same in every row of a trace.
void addProcessId(Table& table, const model::RecordedWork& work);

// Blocks and free parts of segments: the file's final state, or any list of them.
struct DeviceBlocks {
  int32_t device = 0;
  std::vector<analysis::LayoutBlock> blocks;
};
std::vector<DeviceBlocks> finalBlocks(const AnalysedTrace& trace);
Table blocksTable(const AnalysedTrace& trace, std::vector<DeviceBlocks> blocks);

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
  // Errors say which argument is wrong, and list valid values.
  std::function<base::Result<View>(const std::vector<int64_t>& arguments)> call;

  std::string signature() const;  // "live_at(device, step)"
};

}  // namespace tidegauge::query
