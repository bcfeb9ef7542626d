// Parses the lines of a measurement in a file: the head, then rows. measurement_read.cpp reads the
// file.
#pragma once

#include "wss/file/measurement.h"
#include "wss/words/json_fields.h"

namespace tidegauge::wss {

MeasurementHead readHead(Fields& fields, const nlohmann::json& line);

// Appends rows.
class RowReader {
 public:
  explicit RowReader(MeasurementHead head) { measurement_.head = std::move(head); }
  // An error is stored in `fields`, and then the row was not added.
  void add(Fields& fields, const nlohmann::json& line);
  size_t samples() const { return measurement_.samples.size(); }
  Measurement take() { return std::move(measurement_); }

 private:
  MappingSums readSums(Fields& fields, const nlohmann::json& of);
  Row readRow(Fields& fields, const nlohmann::json& line);
  void readMappings(Fields& fields, const nlohmann::json& line, Row& row);
  void keepMappings(Fields& fields, const nlohmann::json& line, Measurement::Sample& sample);
  double timeOf(double unix_s, const Row& row);

  Measurement measurement_;
  double mappings_time_s_ = 0;
  double began_s_ = 0;  // by the clock of the machine
};

}  // namespace tidegauge::wss
