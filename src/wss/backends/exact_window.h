// A window with exact ends: the process stands still while another back-end clears, and while it
// reads.
//
//   process   running ─┐      ┌───────── running ─────────┐      ┌─ running
//                      │ stop │◄───────── window ─────────►│ stop │
//   tidegauge          └clear─┘                            └─read─┘
//
// So all memory is watched for the same time, and nothing is touched while it is read. Without it,
// each mapping has a window of its own (window.h), and the process runs on. `--exact-window` asks
// for it; it is never chosen automatically, because the process does nothing for as long as it
// takes: 45 ns for each resident page to clear them, and up to that to read them.
#pragma once

#include <map>
#include <memory>

#include "wss/backends/backend.h"
#include "wss/process/stopped_process.h"

namespace tidegauge::wss {

class ExactWindow final : public Backend {
 public:
  explicit ExactWindow(std::unique_ptr<Backend> inner)
      : Backend(inner->traits()), inner_(std::move(inner)) {
    detail() = inner_->detail();
  }
  std::string_view name() const override { return inner_->name(); }
  std::string how() const override;
  std::vector<std::string> limits() const override { return inner_->limits(); }
  std::optional<Cost> predicted(const Resident& resident, size_t mappings) const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Status glance(const Process& process, Clock& clock) override {
    return inner_->glance(process, clock);
  }
  base::Result<Reading> read(const Process& process, Clock& clock) override;
  base::Status clearOutside(Clock& clock) override { return inner_->clearOutside(clock); }
  base::Status readOutside(std::span<const Process* const> processes, Clock& clock) override {
    return inner_->readOutside(processes, clock);
  }
  const CacheUse* outside() const override { return inner_->outside(); }

 private:
  // The time that a process ran since its clearing.
  struct Run {
    Moment resumed{};
    Window before{};  // until it was resumed last
  };
  std::unique_ptr<Backend> inner_;
  std::map<pid_t, Run> runs_;
};

}  // namespace tidegauge::wss
