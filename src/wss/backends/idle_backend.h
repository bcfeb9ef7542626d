// idle: by the kernel's idle flag of each page, which does not disturb reclaim.
//
//   clear   pages → frames → their first frames → set these bits    touched = bit is clear again
//   read    the same again (pages change) → read the bits
//
// A touch by any process that maps a page counts, and a touch of a large folio counts as the whole
// folio. Cost, measured in an emulated machine: 50 ms for each pass over 256 MiB, more for pages
// with many mappings. Errors of wss-v1 and wss-v2 that this avoids: pages of a folio after its
// first seem touched, entries of swapped pages are not frames, neighbours' bits must not be set,
// and sums above 2 GiB.
#pragma once

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"

namespace tidegauge::wss {

class IdleBackend final : public Backend {
 public:
  // Whether this kernel has that flag and allows setting it. `root`: prefix of /sys and /proc; for
  // tests.
  static base::Status check(const std::string& root = {});
  explicit IdleBackend(Flush flush, std::string root = {})
      : Backend({.knows_frames = true, .knows_sharing = false}),
        flush_(flush),
        root_(std::move(root)) {}
  // Also the page cache of that cgroup which no process maps: outside().
  void alsoMeasure(CgroupCache cache) { cache_ = std::move(cache); }
  std::string_view name() const override { return "idle"; }
  std::string how() const override;
  std::vector<std::string> limits() const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;
  base::Status clearOutside(Clock& clock) override;
  base::Status readOutside(std::span<const Process* const> processes, Clock& clock) override;
  const CacheUse* outside() const override { return use_ ? &*use_ : nullptr; }

 private:
  Flush flush_;
  std::string root_;
  std::optional<CgroupCache> cache_;
  std::optional<CacheUse> use_;
};

}  // namespace tidegauge::wss
