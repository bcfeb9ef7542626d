// Table-valued functions of SQL over an analysis: `SELECT * FROM growth(0)`. The rows are computed
// on the first call, and kept.
//
//   std::vector<AnswerColumn<GrowingStack>> columns = {
//       bytesColumn<GrowingStack>("retained_bytes", "at the end", [](auto& s) { return … }), …};
//   deviceAnswer<GrowingStack>(
//       trace, "growth", "table: stacks that …", columns,
//       [](const AnalysedTrace& t, const DeviceAnalysis& d) { return rows; });
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "query/functions/functions.h"
#include "query/scan/columns.h"
#include "query/tables/tables.h"

namespace tidegauge::query {

inline int64_t keyOf(std::optional<uint64_t> bytes) { return bytes ? keyOfBytes(*bytes) : kNull; }

template <class Answer>
struct AnswerColumn {
  ColumnKind kind = ColumnKind::kInteger;
  std::string name;
  std::string doc;
  std::function<int64_t(const Answer&)> key{};       // of a text: if given, only kNull matters
  std::function<std::string(const Answer&)> text{};  // of text columns only
};

template <class Answer>
Table answerTable(const std::string& name, const std::vector<AnswerColumn<Answer>>& columns,
                  std::shared_ptr<const std::vector<Answer>> answers) {
  Table table;
  table.name = name;
  setRows(table, answers->size());
  for (const AnswerColumn<Answer>& column : columns) {
    if (column.kind == ColumnKind::kText) {
      Fill fill = eachRow([answers, key = column.key](Row row) {
        bool null = key && key((*answers)[row]) == kNull;
        return null ? kNull : static_cast<int64_t>(row);
      });
      addMadeText(table, column.name, column.doc, std::move(fill),
                  [answers, text = column.text](int64_t key) {
                    return text((*answers)[static_cast<size_t>(key)]);
                  });
    } else {
      add(table, column.kind, column.name, column.doc,
          eachRow([answers, key = column.key](Row row) { return key((*answers)[row]); }));
    }
  }
  return table;
}

template <class Answer>
using Answers = base::Result<std::vector<Answer>>;

// What a function answers. Those that replay take the deadline, too, and fail once it has passed.
template <class Answer, class AnswersOf, class... Arguments>
Answers<Answer> answered(const AnswersOf& answersOf, const Deadline& deadline,
                         const Arguments&... arguments) {
  if constexpr (std::is_invocable_v<const AnswersOf&, const Arguments&..., const Deadline&>)
    return answersOf(arguments..., deadline);
  else
    return answersOf(arguments...);
}

inline base::Error stoppedAnswer() {
  return {base::ErrorKind::kLimit, "the time of the query is over", {}, {}};
}

// name(device). `answersOf(trace, device)` or `answersOf(trace, device, deadline)` gives the rows,
// once per device, from any thread.
template <class Answer, class AnswersOf>
TableFunction deviceAnswer(const AnalysedTrace& trace, std::string name, std::string doc,
                           std::vector<AnswerColumn<Answer>> columns, AnswersOf answersOf) {
  struct Kept {
    std::mutex mutex;
    std::map<int32_t, std::shared_ptr<const Table>> by_device;
  };
  TableFunction function;
  function.own_shape = std::make_shared<const Table>(
      answerTable<Answer>(name, columns, std::make_shared<const std::vector<Answer>>()));
  function.shape = function.own_shape.get();
  function.name = name;
  function.doc = std::move(doc);
  function.arguments = {"device"};
  function.call = [&trace, name = std::move(name), columns = std::move(columns),
                   answersOf = std::move(answersOf), kept = std::make_shared<Kept>()](
                      const std::vector<int64_t>& arguments,
                      const Deadline& deadline) -> base::Result<View> {
    TG_ASSIGN_OR_RETURN(const analysis::DeviceAnalysis* device, deviceAt(trace, arguments[0]));
    std::lock_guard lock(kept->mutex);
    std::shared_ptr<const Table>& table = kept->by_device[device->device.ordinal];
    if (!table) {
      TG_ASSIGN_OR_RETURN(std::vector<Answer> answers,
                          answered<Answer>(answersOf, deadline, trace, *device));
      table = std::make_shared<const Table>(answerTable<Answer>(
          name, columns, std::make_shared<const std::vector<Answer>>(std::move(answers))));
    }
    View view;
    view.made = table;
    view.table = table.get();
    return view;
  };
  return function;
}

// name(device, …): with further arguments, so the answers are not kept. `answersOf(device,
// arguments)`, or with a deadline.
template <class Answer, class AnswersOf>
TableFunction placeAnswer(const AnalysedTrace& trace, std::string name, std::string doc,
                          std::vector<std::string> arguments,
                          std::vector<AnswerColumn<Answer>> columns, AnswersOf answersOf) {
  TableFunction function;
  function.own_shape = std::make_shared<const Table>(
      answerTable<Answer>(name, columns, std::make_shared<const std::vector<Answer>>()));
  function.shape = function.own_shape.get();
  function.name = name;
  function.doc = std::move(doc);
  function.arguments = std::move(arguments);
  function.call = [&trace, name = std::move(name), columns = std::move(columns),
                   answersOf = std::move(answersOf)](
                      const std::vector<int64_t>& values,
                      const Deadline& deadline) -> base::Result<View> {
    TG_ASSIGN_OR_RETURN(const analysis::DeviceAnalysis* device, deviceAt(trace, values[0]));
    TG_ASSIGN_OR_RETURN(std::vector<Answer> answers,
                        answered<Answer>(answersOf, deadline, *device, values));
    View view;
    view.made = std::make_shared<const Table>(answerTable<Answer>(
        name, columns, std::make_shared<const std::vector<Answer>>(std::move(answers))));
    view.table = view.made.get();
    return view;
  };
  return function;
}

// name(device, capacity_bytes): for answers that depend on the size of the device, which no file
// contains. 0: not given, as in the table without arguments for it.
template <class Answer, class AnswersOf>
TableFunction capacityAnswer(const AnalysedTrace& trace, std::string name, std::string doc,
                             std::vector<AnswerColumn<Answer>> columns, AnswersOf answersOf) {
  return placeAnswer<Answer>(
      trace, std::move(name), std::move(doc), {"device", "capacity_bytes"}, std::move(columns),
      [&trace, answersOf = std::move(answersOf)](const analysis::DeviceAnalysis& device,
                                                 const std::vector<int64_t>& arguments,
                                                 const Deadline& deadline) -> Answers<Answer> {
        if (arguments[1] < 0) {
          return base::Error{base::ErrorKind::kUsage,
                             fmt::format("capacity_bytes must be 0 or more, not {}", arguments[1]),
                             {},
                             {}};
        }
        std::optional<uint64_t> capacity_bytes;
        if (arguments[1] > 0) capacity_bytes = static_cast<uint64_t>(arguments[1]);
        return answered<Answer>(answersOf, deadline, trace, device, capacity_bytes);
      });
}

// growth, growth_basis, never_freed, churn, churn_sums, wall, wall_at and phases.
std::vector<TableFunction> growthFunctions(const AnalysedTrace& trace);
// The report's facts about a device or a moment: ooms, holders, free_parts, identities,
// range_totals.
std::vector<TableFunction> reportFunctions(const AnalysedTrace& trace);
// Why memory ran out: oom_verdicts, pins, advice and fragmentation; oom_verdicts_at and advice_at.
std::vector<TableFunction> verdictFunctions(const AnalysedTrace& trace);
TableFunction privatePoolsFunction(const AnalysedTrace& trace);
// proven, replays, replays_at.
std::vector<TableFunction> replayFunctions(const AnalysedTrace& trace);
// fit_factor, fit_factor_at, empty_cache_effect, release_pool_effect, release_pool_cache_effect.
std::vector<TableFunction> changeFunctions(const AnalysedTrace& trace);

}  // namespace tidegauge::query
