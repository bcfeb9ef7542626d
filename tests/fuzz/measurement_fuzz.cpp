// Any bytes as a file of `wss -o` → readMeasurement: an error that names a line, or a measurement that is told in
// words and to the page, in which no time runs backwards and nothing is touched that is not there.
#include <cstdint>
#include <sstream>
#include <string>

#include "check_trace.h"
#include "wss/measurement_page.h"
#include "wss/measurement_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tidegauge;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  auto read = wss::readMeasurement(in);
  if (!read.ok()) {
    fuzz::require(!read.error().what.empty());
    return 0;
  }
  const wss::Measurement& measurement = read.value();
  double before_s = 0;
  for (const wss::Measurement::Sample& sample : measurement.samples) {
    fuzz::require(sample.time_s >= before_s);
    before_s = sample.time_s;
    fuzz::require(sample.row.uses.size() == sample.row.windows.size());
  }
  for (const wss::HeatMap::Column& column : measurement.heat.columns()) {
    fuzz::require(column.begin_s <= column.end_s);
    for (const wss::HeatMap::Cell& cell : column.cells) fuzz::require(cell.touched <= cell.there);
  }
  for (size_t columns : {80, 100})
    fuzz::require(!wss::measurementText(measurement, 20, columns, true).empty());
  fuzz::require(nlohmann::json::accept(wss::measurementPage(measurement)));
  return 0;
}
