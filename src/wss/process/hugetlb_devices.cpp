#include "wss/process/hugetlb_devices.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>

#include "wss/process/kernel_file.h"

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4U
#endif

namespace tidegauge::wss {
namespace {

// position of the logarithm of the page's size in the flags: linux/memfd.h
constexpr int kSizeShift = 26;

std::string nameOf(unsigned major, unsigned minor) {
  return fmt::format("{:02x}:{:02x}", major, minor);  // the format of fs/proc/task_mmu.c
}

// "hugepages-2048kB" → 2 MiB; 0 for other names.
uint64_t bytesOf(std::string_view folder) {
  constexpr std::string_view kHead = "hugepages-";
  uint64_t kib = 0;
  if (!folder.starts_with(kHead)) return 0;
  folder.remove_prefix(kHead.size());
  std::from_chars(folder.data(), folder.data() + folder.size(), kib);
  return kib > UINT64_MAX / 1024 ? 0 : kib * 1024;
}

// The kernel's own file system for pages of that size, found by an empty file in it.
void addOwn(uint64_t page_bytes, std::vector<std::string>& devices) {
  if (!std::has_single_bit(page_bytes)) return;
  auto size = static_cast<unsigned>(std::countr_zero(page_bytes)) << kSizeShift;
  int file = memfd_create("tidegauge", MFD_CLOEXEC | MFD_HUGETLB | size);
  if (file < 0) return;
  struct stat status {};
  if (fstat(file, &status) == 0)
    devices.push_back(nameOf(major(status.st_dev), minor(status.st_dev)));
  close(file);
}

}  // namespace

std::vector<std::string> hugetlbMounts(std::string_view mountinfo) {
  std::vector<std::string> devices;
  while (!mountinfo.empty()) {
    std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    if (line.find(" - hugetlbfs ") == std::string_view::npos) continue;
    for (int field = 0; field < 2; ++field)
      line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
    unsigned major_number = 0, minor_number = 0;
    const char* end = line.data() + line.size();
    auto [colon, bad_major] = std::from_chars(line.data(), end, major_number);
    if (bad_major != std::errc() || colon == end || *colon != ':') continue;
    if (std::from_chars(colon + 1, end, minor_number).ec != std::errc()) continue;
    devices.push_back(nameOf(major_number, minor_number));
  }
  return devices;
}

std::vector<std::string> hugetlbDevices(const Process& process, const std::string& root) {
  std::vector<std::string> devices;
  std::error_code error;
  std::filesystem::directory_iterator folder(root + "/sys/kernel/mm/hugepages", error), end;
  for (; !error && folder != end; folder.increment(error)) {
    // including surplus pages
    auto count = readKernelFile(folder->path().string() + "/nr_hugepages");
    if (!count.ok() || count.value() == "0") continue;
    addOwn(bytesOf(folder->path().filename().string()), devices);
    if (auto mounts = process.readFile("mountinfo"); mounts.ok())
      for (std::string& mount : hugetlbMounts(mounts.value())) devices.push_back(std::move(mount));
  }
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

}  // namespace tidegauge::wss
