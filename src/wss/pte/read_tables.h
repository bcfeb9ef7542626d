// The page tables of a process, summed per mapping.
#pragma once

#include <functional>

#include "wss/backends/backend.h"
#include "wss/pte/page_tables.h"

namespace tidegauge::wss {

// Replaces the entries of a table before they are used.
using Amend = std::function<Entries(uint64_t table, page_table_kind kind, Entries entries)>;

// Adds the sums of the tables to the `wanted` ones of `uses`; stores pages and frames too if those
// are not null. Returns the bytes of unreadable tables; an error if the process is gone.
base::Result<uint64_t> readTables(PageTables& tables, const Process& process,
                                  std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                                  std::vector<PageBits>* pages = nullptr,
                                  std::vector<Frame>* frames = nullptr, const Amend& amend = {});

// The GiB of those mappings without any memory, in order; not queried if that would cost more than
// it saves.
base::Result<std::vector<uint64_t>> emptyGiants(PageTables& tables, const Process& process,
                                                const std::vector<MappingUse>& uses,
                                                MappingWalk::Wanted wanted);
// Those of `giants` without any memory.
base::Result<std::vector<uint64_t>> emptyOf(PageTables& tables, const Process& process,
                                            std::span<const uint64_t> giants);

}  // namespace tidegauge::wss
