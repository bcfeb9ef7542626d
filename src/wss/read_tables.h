// The page tables of a process, added up per mapping.
#pragma once

#include "wss/backend.h"
#include "wss/page_tables.h"

namespace tidegauge::wss {

// Adds to `uses` what the tables say of those that are `wanted`; keeps pages and frames too where those
// are not null. Bytes of tables that could not be read; an error if the process is gone.
base::Result<uint64_t> readTables(PageTables& tables, const Process& process,
                                  std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                                  std::vector<PageBits>* pages = nullptr,
                                  std::vector<Frame>* frames = nullptr);

// The GiB of those in which there is no memory at all, in order; not asked for where the answer would cost more than it saves.
base::Result<std::vector<uint64_t>> emptyGiants(PageTables& tables, const Process& process,
                                                const std::vector<MappingUse>& uses,
                                                MappingWalk::Wanted wanted);
// Those of `giants` in which there is none.
base::Result<std::vector<uint64_t>> emptyOf(PageTables& tables, const Process& process,
                                            std::span<const uint64_t> giants);

}  // namespace tidegauge::wss
