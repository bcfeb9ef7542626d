#include "wss/process/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <memory>

namespace tidegauge::wss {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

}  // namespace

void eachDescriptor(const Process& process, const std::function<void(const Descriptor&)>& visit) {
  auto file = process.openFile("fd", O_RDONLY | O_DIRECTORY);
  if (!file.ok()) return;
  std::unique_ptr<DIR, CloseFolder> folder(fdopendir(file.value()));
  if (!folder) {
    close(file.value());
    return;
  }
  char target[PATH_MAX];
  for (int count = 0; count < kMaxDescriptors;) {
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) return;
    if (entry->d_name[0] == '.') continue;
    ++count;
    int of_folder = dirfd(folder.get());
    ssize_t size = readlinkat(of_folder, entry->d_name, target, sizeof target);
    if (size > 0) visit({of_folder, entry->d_name, {target, static_cast<size_t>(size)}});
  }
}

}  // namespace tidegauge::wss
