// Which files are made of reserved huge pages, if /proc/PID/maps only contains a device and a name
// of a mapping:
//
//   7f0000000000-7f0000800000 rw-s 00000000 00:0f 1031   /memfd:pool (deleted)
//                                           00:0f → reserved huge pages
//
// memfd_create(MFD_HUGETLB), shmget(SHM_HUGETLB) and MAP_HUGETLB use files of kernel-internal file
// systems, one for each size of page; others are mounted, under any name (DPDK, QEMU, Kubernetes).
// The kernel never clears the accessed bit of such pages, so if they were taken for a file, they
// would count as touched in each window. Cost: 0.1 ms; only for processes with files that are on no
// disk (mappings.h). Source: Documentation/admin-guide/mm/hugetlbpage.rst.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wss/process/process.h"

namespace tidegauge::wss {

// The device as in maps, "00:0f", each once, in order: of mounts that this process sees, and of the
// kernel's own. `root`: prefix of /sys, for tests.
std::vector<std::string> hugetlbDevices(const Process& process, const std::string& root = {});

// From the text of mountinfo alone.
std::vector<std::string> hugetlbMounts(std::string_view mountinfo);

}  // namespace tidegauge::wss
