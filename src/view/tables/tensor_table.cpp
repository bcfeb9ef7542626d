#include "view/tables/tensor_table.h"

#include "model/tensors/tensors.h"
#include "view/tables/table_columns.h"

namespace tidegauge::view {

Table tensorTable(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
                  const FilterSet* filter) {
  static const model::Tensors kNone;
  const model::Trace& trace = analysed.trace;
  const model::Allocations& a = trace.allocations;
  const model::Tensors& t = trace.tensors ? *trace.tensors : kNone;
  model::Step steps = device.device.steps();
  std::vector<uint32_t> rows;
  // One that was named again in its block is there once.
  std::vector<bool> shown(t.size());
  for (uint32_t row : t.by_allocation) shown[row] = true;
  for (uint32_t row = 0; row < t.size(); ++row) {
    bool first = shown[row] || !t.allocation[row].valid();
    if (first && t.device[row] == device.device.ordinal) rows.push_back(row);
  }
  Table table;
  if (filter != nullptr) {
    table.filtered = true;
    for (uint32_t i = 0; i < rows.size(); ++i) {
      model::AllocationId of = t.allocation[rows[i]];
      if (of.valid() && filter->has(of.value)) table.passing.push_back(i);
    }
  }
  Columns<uint32_t> columns(table, std::move(rows));
  auto text = [&](std::string_view name, const std::vector<model::StringId>& ids) {
    columns.text(name, [&trace, &ids](uint32_t row) {
      return ids[row].valid() ? std::string(trace.strings.text(ids[row])) : std::string();
    });
  };
  // Of the block that the tensor lies in.
  auto ofBlock = [&](std::string_view name, CellKind kind, auto value) {
    columns.number(name, kind, [&t, value](uint32_t row) -> Number {
      return t.allocation[row].valid() ? value(t.allocation[row].index()) : Number();
    });
  };
  columns.number("id", CellKind::kId, [](uint32_t row) { return numberOf(row); });
  text("name", t.name);
  columns.text("kind", [&t](uint32_t row) { return std::string(model::name(t.kind[row])); });
  text("shape", t.shape);
  text("dtype", t.dtype);
  text("of_parameter", t.of);
  text("state", t.state);
  columns.number("storage_bytes", CellKind::kBytes, [&t](uint32_t row) -> Number {
    uint64_t bytes = t.size_bytes[row];
    return bytes == model::kUnknownBytes ? std::nullopt : numberOf(bytes);
  });
  ofBlock("block_bytes", CellKind::kBytes, [&a](size_t r) { return numberOf(a.block_bytes[r]); });
  ofBlock("first_step", CellKind::kStep, [&a](size_t r) { return numberOf(a.first_step[r]); });
  ofBlock("last_step", CellKind::kStep, [&a, steps](size_t r) -> Number {
    return a.last_step[r] < steps ? numberOf(a.last_step[r]) : std::nullopt;
  });
  ofBlock("allocation", CellKind::kId, [](size_t r) { return numberOf(r); });
  return table;
}

}  // namespace tidegauge::view
