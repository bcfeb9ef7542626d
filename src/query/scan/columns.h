// Building blocks of the tables: a column over a stored vector, over ids, over texts of the string
// pool.
//
//   addStep(table, "step", "…", eachRow([](Row row) { return … }));
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "analysis/labels/phases.h"
#include "base/string_pool.h"
#include "model/trace.h"
#include "query/scan/table.h"

namespace tidegauge::query {

// ---- values of the model as keys ----------------------------------------------------------------

template <class Tag, class Int>
int64_t keyOf(base::Id<Tag, Int> id) {
  return id.valid() ? static_cast<int64_t>(id.value) : kNull;
}
// SQLite's integers are signed: sizes that no memory can have are shown as the largest.
inline int64_t keyOfBytes(uint64_t bytes) {
  if (bytes == model::kUnknownBytes) return kNull;
  return static_cast<int64_t>(
      std::min<uint64_t>(bytes, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
}
inline int64_t keyOfAddress(uint64_t address) { return static_cast<int64_t>(address); }
inline int64_t keyOfStep(model::Step step) {
  return step == model::kNoStep ? kNull : static_cast<int64_t>(step);
}
// NULL for NaN.
inline int64_t keyOfReal(double real) {
  if (std::isnan(real)) return kNull;
  return std::bit_cast<int64_t>(real == 0 ? 0.0 : real);  // −0.0 has the bits of NULL
}
// Since the device's first event. Unsigned: times in a hostile file may overflow.
inline int64_t keyOfSeconds(const analysis::TimeAxis& axis, model::Step step) {
  int64_t time_us = axis.timeOf(step);
  if (time_us == model::kNoTime) return kNull;
  uint64_t since_us = static_cast<uint64_t>(time_us) - static_cast<uint64_t>(axis.firstUs());
  return keyOfReal(static_cast<double>(since_us) / 1e6);
}
static_assert(model::kNoTime == kNull, "times are keys as they are");

// ---- fills --------------------------------------------------------------------------------------

template <class F>
Fill eachRow(F key_of_row) {
  return [key_of_row](const Row* rows, size_t count, int64_t* keys) {
    for (size_t i = 0; i < count; ++i) keys[i] = key_of_row(rows[i]);
  };
}

inline Fill nulls() {
  return [](const Row*, size_t count, int64_t* keys) { std::fill_n(keys, count, kNull); };
}

// A stored vector; all NULL if the vector is empty (the file lacks that field).
template <class Values, class KeyOf>
Fill stored(const Values& values, KeyOf key_of) {
  if (values.empty()) return nulls();
  return [&values, key_of](const Row* rows, size_t count, int64_t* keys) {
    for (size_t i = 0; i < count; ++i) keys[i] = key_of(values[rows[i]]);
  };
}
template <class Ids>
Fill storedIds(const Ids& ids) {
  return stored(ids, [](auto id) { return keyOf(id); });
}

// A fill, and the vector that it reads if the column is as stored.
struct Filled {
  Fill fill;
  Stored stored{};

  template <class F>  // NOLINTNEXTLINE(google-explicit-constructor)
  requires std::is_convertible_v<F, Fill> Filled(F fill_keys, const Stored& as_stored = {})
      : fill(std::move(fill_keys)), stored(as_stored) {}
};
inline Filled storedBytes(const std::vector<uint64_t>& bytes) {
  return {stored(bytes, keyOfBytes), {Stored::Width::kUint64, bytes.data(), true}};
}
inline Filled storedAddresses(const std::vector<uint64_t>& a) {
  return {stored(a, keyOfAddress), {Stored::Width::kUint64, a.data(), false}};
}
inline Filled storedSteps(const std::vector<model::Step>& steps) {
  return {stored(steps, keyOfStep), {Stored::Width::kUint32, steps.data(), true}};
}
inline Filled storedIntegers(const std::vector<int64_t>& numbers) {
  return {stored(numbers, [](int64_t number) { return number; }),
          {Stored::Width::kInt64, numbers.data(), true}};
}

// Which device's range of a table contains a row. Neighbouring rows are usually in the same one.
class DeviceFinder {
 public:
  explicit DeviceFinder(const std::vector<DeviceRows>& devices) : devices_(devices) {}
  size_t operator()(Row row) {
    while (at_ > 0 && row < devices_[at_].begin) --at_;
    while (at_ + 1 < devices_.size() && row >= devices_[at_].end) ++at_;
    return at_;
  }

 private:
  const std::vector<DeviceRows>& devices_;
  size_t at_ = 0;
};

inline Fill rowNumber() {
  return eachRow([](Row row) { return static_cast<int64_t>(row); });
}

// ---- columns ------------------------------------------------------------------------------------

Column& add(Table& table, ColumnKind kind, std::string name, std::string doc, Filled fill);

// The row number as the primary key "id".
Column& addId(Table& table, std::string doc);
// "device": the ordinal, from table.devices, which must be set before.
Column& addDevice(Table& table);
// A reference to a row of another table: about `distinct` different values.
Column& addReference(Table& table, std::string name, std::string doc, Fill fill, uint64_t distinct);
// A text of the pool, by StringId.
Column& addPoolText(Table& table, std::string name, std::string doc, Fill fill,
                    const base::StringPool& strings);
// One of a few names; the key is the index into `names`.
Column& addEnum(Table& table, std::string name, std::string doc, Fill fill,
                std::vector<std::string> names);
// Names of the values of an enum of the model that count up from 0, by model::name.
template <class Enum>
std::vector<std::string> namesUpTo(Enum last) {
  std::vector<std::string> names;
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i) {
    using model::name;  // for enums declared later, found by their namespace
    names.emplace_back(name(static_cast<Enum>(i)));
  }
  return names;
}
// A text made on demand from the key.
Column& addMadeText(Table& table, std::string name, std::string doc, Fill fill,
                    std::function<std::string(int64_t key)> make);

// Rows without a device: one range over all of them.
void setRows(Table& table, Row rows);
// A table without columns yet; `of_recording` as in Table.
Table recordingTable(const char* name, const std::string& doc, Row rows, bool of_recording = false);
// Rows by device, from each device's range.
template <class Begin, class End>
void setDeviceRows(Table& table, const model::Trace& trace, Begin begin, End end) {
  for (const model::Device& device : trace.devices) {
    table.devices.push_back({device.ordinal, device.*begin, device.*end});
    table.rows = std::max<Row>(table.rows, device.*end);
  }
}

}  // namespace tidegauge::query
