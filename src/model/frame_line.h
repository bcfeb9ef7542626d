// One frame of a call stack as text.
//
//   {"log_softmax", "/x/loss.py", 30, …}            "loss.py:30 log_softmax"
//   {"", "", 0, "/usr/lib/libfoo.so.1", 0x12}       "libfoo.so.1+0x12"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidegauge::model {

struct FramePlace {
  std::string_view function, file;  // empty: unknown
  uint64_t line = 0;
  std::string_view module;  // path; empty: not in a file
  uint64_t offset = 0;      // in it
};

std::string frameLine(const FramePlace& place);

}  // namespace tidegauge::model
