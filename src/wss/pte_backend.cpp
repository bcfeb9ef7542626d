#include "wss/pte_backend.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "wss/clear_refs.h"
#include "wss/page_sums.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kMostText = size_t{4} << 30;
constexpr uint64_t kEndOfPrograms = uint64_t{1} << 56;  // above lies the kernel
}  // namespace

std::string PteBackend::how() const {
  return flush_ == Flush::kFree ? "clear_refs, flush of the TLB, accessed bits of the page tables"
                                : "clear_refs, accessed bits of the page tables";
}

std::vector<std::string> PteBackend::limits() const { return limitsOfFlush(flush_); }

base::Result<Clearing> PteBackend::clear(const Process& process, Clock& clock) {
  return clearReferences(process, flush_, clock);
}

base::Result<Reading> PteBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(int file, process.openFile("maps", O_RDONLY));
  int error_number = 0;
  std::string text = readAll(file, kMostText, error_number);
  close(file);
  if (error_number != 0 || text.empty()) return process.whyNothing("maps", error_number);
  done.uses = parseSmaps(text);  // heads alone
  while (!done.uses.empty() && done.uses.back().mapping.end > kEndOfPrograms) done.uses.pop_back();
  size_t from = 0;  // the first mapping that does not end before the table
  auto visit = [&](uint64_t address, page_table_kind kind, Entries entries) {
    while (from < done.uses.size() && done.uses[from].mapping.end <= address) ++from;
    if (kind == PAGE_TABLE_NONE || kind == PAGE_TABLE_FAILED) return;
    for (size_t i = from; i < done.uses.size() && done.uses[i].mapping.start < address + kTable;
         ++i) {
      MappingUse& use = done.uses[i];
      uint64_t first = std::max(use.mapping.start, address) - address;
      uint64_t last = std::min(use.mapping.end, address + kTable) - address;
      if (kind == PAGE_TABLE_OF_PAGES)
        addEntries(use.sums, entries, first / kPage, last / kPage);
      else
        addLarge(use.sums, entries[0], last - first, use.mapping.kind);
    }
  };
  TG_ASSIGN_OR_RETURN(bool is_there, tables_.read(process.pid(), tablesOf(done.uses), visit));
  done.pass.end_ns = clock.now_ns();
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  if (!is_there) return process.whyNothing("maps", 0);
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

}  // namespace tidegauge::wss
