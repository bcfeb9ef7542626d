// SessionLaunches: the single launches of a session, and what is known of their arguments.
//
//   launch of stub 0x55a0 with words 0xa, 0x3f800000, 0x7f00
//     └─► its name _Z4axpyifPf, its module ./train            SessionProcesses, SessionStacks
//           └─► parameters 0:4 4:4 8:8                        KernelLayouts, on a thread
//                 └─► row: 3 parameters, 16 bytes             SessionFile
//
// A launch waits until the code of its module is read, at most 100,000 of them. The parameters of
// kernels that a program loads from memory, through the driver alone, are not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "model/ledger/ledger.h"
#include "record/cubin/kernel_layouts.h"
#include "record/session/session_file.h"
#include "record/session/session_processes.h"
#include "record/session/session_stacks.h"
#include "record/source.h"

namespace tidegauge::record {

class SessionLaunches {
 public:
  SessionLaunches(SessionFile& file, SessionProcesses& processes, SessionStacks& stacks,
                  const model::Ledger& ledger)
      : file_(file), processes_(processes), stacks_(stacks), ledger_(ledger) {}

  // Arguments are recorded: what they are is found out.
  // `whole`: the kernel can take all of them, once it knows their sizes.
  void readParameters(bool whole) {
    layouts_ = std::make_unique<KernelLayouts>();
    whole_ = whole;
  }
  void named(const KernelName& name);
  void take(const Launch& launch);
  void takeReady(Source& source);                      // those that waited, and need not any more
  void finish(const std::function<bool()>& must_end);  // waits for the rest
  void forgetProcess(uint32_t process);
  // Adds the stacks of those that wait.
  void addStacks(std::set<uint32_t>& held) const {
    for (const Waiting& it : waiting_)
      if (it.stack) held.insert(*it.stack);
  }

 private:
  using Key = std::pair<uint32_t, uint64_t>;  // process, handle
  struct Kernel {
    std::string name;                   // mangled
    std::optional<uint32_t> module;     // whose code has it
    bool is_asked = false;              // where it is was looked up
    std::optional<std::string> layout;  // of its parameters, once it is known
    std::vector<uint64_t> sizes;        // of the layout
  };
  std::map<Key, Kernel>::iterator kernelOf(const Key& key);
  // False: its module is being read.
  bool isReady(const Key& key);
  void takeWaiting();
  void giveSizes(Source& source);
  struct Waiting {
    Launch launch;  // with the device of its stream
    // Of the session: when the process has ended, the kernel's numbers of its stacks are forgotten.
    std::optional<uint32_t> stack;
  };
  void write(const Waiting& waiting);

  SessionFile& file_;
  SessionProcesses& processes_;
  SessionStacks& stacks_;
  const model::Ledger& ledger_;
  std::unique_ptr<KernelLayouts> layouts_;
  std::map<Key, Kernel> kernels_;
  std::deque<Waiting> waiting_;
  bool whole_ = false;
  std::deque<Key> unlearnt_;  // kernels whose sizes `source` has not been given, if whole_
};

}  // namespace tidegauge::record
