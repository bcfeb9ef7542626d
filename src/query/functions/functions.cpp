#include "query/functions/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/trace/peak.h"
#include "base/format.h"
#include "query/functions/answer_tables.h"
#include "query/scan/guarded.h"
#include "query/scan/stack_text.h"

namespace tidegauge::query {
namespace {

void resultText(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void resultError(sqlite3_context* context, std::string_view text) {
  sqlite3_result_error(context, text.data(), static_cast<int>(text.size()));
}

bool anyNull(int count, sqlite3_value** values) {
  return std::any_of(values, values + count,
                     [](sqlite3_value* v) { return sqlite3_value_type(v) == SQLITE_NULL; });
}

bool isInteger(sqlite3_value* value) { return sqlite3_value_numeric_type(value) == SQLITE_INTEGER; }

void stackText(sqlite3_context* context, int count, sqlite3_value** values) {
  if (anyNull(count, values)) return;
  if (!isInteger(values[0])) {
    return resultError(context, "stack_text(stack_id): stack_id must be a whole number");
  }
  const auto& shared = *static_cast<const FunctionContext*>(sqlite3_user_data(context));
  sqlite3_int64 id = sqlite3_value_int64(values[0]);
  if (id < 0 || static_cast<uint64_t>(id) >= shared.trace.trace.stacks.size()) return;
  resultText(context, stackTextOf(shared.trace, model::StackId(static_cast<uint32_t>(id))));
}

void humanBytes(sqlite3_context* context, int count, sqlite3_value** values) {
  if (anyNull(count, values)) return;
  int type = sqlite3_value_numeric_type(values[0]);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
    return resultError(context, "human_bytes(n): n must be a number of bytes");
  }
  sqlite3_int64 bytes = sqlite3_value_int64(values[0]);
  if (type == SQLITE_FLOAT) {
    constexpr double kMost = 9.2e18;  // about 8 EiB
    double real = std::round(sqlite3_value_double(values[0]));
    if (!(std::abs(real) <= kMost)) return resultError(context, "human_bytes(n): n is too large");
    bytes = static_cast<sqlite3_int64>(real);
  }
  resultText(context,
             bytes < 0 ? base::humanDelta(bytes) : base::humanBytes(static_cast<uint64_t>(bytes)));
}

// Addresses in the upper half are negative in SQL, whose integers have a sign.
void hexAddress(sqlite3_context* context, int count, sqlite3_value** values) {
  if (anyNull(count, values)) return;
  if (!isInteger(values[0])) {
    return resultError(context, "hex_address(address): address must be a whole number");
  }
  resultText(context, base::hexAddress(static_cast<uint64_t>(sqlite3_value_int64(values[0]))));
}

void addressId(sqlite3_context* context, int count, sqlite3_value** values) {
  if (anyNull(count, values)) return;
  bool usable = isInteger(values[0]) && isInteger(values[1]);
  sqlite3_int64 version = usable ? sqlite3_value_int64(values[1]) : -1;
  if (version < 0 || version > UINT32_MAX) {
    return resultError(context, "address_id(address, version): both must be whole numbers");
  }
  resultText(context, base::addressId(static_cast<uint64_t>(sqlite3_value_int64(values[0])),
                                      static_cast<uint32_t>(version)));
}

// ---- functions that return tables ---------------------------------------------------------------

const Table* findTable(const std::vector<Table>& tables, std::string_view name) {
  auto found = std::find_if(tables.begin(), tables.end(),
                            [&](const Table& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

}  // namespace

base::Result<const analysis::DeviceAnalysis*> deviceAt(const AnalysedTrace& trace,
                                                       int64_t ordinal) {
  bool fits = ordinal >= INT32_MIN && ordinal <= INT32_MAX;
  const auto* device = fits ? trace.findDevice(static_cast<int32_t>(ordinal)) : nullptr;
  if (device != nullptr) return device;
  std::string known;
  for (const auto& one : trace.devices) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one->device.ordinal);
  }
  return base::Error{base::ErrorKind::kUsage,
                     fmt::format("there is no device {}; the file has: {}", ordinal,
                                 known.empty() ? "none" : known),
                     {},
                     {}};
}

base::Result<model::Step> stepOf(int64_t step) {
  if (step < 0) {
    return base::Error{
        base::ErrorKind::kUsage, fmt::format("step must be 0 or more, not {}", step), {}, {}};
  }
  return static_cast<model::Step>(std::min<int64_t>(step, model::kNoStep - 1));
}

base::Result<analysis::Peak> placeOf(int64_t step) {
  if (step == analysis::Peak::kPlaceOfStart) return analysis::Peak{.at_start = true};
  TG_ASSIGN_OR_RETURN(model::Step after, stepOf(step));
  return analysis::Peak{.step = after};
}

void registerFunctions(sqlite3* db, FunctionContext& context) {
  auto scalar = [&](const char* name, int arguments, auto* function) {
    constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    sqlite3_create_function_v2(db, name, arguments, kFlags, &context, function, nullptr, nullptr,
                               nullptr);
  };
  scalar("stack_text", 1, guarded<stackText>);
  scalar("human_bytes", 1, guarded<humanBytes>);
  scalar("hex_address", 1, guarded<hexAddress>);
  scalar("address_id", 2, guarded<addressId>);
  registerAggregates(db, context);
  registerBoundedFunctions(db);
}

std::vector<FunctionDoc> scalarFunctionDocs() {
  return {
      {"stack_text(stack_id)", "the stack as text, one \"file:line function\" per line"},
      {"human_bytes(n)", "\"34.53 GiB\""},
      {"hex_address(address)", "\"0x7f0586000000\""},
      {"address_id(address, version)", "PyTorch's name of an allocation: \"b7f0586000000_1\""},
      {"median(x)", "aggregate; ignores NULL values"},
      {"percentile(x, p)", "aggregate; p from 0 to 100, linear interpolation between neighbours"},
  };
}

std::vector<TableFunction> tableFunctions(const AnalysedTrace& trace,
                                          const std::vector<Table>& tables) {
  TableFunction live;
  live.name = "live_at";
  live.doc =
      "table: the allocations that are live after the step (−1: before the first event), with the "
      "columns of allocations";
  live.arguments = {"device", "step"};
  live.shape = findTable(tables, "allocations");
  live.call = [&trace, shape = live.shape](const std::vector<int64_t>& arguments,
                                           const Deadline&) -> base::Result<View> {
    TG_ASSIGN_OR_RETURN(const analysis::DeviceAnalysis* device, deviceAt(trace, arguments[0]));
    TG_ASSIGN_OR_RETURN(analysis::Peak place, placeOf(arguments[1]));
    return View{shape, nullptr, analysis::liveAt(*device, place), false};
  };

  TableFunction blocks;
  blocks.name = "blocks_at";
  blocks.doc =
      "table: the blocks and holes of every segment after the step, with the columns of blocks";
  blocks.arguments = {"device", "step"};
  blocks.shape = findTable(tables, "blocks");
  blocks.call = [&trace](const std::vector<int64_t>& arguments,
                         const Deadline&) -> base::Result<View> {
    TG_ASSIGN_OR_RETURN(const analysis::DeviceAnalysis* device, deviceAt(trace, arguments[0]));
    TG_ASSIGN_OR_RETURN(model::Step step, stepOf(arguments[1]));
    std::vector<DeviceBlocks> at_step;
    at_step.push_back({device->device.ordinal,
                       analysis::blocksAt(trace.trace, device->device, device->live, step)});
    View view;
    view.made = std::make_shared<const Table>(blocksTable(trace, at_step));
    view.table = view.made.get();
    return view;
  };
  std::vector<TableFunction> functions = {std::move(live), std::move(blocks)};
  for (TableFunction& answer : growthFunctions(trace)) functions.push_back(std::move(answer));
  for (TableFunction& answer : reportFunctions(trace)) functions.push_back(std::move(answer));
  for (TableFunction& answer : verdictFunctions(trace)) functions.push_back(std::move(answer));
  functions.push_back(privatePoolsFunction(trace));
  for (TableFunction& answer : replayFunctions(trace)) functions.push_back(std::move(answer));
  for (TableFunction& answer : changeFunctions(trace)) functions.push_back(std::move(answer));
  return functions;
}

std::string TableFunction::signature() const {
  std::string text = name + "(";
  for (size_t i = 0; i < arguments.size(); ++i) text += (i > 0 ? ", " : "") + arguments[i];
  return text + ")";
}

}  // namespace tidegauge::query
