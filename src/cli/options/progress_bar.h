// ProgressBar: one line on standard error, only on a terminal, only for work over half a second.
//
//   Reading run.pickle [██████████████                ] 512 MiB of 1.00 GiB
//
// Cost: at most ten lines per second.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace tidegauge::cli {

class ProgressBar {
 public:
  explicit ProgressBar(const std::string& title);
  ~ProgressBar() { clear(); }
  void clear();
  // `text` is asked for only if the line is written.
  void show(uint64_t done, uint64_t total, const std::function<std::string()>& text);

 private:
  std::string title_;
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = begin_;
};

}  // namespace tidegauge::cli
