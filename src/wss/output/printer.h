// Printer: what a measurement prints, in one of the forms. A command writes what it returns.
//
//             text                       JSON                  CSV
//   begin()   Memory touched by mysqld, …  –                   time,window_s,…
//   window()  0.100   403.66   28.02 …   kept, or a line       1784…,0.1002,…
//   end()     A memory limit of … would  the document          –
//
// `Window` is what was measured: OneWindow, SeveralWindow or SurveyRow.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wss/measure/grouping.h"

namespace tidegauge::wss {

// How a measurement ended.
struct Ending {
  base::Status status;          // an error: before its last window
  std::vector<pid_t> unseen{};  // of several: processes that are in no window
};

template <class Window>
class Printer {
 public:
  virtual ~Printer() = default;
  virtual std::string begin() { return {}; }
  virtual std::string window(const Window& window) = 0;
  virtual std::string end(const Ending& ending) = 0;
};

enum class JsonForm : uint8_t { kDocument, kLines };

// What the user wants to see, and how much room there is.
struct PrintOptions {
  std::optional<Grouping> by = std::nullopt;  // not set: no list
  size_t top = 20;                            // rows of that list, and of processes
  bool more_times = false;
  double most_stall_ms = 5;  // a note, if it was longer
  size_t columns = 80;
  bool colour = false;
};

}  // namespace tidegauge::wss
