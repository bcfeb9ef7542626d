// Which files are of reserved huge pages, where /proc/PID/maps tells no more of a mapping than its
// device and a name:
//
//   7f0000000000-7f0000800000 rw-s 00000000 00:0f 1031   /memfd:pool (deleted)
//                                           00:0f → reserved huge pages
//
// memfd_create(MFD_HUGETLB), shmget(SHM_HUGETLB) and MAP_HUGETLB are files of a file system of the
// kernel's own, one for each size of page; others are mounted, under any name (DPDK, QEMU,
// Kubernetes). The kernel never takes the accessed bit from such pages, so one that is taken for a
// file would count as touched in each window. Cost: 0.1 ms; asked only of a process that has files
// on no disk (mappings.h). Source: Documentation/admin-guide/mm/hugetlbpage.rst.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wss/process/process.h"

namespace tidegauge::wss {

// As the device stands in maps, "00:0f", each once, in order: of mounts that this process sees, and
// of the kernel's own. `root`: before /sys, for tests.
std::vector<std::string> hugetlbDevices(const Process& process, const std::string& root = {});

// Of the text of mountinfo alone.
std::vector<std::string> hugetlbMounts(std::string_view mountinfo);

}  // namespace tidegauge::wss
