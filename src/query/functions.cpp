#include "query/functions.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/format.h"

namespace tidegauge::query {
namespace {

void resultText(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// ---- scalars ------------------------------------------------------------------------------------

void stackText(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* trace = static_cast<const AnalysedTrace*>(sqlite3_user_data(context));
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) return;
  sqlite3_int64 id = sqlite3_value_int64(values[0]);
  if (id < 0 || static_cast<uint64_t>(id) >= trace->trace.stacks.size()) return;
  resultText(context, trace->labels.text(model::StackId(static_cast<uint32_t>(id))));
}

void humanBytes(sqlite3_context* context, int, sqlite3_value** values) {
  if (sqlite3_value_numeric_type(values[0]) == SQLITE_NULL) return;
  double real = sqlite3_value_double(values[0]);
  sqlite3_int64 bytes = sqlite3_value_type(values[0]) == SQLITE_FLOAT
                            ? static_cast<sqlite3_int64>(std::clamp(std::round(real), -9e18, 9e18))
                            : sqlite3_value_int64(values[0]);
  resultText(context,
             bytes < 0 ? base::humanDelta(bytes) : base::humanBytes(static_cast<uint64_t>(bytes)));
}

void addressId(sqlite3_context* context, int, sqlite3_value** values) {
  for (int i = 0; i < 2; ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) return;
  }
  resultText(context, base::addressId(static_cast<uint64_t>(sqlite3_value_int64(values[0])),
                                      static_cast<uint32_t>(sqlite3_value_int64(values[1]))));
}

// ---- aggregates ---------------------------------------------------------------------------------

// The values seen so far; owned by SQLite's aggregate context as a pointer.
struct Sample {
  std::vector<double> values;
  double percent = 50;
};
constexpr size_t kMostValues = size_t{1} << 27;  // 1 GiB

Sample* sampleOf(sqlite3_context* context) {
  auto** sample = static_cast<Sample**>(sqlite3_aggregate_context(context, sizeof(Sample*)));
  if (sample == nullptr) {
    sqlite3_result_error_nomem(context);
    return nullptr;
  }
  if (*sample == nullptr) *sample = new Sample;
  return *sample;
}

void sampleStep(sqlite3_context* context, int count, sqlite3_value** values) {
  int type = sqlite3_value_numeric_type(values[0]);
  if (count == 2) {
    double percent = sqlite3_value_double(values[1]);
    if (!(percent >= 0 && percent <= 100)) {
      sqlite3_result_error(context, "percentile(x, p): p must be a number from 0 to 100", -1);
      return;
    }
    if (Sample* sample = sampleOf(context)) sample->percent = percent;
  }
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return;
  Sample* sample = sampleOf(context);
  if (sample == nullptr) return;
  if (sample->values.size() >= kMostValues) {
    sqlite3_result_error(context, "too many values for median or percentile", -1);
    return;
  }
  sample->values.push_back(sqlite3_value_double(values[0]));
}

// Between the two nearest values, in proportion.
std::optional<double> percentileOf(Sample& sample) {
  std::vector<double>& values = sample.values;
  if (values.empty()) return std::nullopt;
  double place = sample.percent / 100 * static_cast<double>(values.size() - 1);
  auto low = values.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(values.begin(), low, values.end());
  double part = place - std::floor(place);
  if (part == 0) return *low;
  double high = *std::min_element(low + 1, values.end());
  return *low + (high - *low) * part;
}

void sampleFinal(sqlite3_context* context) {
  auto** sample = static_cast<Sample**>(sqlite3_aggregate_context(context, 0));
  if (sample == nullptr || *sample == nullptr) return;
  std::unique_ptr<Sample> owned(*sample);
  *sample = nullptr;
  if (auto result = percentileOf(*owned)) sqlite3_result_double(context, *result);
}

// ---- functions that return tables ---------------------------------------------------------------

const analysis::DeviceAnalysis* deviceAt(const AnalysedTrace& trace, int64_t ordinal) {
  bool fits = ordinal >= INT32_MIN && ordinal <= INT32_MAX;
  return fits ? trace.findDevice(static_cast<int32_t>(ordinal)) : nullptr;
}

// A step past the end is the last state.
model::Step stepOf(int64_t step) {
  return static_cast<model::Step>(std::min<int64_t>(step, model::kNoStep - 1));
}

const Table* findTable(const std::vector<Table>& tables, std::string_view name) {
  auto found = std::find_if(tables.begin(), tables.end(),
                            [&](const Table& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

}  // namespace

void registerFunctions(sqlite3* db, const AnalysedTrace& trace) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  void* data = const_cast<AnalysedTrace*>(&trace);  // read only, see stackText
  auto scalar = [&](const char* name, int arguments, auto* function) {
    sqlite3_create_function_v2(db, name, arguments, kFlags, data, function, nullptr, nullptr,
                               nullptr);
  };
  scalar("stack_text", 1, stackText);
  scalar("human_bytes", 1, humanBytes);
  scalar("address_id", 2, addressId);
  auto aggregate = [&](const char* name, int arguments) {
    sqlite3_create_function_v2(db, name, arguments, kFlags, nullptr, nullptr, sampleStep,
                               sampleFinal, nullptr);
  };
  aggregate("median", 1);
  aggregate("percentile", 2);
}

std::vector<FunctionDoc> scalarFunctionDocs() {
  return {
      {"stack_text(stack_id)", "the stack as text, one \"file:line function\" per line"},
      {"human_bytes(n)", "\"34.53 GiB\""},
      {"address_id(address, version)", "PyTorch's name of a block life: \"b7f0586000000_1\""},
      {"median(x)", "aggregate; NULL values do not count"},
      {"percentile(x, p)", "aggregate; p from 0 to 100, in proportion between neighbours"},
  };
}

std::vector<TableFunction> tableFunctions(const AnalysedTrace& trace,
                                          const std::vector<Table>& tables) {
  TableFunction live;
  live.name = "live_at";
  live.doc = "table: the allocations that are live after the step";
  live.arguments = {"device", "step"};
  live.shape = findTable(tables, "allocations");
  live.call = [&trace, shape = live.shape](const std::vector<int64_t>& arguments) {
    View view{shape, nullptr, {}, false};
    const analysis::DeviceAnalysis* device = deviceAt(trace, arguments[0]);
    if (device != nullptr && arguments[1] >= 0) {
      view.rows = device->live.liveAt(stepOf(arguments[1]));
    }
    return view;
  };

  TableFunction blocks;
  blocks.name = "blocks_at";
  blocks.doc = "table: as blocks, in the state after the step";
  blocks.arguments = {"device", "step"};
  blocks.shape = findTable(tables, "blocks");
  blocks.call = [&trace](const std::vector<int64_t>& arguments) {
    std::vector<DeviceBlocks> at_step;
    const analysis::DeviceAnalysis* device = deviceAt(trace, arguments[0]);
    if (device != nullptr && arguments[1] >= 0) {
      at_step.push_back(
          {device->device.ordinal,
           analysis::blocksAt(trace.trace, device->device, device->live, stepOf(arguments[1]))});
    }
    View view;
    view.made = std::make_shared<const Table>(blocksTable(trace, std::move(at_step)));
    view.table = view.made.get();
    return view;
  };
  return {std::move(live), std::move(blocks)};
}

std::string TableFunction::signature() const {
  std::string text = name + "(";
  for (size_t i = 0; i < arguments.size(); ++i) text += (i > 0 ? ", " : "") + arguments[i];
  return text + ")";
}

}  // namespace tidegauge::query
