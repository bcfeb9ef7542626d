// median and percentile: they keep their values, 8 bytes each, up to kMaxValues per query.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "query/functions/functions.h"
#include "query/scan/guarded.h"

namespace tidegauge::query {
namespace {

constexpr uint64_t kMaxValues = uint64_t{1} << 26;  // of all groups together: 512 MiB

// The values seen so far; owned by SQLite's aggregate context as a pointer.
struct Sample {
  explicit Sample(FunctionContext& of) : shared(of) {}
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
  ~Sample() { shared.sampled -= values.size(); }

  FunctionContext& shared;
  std::vector<double> values;
  std::optional<double> percent;
};

Sample& sampleOf(sqlite3_context* context) {
  auto** sample = static_cast<Sample**>(sqlite3_aggregate_context(context, sizeof(void*)));
  if (sample == nullptr) throw std::bad_alloc();
  if (*sample == nullptr) {
    *sample = new Sample(*static_cast<FunctionContext*>(sqlite3_user_data(context)));
  }
  return **sample;
}

void fail(sqlite3_context* context, const char* text) { sqlite3_result_error(context, text, -1); }

bool isNumber(sqlite3_value* value) {
  int type = sqlite3_value_numeric_type(value);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

void sampleStep(sqlite3_context* context, int count, sqlite3_value** values) {
  Sample& sample = sampleOf(context);
  double percent = 50;
  if (count == 2) {
    percent = isNumber(values[1]) ? sqlite3_value_double(values[1]) : -1;
    if (!(percent >= 0 && percent <= 100)) {
      return fail(context, "percentile(x, p): p must be a number from 0 to 100");
    }
    if (sample.percent && *sample.percent != percent) {
      return fail(context, "percentile(x, p): p must be the same in all rows");
    }
  }
  sample.percent = percent;
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) return;
  if (!isNumber(values[0])) {
    return fail(context, count == 2 ? "percentile(x, p): x must be a number"
                                    : "median(x): x must be a number");
  }
  if (sample.shared.sampled >= kMaxValues) {
    return fail(context, "median and percentile hold 67,108,864 values at most");
  }
  sample.values.push_back(sqlite3_value_double(values[0]));
  ++sample.shared.sampled;
}

// Interpolated between the two nearest values.
std::optional<double> percentileOf(Sample& sample) {
  std::vector<double>& values = sample.values;
  if (values.empty()) return std::nullopt;
  double place = *sample.percent / 100 * static_cast<double>(values.size() - 1);
  auto low = values.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(values.begin(), low, values.end());
  double part = place - std::floor(place);
  if (part == 0) return *low;
  double high = *std::min_element(low + 1, values.end());
  return *low + (high - *low) * part;
}

// Called once for every group that was started, after an error too.
void sampleFinal(sqlite3_context* context) {
  auto** sample = static_cast<Sample**>(sqlite3_aggregate_context(context, 0));
  if (sample == nullptr || *sample == nullptr) return;
  std::unique_ptr<Sample> owned(*sample);
  *sample = nullptr;
  if (auto result = percentileOf(*owned)) sqlite3_result_double(context, *result);
}

}  // namespace

void registerAggregates(sqlite3* db, FunctionContext& context) {
  auto aggregate = [&](const char* name, int arguments) {
    constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    sqlite3_create_function_v2(db, name, arguments, kFlags, &context, nullptr, guarded<sampleStep>,
                               guarded<sampleFinal>, nullptr);
  };
  aggregate("median", 1);
  aggregate("percentile", 2);
}

}  // namespace tidegauge::query
