// Programs: loads the BPF object of bpf/ from this binary into the kernel. Sets the options,
// attaches the programs that do not belong to a library (processes), reads maps and counters.
//
// Nothing stays in the kernel when the object is destroyed or the recorder is killed: a descriptor
// of this process holds every link.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bpf/records.h"
#include "record/process/capabilities.h"

struct bpf_object;
struct bpf_program;
struct bpf_link;

namespace tidegauge::record {

struct ProgramSettings {
  bool watch_all = false;
  bool take_stacks = true;
  bool take_block_stacks = true;
  bool follow_children = true;
  bool launch_events = false;
  uint32_t launch_arguments = 0;
  bool whole_arguments = false;  // as far as the sizes of parameters are known
  uint64_t cgroup = 0;
  uint32_t cgroup_level = 0;
  bool link_each = false;          // one link per function, as on a kernel without multi-links
  uint32_t ring_bytes = 8U << 20;  // of memory_ring: a power of two of pages
};

// Lost events by reason, and other counts (enum loss).
using Losses = std::array<uint64_t, COUNT_KINDS>;

// What must be kept to load the programs and to attach them, now and to libraries that come later.
Capabilities neededToRecord(bool link_each);

class Programs {
 public:
  // kMissingFeature with what is missing: privileges, BTF, kernel.
  static base::Result<Programs> load(const ProgramSettings& wanted);
  Programs(Programs&&) noexcept;
  Programs& operator=(Programs&&) noexcept;
  ~Programs();

  bpf_program* program(const char* name) const;  // nullptr: no such program
  int mapDescriptor(const char* name) const;     // −1: no such map
  // Whether attachMany() takes more than one place at a time: see links.h.
  bool linksMany() const { return links_many_; }
  // Attaches to many places of one file, entry or return. Returns the descriptor of the link, or
  // −errno.
  int attachMany(const char* program, const std::string& path, const std::vector<uint64_t>& offsets,
                 const std::vector<uint64_t>& cookies, bool at_return,
                 const std::vector<uint64_t>& counters = {}) const;
  base::Status watchProcess(uint32_t tgid, bool may_stop) const;
  Losses losses() const;
  void detach();  // detaches from processes: no more process events follow

 private:
  struct Handle;
  Programs(std::unique_ptr<Handle> handle, bool links_many);
  std::unique_ptr<Handle> handle_;
  bool links_many_;
};

}  // namespace tidegauge::record
