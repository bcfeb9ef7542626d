// SessionStacks: the stacks of a session, from the kernel's lists of addresses to rows and words.
//
//   process 3, stack 17: 0x7f…12, 0x55…40        as the kernel reports it
//     └─► frames: libtorch.so+0x12, train+0x40   place in a file, or a name from a perf map;
//                                                Python's own in place of its evaluation loop
//           └─► stack 5                          each list of frames once
//                 └─► "alloc.cpp:30 allocate"    once the symbols are known
//
// In a recording of one file, rows are written when they are first seen; a part of a ring gets them
// when one of its own rows names them.
// Cost: a map lookup per address of a new stack; memory as large as the distinct stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/call_site.h"
#include "record/code/address_space.h"
#include "record/code/perf_map.h"
#include "record/code/rows.h"
#include "record/code/symbols.h"
#include "record/session/session_file.h"
#include "record/source.h"

namespace tidegauge::record {

class SessionStacks {
 public:
  explicit SessionStacks(SessionFile& file) : file_(file) {}

  // Where the code of a process lies.
  void look(uint32_t pid);
  void inherit(uint32_t pid, uint32_t parent);
  void forgetCode(uint32_t pid);
  // The kernel's numbers of its stacks mean nothing more.
  void forgetProcess(uint32_t process);

  // The module with the code at an address, and its file (−1: not open); kNoModule: there is none.
  std::pair<uint32_t, int> moduleAt(uint32_t pid, uint64_t address);
  // Asks for the mangled name of the function that begins there; takeFunctions() has the answer,
  // with the number. False: no file has code there.
  bool askFunction(uint32_t number, uint32_t pid, uint64_t address);
  std::vector<SymbolAnswer> takeFunctions() { return std::exchange(functions_, {}); }

  // A stack as the kernel numbers it, innermost address first.
  void add(uint32_t process, uint32_t pid, uint32_t kernel_stack, const SeenStack& seen);
  std::optional<uint32_t> find(uint32_t process, uint32_t kernel_stack) const;
  // The stack's number in the file, where it is written if it is missing. An unknown one:
  // kNoStackOfCall.
  uint32_t inFile(uint32_t stack);

  // Takes over the names that were found since; at the end, waits for all that are missing, or
  // until it must end.
  void takeNames() { take(symbols_.take()); }
  void takeLastNames(const std::function<bool()>& must_end) { take(symbols_.finish(must_end)); }
  uint64_t unnamed() { return symbols_.unanswered(); }
  // "loss.py:30 log_softmax" for each frame, innermost first; "libfoo.so+0x12" if unnamed.
  model::StackWords describe(uint32_t stack) const;

  // Drops stacks that are neither in `held` nor known by a kernel's number, their frames, and
  // modules that no frame and no process leads to. Numbers are not used again.
  void forgetUnless(std::set<uint32_t> held);
  size_t stacks() const { return stacks_.kept(); }
  size_t frames() const { return frames_.kept(); }
  size_t modules() const { return spaces_.modules().kept(); }

 private:
  struct Frame {
    CodePlace place;
    SymbolAnswer name;
  };
  uint32_t frameAt(const CodePlace& place);
  uint32_t namedFrame(const CodeName& name, uint64_t address);
  std::vector<uint32_t> framesOf(uint32_t pid, const SeenStack& seen);
  uint32_t moduleInFile(uint32_t module);
  uint32_t frameInFile(uint32_t frame);
  void writeModule(uint32_t module);
  void take(std::vector<SymbolAnswer> answers);

  SessionFile& file_;
  AddressSpaces spaces_;
  PerfMaps perf_maps_;
  Symbols symbols_;
  std::vector<SymbolAnswer> functions_;  // for askFunction()
  Rows<Frame> frames_;
  std::map<CodePlace, uint32_t> frame_ids_;
  std::map<CodeName, uint32_t> named_frames_;  // of code made at run time: by name, not by place
  size_t modules_written_ = 0;
  Rows<std::vector<uint32_t>> stacks_;
  std::map<std::vector<uint32_t>, uint32_t> stack_ids_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stack_of_;  // (process, kernel's id) → ours
};

}  // namespace tidegauge::record
