// Any bytes → a file of `wss -o` → the output for the terminal and the page: an error with words,
// or times that never decrease, mappings in order, text without control characters, and JSON.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "check_trace.h"
#include "wss/file/measurement.h"
#include "wss/file/measurement_page.h"
#include "wss/file/measurement_text.h"

namespace {

using namespace tidegauge;
using fuzz::require;

void checkTimes(const wss::Measurement& measurement) {
  double before_s = 0;
  for (const wss::Measurement::Sample& sample : measurement.samples) {
    require(sample.time_s >= before_s);
    before_s = sample.time_s;
  }
  before_s = 0;
  for (const wss::HeatMap::Column& column : measurement.heat.columns()) {
    require(column.begin_s >= before_s && column.end_s >= column.begin_s);
    before_s = column.end_s;
    for (const wss::HeatMap::Cell& cell : column.cells)
      require(cell.there > 0 && cell.touched <= cell.there);
  }
}

void checkMappings(const wss::Measurement& measurement) {
  for (size_t i = 0; i < measurement.samples.size(); ++i) {
    const wss::Row& row = measurement.samples[i].row;
    require(row.uses.size() == row.windows.size());
    require(row.uses.empty() || i + 1 == measurement.samples.size());
    for (size_t use = 1; use < row.uses.size(); ++use)
      require(row.uses[use - 1].mapping.start <= row.uses[use].mapping.start);
  }
}

void checkText(const std::string& text) {
  require(!text.empty() && text.back() == '\n' && base::isUtf8(text));
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    require(c == '\n' || (byte >= ' ' && byte != 0x7f));
  }
}

void checkPage(const wss::Measurement& measurement) {
  auto page = nlohmann::json::parse(wss::measurementPage(measurement));
  require(page["samples"] == measurement.samples.size());
  require(page["knee"].is_null() || page["knee"] < page["curve"].size());
  for (const auto& row : page["mappings"]) require(row["cold"] <= row["rss"]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  std::istringstream in(bytes);
  auto measurement = wss::readMeasurement(in);
  if (!measurement.ok()) {
    require(!measurement.error().what.empty() && !measurement.error().hint.empty());
    return 0;
  }
  require(wss::isMeasurement(bytes));
  checkTimes(measurement.value());
  checkMappings(measurement.value());
  checkText(wss::measurementText(measurement.value(), 20, 80, false));
  checkPage(measurement.value());
  return 0;
}
