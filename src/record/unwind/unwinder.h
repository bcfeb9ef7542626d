// Unwinder: the recorder's half of the stack walk. The kernel's half (bpf/unwind.bpf.h) walks by
// rules. Without a rule, it sends its frames and a copy of the rest of the stack. The walk
// continues here, by .eh_frame, and every place on the way gets its rule, so this happens once per
// return address.
//
//   stack_ring ── {frames so far, rsp, rbp, copy} ─► drain() ─► rules (kernel) + frames (here)
//   python_ring ── {Python frames, code objects} ──► drain()
//   memory_record.stack = 7 ──────────────────────► take(7) ─► the frames of stack 7
//
// Code without .eh_frame: at the start of an epilogue (`add $8,%rsp; ret`: CPython's trampolines
// and other small stubs), the bytes suffice. Elsewhere rbp is tried as a frame pointer, and never
// again at a place where that failed. A separate thread, which the kernel wakes for each copy:
// until the rules are set, every other thread at the same place sends one too. All functions may be
// called meanwhile; they wait for it. Cost: under 10 µs per new return address; nothing once they
// are known. docs/decisions/0017
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "record/kernel/programs.h"
#include "record/process/process_maps.h"
#include "record/python/python_book.h"
#include "record/unwind/quick_rules.h"
#include "record/unwind/unwind_table.h"

struct ring_buffer;

namespace tidegauge::record {

struct UnwindCounts {
  uint64_t stacks = 0;     // distinct ones
  uint64_t cut = 0;        // of these, end where the caller was not found, or lack Python frames
  uint64_t deep = 0;       // of these, more than STACK_FRAMES: the outermost are missing
  uint64_t completed = 0;  // of these, finished here and not in the kernel
  uint64_t rules = 0;
};

class Unwinder {
 public:
  explicit Unwinder(const Programs& programs);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  bool ok() const { return thread_.joinable(); }
  void drain();  // reads everything in the ring
  void look(
      // has new mappings: call drain() before, since older stacks belong to the older mappings
      uint32_t tgid);
  void inherit(uint32_t tgid, uint32_t parent);
  void forget(uint32_t tgid);
  // The evaluation loops of the CPython that the process runs.
  void setPythonLoops(uint32_t tgid, std::vector<AddressRange> loops);
  // Frames of a drained stack, as places (unwind_key); only once.
  std::optional<SeenStack> take(uint32_t id);
  UnwindCounts counts() const;

 private:
  struct Module {
    std::optional<UnwindTable> table;
    std::unordered_map<uint64_t, std::optional<unwind_rule>> rules;  // by place in the file
  };
  struct Range {
    uint64_t start = 0, end = 0, offset = 0;
    Module* module = nullptr;  // nullptr: not a file
  };
  struct Space {
    std::vector<Range> ranges;
    std::map<uint32_t, bool> codes;  // numbers under which it has had rules
    uint32_t looks = 0;
  };
  struct WalkedStack {
    uint32_t tgid = 0;
    std::vector<uint64_t> frames;
    bool has_python = false;
  };
  struct Rule {
    unwind_rule rule{};
    bool guessed = false;
  };
  using Rules = std::unordered_map<uint64_t, Rule>;  // by place

  static int onRecord(void* self, void* data, size_t bytes);
  static int onPython(void* self, void* data, size_t bytes);
  void learnAsItComes();
  // Call everything below with the mutex held.
  void readMappings(uint32_t tgid);
  void add(const stack_record& record, std::span<const uint8_t> copy);
  uint16_t continueWalk(const stack_record& record, std::span<const uint8_t> copy,
                        WalkedStack& walked);
  const Range* rangeOf(uint32_t tgid, uint64_t address);
  Module* moduleOf(uint32_t tgid, const Mapping& mapping);
  Rule ruleFor(uint32_t tgid, const Range& range, uint64_t place);
  void set(uint32_t code, uint64_t place, const Rule& rule);
  void dropCode(uint32_t code);
  void closeUnused();

  int rules_map_;
  QuickRules quick_;
  ring_buffer* ring_ = nullptr;
  std::map<uint32_t, Space> spaces_;  // by tgid
  std::map<FileId, std::unique_ptr<Module>> modules_;
  std::map<uint32_t, Rules> rules_;     // by unwind_space::code
  std::map<uint32_t, uint32_t> users_;  // by code: processes that run it
  std::unordered_map<uint32_t, WalkedStack> waiting_;
  PythonBook python_;
  size_t open_tables_ = 0;
  UnwindCounts counts_;
  mutable std::mutex mutex_;  // guards everything above
  int end_ = -1;              // an event that ends the thread
  std::thread thread_;
};

// The rule for a return address at which the function ends: [add to rsp] [pops] ret. Absent for
// other code.
std::optional<unwind_rule> ruleOfEpilogue(std::span<const uint8_t> code);

}  // namespace tidegauge::record
