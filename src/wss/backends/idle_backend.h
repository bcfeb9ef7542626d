// idle: by the kernel's idle flag of each page, which leaves to reclaim what it knows of pages.
//
//   clear   pages → frames → their first frames → set these bits    touched since = no bit any more
//   read    the same anew (pages come and go) → read the bits
//
// A page counts as touched whoever did it, of all that map it; one of a large folio as the whole
// folio. Cost, measured in an emulated machine: 50 ms for each pass over 256 MiB, more for pages
// that many map. What wss-v1 and wss-v2 get wrong: pages of a folio beside its first seem touched,
// entries of swapped pages are no frames, neighbours' bits are not theirs to set, and sums above 2
// GiB.
#pragma once

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"

namespace tidegauge::wss {

class IdleBackend final : public Backend {
 public:
  // Whether this kernel has that flag, and lets it be set. `root`: before /sys and /proc; for
  // tests.
  static base::Status check(const std::string& root = {});
  explicit IdleBackend(Flush flush, std::string root = {})
      : Backend({.knows_sharing = false}), flush_(flush), root_(std::move(root)) {}
  std::string_view name() const override { return "idle"; }
  std::string how() const override;
  std::vector<std::string> limits() const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;

 private:
  Flush flush_;
  std::string root_;
};

}  // namespace tidegauge::wss
