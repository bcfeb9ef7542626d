#include "wss/pte/pte_backend.h"

#include <signal.h>

#include <cerrno>
#include <utility>

#include "wss/backends/clear_refs.h"
#include "wss/backends/costs.h"
#include "wss/backends/kdamond.h"
#include "wss/pages/read_maps.h"
#include "wss/pages/repeats.h"
#include "wss/pte/read_tables.h"

namespace tidegauge::wss {

std::string PteBackend::how() const {
  return "clear_refs" + wordsOf(flush_) + ", accessed bits of the page tables";
}

std::vector<std::string> PteBackend::limits() const {
  std::vector<std::string> limits = limitsOfFlush(flush_);
  if constexpr (kIsArm64) limits.emplace_back(kUntestedOnArm64);
  for (std::string& limit : Kdamond::limitsOfOthers()) limits.push_back(std::move(limit));
  if (!detail().marks.empty())
    limits.emplace_back(
        "accesses of a device to pinned host memory (DMA) set no bit, so memory that is in use "
        "can look untouched");
  return limits;
}

std::optional<Cost> PteBackend::predicted(const Resident& resident, size_t mappings) const {
  double clear_ns = pagesOf(resident.bytes) * kClearOfAPage_ns;
  return costOf(clear_ns + tablesFor(resident.bytes) * kReadOfATable_ns, clear_ns, kMappingByPte,
                mappings);
}

base::Result<Clearing> PteBackend::clear(const Process& process, Clock& clock) {
  int64_t cpu_ns = clock.cpu_ns();
  // Processes that are gone are dropped.
  auto is_over = [&](const auto& one) {
    return one.first == process.pid() || (kill(one.first, 0) != 0 && errno == ESRCH);
  };
  std::erase_if(many_, is_over);
  std::erase_if(glimpses_, is_over);
  Clearing done;
  TG_ASSIGN_OR_RETURN(std::optional<ManyMappings> many,
                      ManyMappings::clear(tables_, process, flush_, clock, done));
  if (many) many_.emplace(process.pid(), std::move(*many));
  done.is_sampled_by_others = Kdamond::isOthersAtWork();
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

base::Status PteBackend::glance(const Process& process, Clock& clock) {
  int64_t cpu_ns = clock.cpu_ns();
  Glimpses& glimpses = glimpses_[process.pid()];
  base::Status status = glimpses.look(tables_, process);
  glimpses.cpu_ns += clock.cpu_ns() - cpu_ns;
  return status;
}

base::Result<Reading> PteBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  auto many = many_.find(process.pid());
  Amend amend;
  if (many == many_.end()) {
    TG_ASSIGN_OR_RETURN(done.uses, readMaps(process));
  } else {
    TG_ASSIGN_OR_RETURN(done.uses, many->second.now(tables_, process));
    amend = [&](uint64_t table, page_table_kind kind, Entries entries) {
      return many->second.withTaken(table, kind, entries);
    };
  }
  auto glimpses = glimpses_.find(process.pid());
  if (glimpses != glimpses_.end()) {
    glimpses->second.beginReading();
    amend = [&, before = std::move(amend)](uint64_t table, page_table_kind kind, Entries entries) {
      return glimpses->second.amended(table, kind, before ? before(table, kind, entries) : entries);
    };
  }
  cutAt(done.uses, detail().marks, done.unmapped_bytes);
  auto all = [](const Mapping&) { return true; };
  bool keeps_frames = detail().keeps_frames || repeatedBytes(done.uses) > kFewRepeats;
  TG_ASSIGN_OR_RETURN(done.unread_bytes, readTables(tables_, process, done.uses, all,
                                                    detail().keeps_pages ? &done.pages : nullptr,
                                                    keeps_frames ? &done.frames : nullptr, amend));
  done.pass.end_ns = clock.now_ns();
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  if (glimpses != glimpses_.end()) {
    done.gone_bytes = glimpses->second.goneBytes(done.uses);
    done.cost.cpu_ns += std::exchange(glimpses->second.cpu_ns, 0);
  }
  return done;
}

}  // namespace tidegauge::wss
