// The page tables of a process, added up per mapping.
#pragma once

#include <functional>

#include "wss/backends/backend.h"
#include "wss/pte/page_tables.h"

namespace tidegauge::wss {

// What the entries of a table shall say, in place of what they do.
using Amend = std::function<Entries(uint64_t table, page_table_kind kind, Entries entries)>;

// Adds to `uses` what the tables say of those that are `wanted`; keeps pages and frames too where
// those are not null. Bytes of tables that could not be read; an error if the process is gone.
base::Result<uint64_t> readTables(PageTables& tables, const Process& process,
                                  std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                                  std::vector<PageBits>* pages = nullptr,
                                  std::vector<Frame>* frames = nullptr, const Amend& amend = {});

// The GiB of those in which there is no memory at all, in order; not asked for where the answer
// would cost more than it saves.
base::Result<std::vector<uint64_t>> emptyGiants(PageTables& tables, const Process& process,
                                                const std::vector<MappingUse>& uses,
                                                MappingWalk::Wanted wanted);
// Those of `giants` in which there is none.
base::Result<std::vector<uint64_t>> emptyOf(PageTables& tables, const Process& process,
                                            std::span<const uint64_t> giants);

}  // namespace tidegauge::wss
