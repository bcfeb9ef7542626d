#include "wss/process/targets.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "base/text_layout.h"
#include "wss/process/kernel_file.h"
#include "wss/process/proc_lack.h"

namespace tidegauge::wss {
namespace {

namespace fs = std::filesystem;

struct Known {
  std::string comm;
  pid_t parent = 0;
  char state = 0;
  bool is_of_kernel = false;
  int threads = 0;  // 0: unknown
};

// "4711 (na)me (x) S 1 4711 4711 0 -1 4194560 …": name, state, parent, five fields later its flags,
// and eleven later its threads.
bool parseStat(const std::string& text, Known& known) {
  constexpr unsigned long kThreadOfTheKernel = 0x00200000;  // PF_KTHREAD
  size_t begin = text.find('('), end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return false;
  known.comm = text.substr(begin + 1, end - begin - 1);
  unsigned long flags = 0;
  if (std::sscanf(text.c_str() + end + 1,
                  " %c %d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
                  &known.state, &known.parent, &flags, &known.threads) < 3)
    return false;
  known.is_of_kernel = (flags & kThreadOfTheKernel) != 0;
  return true;
}

std::map<pid_t, Known> allProcesses(const std::string& root) {
  std::map<pid_t, Known> all;
  std::error_code error;
  for (fs::directory_iterator it(root + "/proc", error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    pid_t pid = 0;
    auto [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || rest != name.data() + name.size()) continue;
    auto text = readKernelFile(it->path().string() + "/stat");
    Known known;
    if (text.ok() && parseStat(text.value(), known)) all[pid] = known;
  }
  return all;
}

bool hasMemory(const Known& known) {
  bool goes_on = known.state == 'Z' && known.threads > 1;  // without its first thread
  return !known.is_of_kernel && (goes_on || (known.state != 'Z' && known.state != 'X'));
}

void addChildren(std::set<pid_t>& found, const std::map<pid_t, Known>& all) {
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const auto& [pid, known] : all)
      if (found.contains(known.parent)) is_new |= found.insert(pid).second;
  }
}

void addProcs(std::set<pid_t>& found, const std::string& folder) {
  auto text = readKernelFile(folder + "/cgroup.procs");
  if (!text.ok()) return;
  const char *at = text.value().data(), *end = at + text.value().size();
  while (at < end) {
    pid_t pid = 0;
    auto [rest, bad] = std::from_chars(at, end, pid);
    if (bad == std::errc() && pid > 0) found.insert(pid);
    at = std::find(rest, end, '\n');
    if (at < end) ++at;
  }
}

constexpr const char* kHierarchies[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                                        "/sys/fs/cgroup/memory"};

// The first of `hierarchies` that has it.
base::Result<std::string> folderOf(const std::string& cgroup, const std::string& root,
                                   const std::vector<const char*>& hierarchies) {
  std::vector<std::string> folders;
  std::string path = cgroup.starts_with('/') ? cgroup : "/" + cgroup;
  if (cgroup.starts_with(kHierarchies[0]))
    folders.push_back(root + cgroup);
  else
    for (const char* hierarchy : hierarchies)
      folders.push_back(fmt::format("{}{}{}", root, hierarchy, path));
  std::error_code error;
  for (std::string& folder : folders)
    if (fs::is_directory(folder, error)) return std::move(folder);
  return unreadable(
      fmt::format("there is no cgroup {}", base::printable(cgroup)),
      "Give its path below /sys/fs/cgroup. `cat /proc/PID/cgroup` prints the path of a process");
}

}  // namespace

base::Result<std::vector<pid_t>> findTargets(const Targets& targets, const std::string& root) {
  std::map<pid_t, Known> all = allProcesses(root);
  std::set<pid_t> found(targets.pids.begin(), targets.pids.end());
  std::set<pid_t> by_rule;
  if (!targets.comm.empty())
    for (const auto& [pid, known] : all)
      if (known.comm == targets.comm) by_rule.insert(pid);
  if (!targets.cgroup.empty()) {
    TG_ASSIGN_OR_RETURN(
        std::string folder,
        folderOf(targets.cgroup, root, {std::begin(kHierarchies), std::end(kHierarchies)}));
    eachCgroupBelow(folder, [&](const std::string& one) { addProcs(by_rule, one); });
  }
  std::set<pid_t> roots = found;
  roots.insert(by_rule.begin(), by_rule.end());
  if (targets.children) addChildren(roots, all);
  // Processes given by number are always tried, so that an error says why one cannot be measured.
  for (pid_t pid : roots)
    if (auto it = all.find(pid); it != all.end() && hasMemory(it->second)) found.insert(pid);
  found.erase(getpid());  // of a cgroup, or as its parent's child: it would measure itself
  if (!found.empty()) return std::vector<pid_t>(found.begin(), found.end());
  if (auto why = whyProcIsNotWhole(root + "/proc")) {
    if (!targets.comm.empty())
      why->what = fmt::format("no process with the name {} is visible: {}",
                              base::printable(targets.comm), why->what);
    return std::move(*why);
  }
  if (!targets.comm.empty())
    return unreadable(
        fmt::format("there is no process with the name {}", base::printable(targets.comm)),
        "The kernel's names have at most 15 bytes. `ps -eo pid,comm` lists them");
  return unreadable(
      fmt::format("there is no process in cgroup {}", base::printable(targets.cgroup)));
}

void eachCgroupBelow(const std::string& folder,
                     const std::function<void(const std::string&)>& visit) {
  std::vector<std::string> folders{folder};
  while (!folders.empty()) {
    std::string one = std::move(folders.back());
    folders.pop_back();
    visit(one);
    std::error_code error;
    for (fs::directory_iterator it(one, error), end; !error && it != end; it.increment(error)) {
      std::error_code of_entry;
      if (it->is_directory(of_entry) && !it->is_symlink(of_entry))
        folders.push_back(it->path().string());
    }
  }
}

base::Result<std::string> memoryCgroupFolder(const std::string& cgroup, const std::string& root) {
  return folderOf(cgroup, root, {kHierarchies[2], kHierarchies[0], kHierarchies[1]});
}

}  // namespace tidegauge::wss
