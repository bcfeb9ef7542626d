#include "wss/read_maps.h"

#include <fcntl.h>
#include <unistd.h>

namespace tidegauge::wss {
namespace {

constexpr size_t kMostText = size_t{4} << 30;
constexpr uint64_t kEndOfPrograms = uint64_t{1} << 56;  // above lies the kernel

}  // namespace

base::Result<std::vector<MappingUse>> readMaps(const Process& process) {
  TG_ASSIGN_OR_RETURN(int file, process.openFile("maps", O_RDONLY));
  int error_number = 0;
  std::string text = readAll(file, kMostText, error_number);
  close(file);
  if (error_number != 0 || text.empty()) return process.whyNothing("maps", error_number);
  std::vector<MappingUse> uses = parseSmaps(text);
  while (!uses.empty() && uses.back().mapping.end > kEndOfPrograms) uses.pop_back();
  return uses;
}

}  // namespace tidegauge::wss
