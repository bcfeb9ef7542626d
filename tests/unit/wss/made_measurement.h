// Generated files of measurements, and what is read from them.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "support/bytes.h"
#include "wss/file/measurement.h"

namespace tidegauge::wss {

inline constexpr uint64_t kAddress = 0x7f0000000000;

inline MeasurementHead head(const std::string& course, double window_s = 0.1) {
  return {.pid = 4711,
          .process = "mysqld",
          .backend = "pte",
          .how = "accessed bits",
          .limits = {"one thing"},
          .course = course,
          .window_s = window_s,
          .knows_sharing = false,
          .machine = {.l2_bytes = kMiB, .limit_of = "/db"}};
}

inline Row row(uint64_t touched_mib, int64_t window_ns = 100'000'000) {
  Row row;
  row.window = {window_ns, window_ns, window_ns};
  row.sums = {.rss = 64 * kMiB, .referenced = touched_mib * kMiB};
  MappingUse low, high;
  low.mapping.start = kAddress, low.mapping.end = kAddress + kMiB;
  low.mapping.path = "/lib/libc.so";
  low.sums = {.rss = kMiB};
  high.mapping.start = kAddress + kMiB, high.mapping.end = kAddress + 64 * kMiB;
  high.sums = row.sums;
  row.uses = {low, high};
  row.windows = {row.window, row.window};
  PageBits bits{.table = kAddress};
  bits.there[0] = 0xffff, bits.touched[0] = 0xff;
  row.pages = {bits};
  return row;
}

inline Rolling rolling(uint64_t mib) {
  return {.within = {{1, mib * kMiB}, {2, 2 * mib * kMiB}}, .never = 7, .first = 8, .again = {9}};
}

// One row with all that belongs to it.
inline std::string rowLine(const MeasurementHead& head, const Row& row, double unix_s,
                           const Rolling* rolling) {
  return RowLines(head).next(row, unix_s, {}, rolling);
}

inline std::string file(const MeasurementHead& head, int rows, double spacing_s = 1) {
  std::string text = headLine(head) + "\n";
  Rolling of = rolling(4);
  for (int i = 0; i < rows; ++i)
    text += rowLine(head, row(20), 1000 + i * spacing_s, head.course == "rolling" ? &of : nullptr) +
            "\n";
  return text;
}

inline base::Result<Measurement> read(const std::string& text) {
  std::istringstream in(text);
  return readMeasurement(in);
}

inline std::string errorOf(const std::string& text) {
  auto measurement = read(text);
  return measurement.ok() ? "none" : measurement.error().what;
}

// `text` with its first `what` replaced by `by`.
inline std::string with(std::string text, const std::string& what, const std::string& by) {
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

}  // namespace tidegauge::wss
