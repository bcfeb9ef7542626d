// KernelLayouts: the parameters of the kernels in programs and libraries, read on a thread of its
// own: unpacking the code of a large library takes a second, and the recorder must drain its ring.
//
//   ask(module 3, its descriptor) … isRead(3) → find(3, "_Z4axpyifPf") → "0:4 4:4 8:8"
//
// Cost: about 1 s per GB of unpacked code (one architecture of each), and a few hundred bytes per
// kernel. A module is read once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "record/cubin/fat_binary.h"
#include "record/cubin/kernel_parameters.h"

namespace tidegauge::record {

// By mangled name; empty optional: kernels of that name have other sizes in another cubin. Offsets
// are those of the first cubin: a parameter's alignment counts from address 0 of the constant bank,
// and the first one is at 0x160 there for sm_80, at 0x210 for sm_90. So the offset of a parameter
// that is aligned to more than 16 bytes depends on the architecture.
using LayoutsByName = std::map<std::string, std::optional<std::string>, std::less<>>;

// What a file held.
struct CodeCounts {
  FatBinaryCounts code;
  CubinCounts kernels;  // of all cubins that were unpacked
};
// Reads a whole program or library. `stop` ends it after the present container.
LayoutsByName layoutsIn(const std::string& path, Cubins which = Cubins::kSmallest,
                        CodeCounts* counts = nullptr, const std::atomic<bool>* stop = nullptr);
// Adds the kernels of a cubin.
CubinCounts addLayouts(std::span<const uint8_t> cubin, LayoutsByName& layouts);
// A name that may have been cut is found by its beginning, if only one has that beginning.
std::optional<std::string> findLayout(const LayoutsByName& layouts, std::string_view name,
                                      bool is_cut);

class KernelLayouts {
 public:
  KernelLayouts() : thread_([this] { work(); }) {}
  ~KernelLayouts();
  KernelLayouts(const KernelLayouts&) = delete;
  KernelLayouts& operator=(const KernelLayouts&) = delete;

  // −1: the module could not be opened, so it has none. Once is enough.
  void ask(uint32_t module, int descriptor);
  bool isRead(uint32_t module);
  std::optional<std::string> find(uint32_t module, std::string_view name, bool is_cut);
  // Waits until all are read. False: `must_end` came first.
  bool finish(const std::function<bool()>& must_end);

 private:
  struct Question {
    uint32_t module = 0;
    int descriptor = -1;  // a copy of its own
  };
  struct Answer {
    bool is_read = false;
    LayoutsByName layouts;
  };
  void work();

  std::mutex mutex_;
  std::condition_variable news_, idle_;
  std::deque<Question> questions_;
  std::map<uint32_t, Answer> answers_;  // by module
  bool busy_ = false;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace tidegauge::record
