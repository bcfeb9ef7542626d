// tensors: the names that the program gave to its memory.
#include "model/tensors/tensors.h"
#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {

Table tensorsTable(const AnalysedTrace& analysed) {
  static const model::Tensors kNone;
  const model::Trace& trace = analysed.trace;
  const model::Tensors& t = trace.tensors ? *trace.tensors : kNone;
  Table table;
  table.name = "tensors";
  table.doc =
      "One row per tensor that the program named (tidegauge.torch.names). Several may lie in one "
      "allocation: views, flattened parameters, tied weights.";
  setRows(table, t.size());
  addId(table, "order of the file");
  add(table, ColumnKind::kInteger, "device", "ordinal; -1 = pinned host memory",
      stored(t.device, [](int32_t device) { return int64_t{device}; }));
  addPoolText(table, "name", "\"layers.3.attn.q_proj.weight\"", storedIds(t.name), trace.strings);
  addEnum(table, "kind", "parameter, buffer, gradient, optimizer_state, activation, other",
          stored(t.kind, [](model::TensorKind kind) { return static_cast<int64_t>(kind); }),
          namesUpTo(model::TensorKind::kOther));
  addPoolText(table, "of_parameter",
              "name of the parameter that it is the gradient or the optimizer state of; NULL: none",
              storedIds(t.of), trace.strings);
  addPoolText(table, "state", "\"exp_avg\" of an optimizer's state; NULL: none", storedIds(t.state),
              trace.strings);
  addPoolText(table, "shape", "\"[4096, 1024]\"; NULL: not stated", storedIds(t.shape),
              trace.strings);
  addPoolText(table, "dtype", "\"float32\"; NULL: not stated", storedIds(t.dtype), trace.strings);
  add(table, ColumnKind::kInteger, "address", "address of its storage", storedAddresses(t.address));
  add(table, ColumnKind::kBytes, "storage_bytes",
      "size of its storage, which it may share; NULL: not stated", storedBytes(t.size_bytes));
  add(table, ColumnKind::kTime, "time_us", "time at which it was named; NULL: not stated",
      storedIntegers(t.time_us));
  addReference(table, "allocation_id",
               "→ allocations.id: the allocation that held its storage at that time (without a "
               "time: at the end); NULL: none is known",
               storedIds(t.allocation), trace.allocations.size());
  add(table, ColumnKind::kInteger, "is_main",
      "1: its allocation is called by it (allocations.tensor). To add up block_bytes, take these "
      "rows alone",
      eachRow([&trace, &t](Row row) {
        return int64_t{model::mainTensor(trace, t.allocation[row]) == static_cast<uint32_t>(row)};
      }));
  return table;
}

}  // namespace tidegauge::query
