// The section "tensors": how much of the memory at the peak, or when memory ran out, has names.
#include <fmt/format.h>

#include "analysis/trace/named_at.h"
#include "base/format.h"
#include "report/story/report_parts.h"
#include "report/words/sentence_json.h"

namespace tidegauge::report {

using analysis::NamedBlock;
using analysis::NamedMemory;
using base::humanBytes;
using model::TensorKind;
using nlohmann::json;

namespace {

// "parameter_bytes": a column of the SQL and a key of the JSON.
std::string keyOf(size_t kind) {
  return fmt::format("{}_bytes", model::name(static_cast<TensorKind>(kind)));
}

std::string sumsSql(int device, int64_t place) {
  auto sum = [](std::string_view condition, std::string_view as) {
    return fmt::format("CAST(total(a.block_bytes){} AS INTEGER) AS {}", condition, as);
  };
  std::string sql = fmt::format("SELECT {}, {}, count(t.id) AS blocks", sum("", "total_bytes"),
                                sum(" FILTER (WHERE t.id IS NOT NULL)", "bytes"));
  for (size_t kind = 0; kind < analysis::kTensorKinds; ++kind) {
    std::string condition =
        fmt::format(" FILTER (WHERE t.kind = '{}')", model::name(static_cast<TensorKind>(kind)));
    sql += ", " + sum(condition, keyOf(kind));
  }
  return sql + fmt::format(
                   " FROM live_at({}, {}) AS a LEFT JOIN tensors AS t ON t.allocation_id = "
                   "a.id AND t.is_main = 1",
                   device, place);
}

std::string rowsSql(int device, int64_t place) {
  return fmt::format(
      "SELECT t.id AS tensor_id, t.name, t.kind, t.shape, t.dtype, a.block_bytes AS bytes, a.id AS "
      "allocation_id FROM live_at({}, {}) AS a JOIN tensors AS t ON t.allocation_id = a.id AND "
      "t.is_main = 1 ORDER BY bytes DESC, tensor_id",
      device, place);
}

}  // namespace

Section tensorsSection(const SectionContext& context) {
  constexpr size_t kMaxJsonRows = 50;
  const analysis::DeviceSummary& summary = context.summary;
  const model::Trace& trace = context.analysed.trace;
  Section section{.key = "tensors", .title = "Named tensors", .json = {}};
  if (!trace.tensors) return section;
  const model::Tensors& tensors = *trace.tensors;
  int device = summary.device->device.ordinal;
  const analysis::Holders& holders = summary.at_oom ? *summary.at_oom : summary.peak.holders;
  NamedMemory named = analysis::namedAt(context.analysed, *summary.device, holders);
  std::string_view at = summary.at_oom ? "oom" : summary.only_state ? "end" : "peak";
  std::string_view words = summary.at_oom       ? "when it ran out of memory"
                           : summary.only_state ? "at the end"
                                                : "at the peak";
  section.json = {{"at", at},
                  {"step", holders.place()},
                  {"total_bytes", holders.block_bytes},
                  {"bytes", named.block_bytes},
                  {"blocks", named.blocks.size()},
                  {"sql", sumsSql(device, holders.place())}};
  Sentence sentence;
  sentence.parts = {plain("The program named "), strong(humanBytes(named.block_bytes)),
                    plain(" of the "), strong(humanBytes(holders.block_bytes)),
                    plain(fmt::format(" that were live {}", words))};
  bool first = true;
  for (size_t kind = 0; kind < analysis::kTensorKinds; ++kind) {
    section.json[keyOf(kind)] = named.bytes_by_kind[kind];
    if (named.bytes_by_kind[kind] == 0) continue;
    sentence.parts.push_back(plain(fmt::format("{}{} {}", first ? ": " : ", ",
                                               analysis::title(static_cast<TensorKind>(kind)),
                                               humanBytes(named.bytes_by_kind[kind]))));
    first = false;
  }
  sentence.parts.push_back(plain("."));
  sentence.sql = section.json["sql"];
  sentence.link = sqlLink(rowsSql(device, holders.place()));
  section.sentences.push_back(std::move(sentence));
  json rows = json::array();
  auto text = [&](model::StringId id) {
    return id.valid() ? json(clean(trace.strings.text(id))) : json();
  };
  for (const NamedBlock& block : named.blocks) {
    if (rows.size() == kMaxJsonRows) break;
    rows.push_back({{"tensor_id", block.tensor},
                    {"name", text(tensors.name[block.tensor])},
                    {"kind", model::name(tensors.kind[block.tensor])},
                    {"shape", text(tensors.shape[block.tensor])},
                    {"dtype", text(tensors.dtype[block.tensor])},
                    {"bytes", block.block_bytes},
                    {"allocation_id", block.allocation}});
  }
  section.json["rows"] = std::move(rows);
  section.json["rows_sql"] =
      rowsSql(device, holders.place()) + fmt::format(" LIMIT {}", kMaxJsonRows);
  return section;
}

}  // namespace tidegauge::report
