// Symbols: names for places in code, found on a separate thread: reading the table of a large
// library takes a second, and the recorder must drain its ring every few milliseconds.
//
//   ask(frame 7, {libc10_cuda.so, 0x4a173}) … take() → {frame 7, "c10::cuda::…::malloc(…)", "", 0}
//
// Functions come from the symbol tables (the static one if it exists), demangled; file and line
// come from DWARF, if the module contains it or a separate file of debug information is installed.
// A place without a name stays module + offset.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tidegauge::record {

struct SymbolQuestion {
  uint32_t frame = 0;   // the caller's number
  int descriptor = -1;  // of the module; −1: could not be opened
  uint32_t module = 0;
  uint64_t offset = 0;
  bool is_start = false;  // of a function, and not a return address: its name, or none
};
struct SymbolAnswer {
  uint32_t frame = 0;
  std::string function, file;  // empty: unknown
  uint32_t line = 0;
};

class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  void ask(SymbolQuestion question);
  bool isIdle();  // every question was answered
  // There will be no more questions about these modules.
  void forget(const std::vector<uint32_t>& modules);
  std::vector<SymbolAnswer> take();  // the answers since the last call
  // Waits for the remaining answers. If `must_end`, asked every 20 ms, becomes true: gives up those
  // that are missing.
  std::vector<SymbolAnswer> finish(const std::function<bool()>& must_end = {});
  size_t unanswered();

 private:
  struct Tables;
  void work();

  std::mutex mutex_;
  std::condition_variable news_, idle_;
  std::deque<SymbolQuestion> questions_;
  std::vector<SymbolAnswer> answers_;
  std::vector<uint32_t> forgotten_;
  bool stop_ = false;
  bool busy_ = false;
  std::unique_ptr<Tables> tables_;  // used by the thread only
  std::thread thread_;
};

}  // namespace tidegauge::record
