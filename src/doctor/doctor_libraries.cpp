// The CUDA libraries on this machine, and how much of them can be watched.
#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

#include "base/format.h"
#include "doctor/doctor.h"
#include "record/code/elf_file.h"
#include "record/kernel/probes.h"
#include "record/process/running_process.h"

namespace tidegauge::doctor {
namespace {

using namespace std::string_view_literals;

constexpr uint8_t kLockPrefix = 0xf0;

constexpr size_t kMaxListBytes = size_t{16} << 20;

std::string_view nameOf(record::Library kind) {
  return kind == record::Library::kDriver    ? "driver"
         : kind == record::Library::kRuntime ? "runtime"
                                             : "PyTorch";
}

// The output of `ldconfig -p`: libraries that programs find by name.
std::string loaderList() {
  std::FILE* pipe = popen("PATH=/sbin:/usr/sbin:/bin:/usr/bin ldconfig -p 2>/dev/null", "r");
  if (pipe == nullptr) return {};
  std::string text(kMaxListBytes, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), pipe));
  pclose(pipe);
  return text;
}

// "libcuda.so.1", not "libcuda.so.1.map".
bool isLibraryName(std::string_view name) {
  size_t end = name.rfind(".so");
  return record::libraryKind(name) && end != std::string_view::npos &&
         name.find_first_not_of(".0123456789", end + 3) == std::string_view::npos;
}

std::vector<std::string> librariesOfFolders(std::string_view folders) {
  std::vector<std::string> paths;
  while (!folders.empty()) {
    size_t end = folders.find_first_of(":;");
    std::string folder(folders.substr(0, end));
    folders = end == std::string_view::npos ? std::string_view() : folders.substr(end + 1);
    DIR* open = folder.empty() ? nullptr : opendir(folder.c_str());
    if (open == nullptr) continue;
    while (dirent* entry = readdir(open))
      if (isLibraryName(entry->d_name)) paths.push_back(folder + "/" + entry->d_name);
    closedir(open);
  }
  return paths;
}

class Finder {
 public:
  // The file at `path`, known to users as `shown`.
  void add(const std::string& path, const std::string& shown, bool is_program, bool in_use) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return;
    record::FileId id{status.st_dev, status.st_ino};
    auto [found, is_new] = places_.try_emplace(id, kNone);
    if (is_new) {
      auto library = examineLibrary(path, shown, is_program);
      if (!library) return;
      found->second = all_.size();
      all_.push_back(std::move(*library));
    }
    if (found->second != kNone && in_use) all_[found->second].processes += 1;
  }

  void addProcess(uint32_t pid) {
    std::string program = record::programOf(pid);
    std::set<record::FileId> seen;
    for (const record::Mapping& mapping : record::executableMappings(pid)) {
      bool is_program = mapping.path == program;
      if ((is_program || record::libraryKind(mapping.path)) && seen.insert(mapping.file).second)
        add(pathFromHere(pid, mapping), mapping.path, is_program, true);
    }
  }

  std::vector<ExaminedLibrary> take() {
    std::stable_sort(all_.begin(), all_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.kind, a.path) < std::tie(b.kind, b.path);
    });
    return std::move(all_);
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  std::map<record::FileId, size_t> places_;
  std::vector<ExaminedLibrary> all_;
};

}  // namespace

std::vector<std::string> librariesOfLoader(std::string_view list) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    size_t end = list.find('\n');
    std::string_view line = list.substr(0, end);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
    size_t arrow = line.find(" => ");
    if (arrow == std::string_view::npos) continue;
    std::string_view path = line.substr(arrow + 4);
    if (record::libraryKind(path)) paths.emplace_back(path);
  }
  return paths;
}

std::optional<ExaminedLibrary> examineLibrary(const std::string& path, const std::string& shown,
                                              bool is_program) {
  std::optional<record::Library> kind = record::libraryKind(shown);
  if (!kind && is_program) kind = record::Library::kRuntime;
  if (!kind) return std::nullopt;
  ExaminedLibrary it;
  it.path = shown;
  it.kind = *kind;
  auto opened = record::ElfFile::open(path);
  if (*kind == record::Library::kFramework) it.known = 2;
  std::vector<std::string_view> wanted;
  for (const record::WatchedFunction& function : record::watchedFunctions())
    if (function.library == *kind) wanted.push_back(function.name);
  if (*kind != record::Library::kFramework) it.known = wanted.size();
  if (!opened.ok()) {
    if (is_program) return std::nullopt;
    it.problem = opened.error().what;
    return it;
  }
  const record::ElfFile& file = opened.value();
  if (*kind == record::Library::kFramework) {
    for (std::string_view probe : {"pytorch\0malloc\0"sv, "pytorch\0free\0"sv})
      it.functions += file.hasNote(".note.stapsdt", probe);
  } else {
    auto found = file.functions(wanted);
    it.functions = found.size();
    if (*kind == record::Library::kDriver)
      for (const auto& [symbol, offset] : found)
        it.after_stub += record::probeSkip(file.bytesAt(offset, 16)) > 0;
    for (const auto& [symbol, offset] : found)
      it.locked += file.bytesAt(offset, 1) == std::vector<uint8_t>{kLockPrefix};
  }
  if (is_program && it.functions == 0) return std::nullopt;
  return it;
}

std::vector<ExaminedLibrary> findLibraries(const std::vector<std::string>& more) {
  Finder finder;
  for (const std::string& path : more) finder.add(path, path, false, false);
  for (const std::string& path : librariesOfLoader(loaderList()))
    finder.add(path, path, false, false);
  if (const char* folders = std::getenv("LD_LIBRARY_PATH"); folders != nullptr)
    for (const std::string& path : librariesOfFolders(folders))
      finder.add(path, path, false, false);
  for (uint32_t pid : record::runningProcesses()) finder.addProcess(pid);
  return finder.take();
}

std::vector<Finding> judge(const std::vector<ExaminedLibrary>& libraries) {
  std::vector<Finding> all;
  bool has_driver = false;
  for (const ExaminedLibrary& it : libraries) {
    has_driver |= it.kind == record::Library::kDriver && it.functions > 0;
    bool is_framework = it.kind == record::Library::kFramework;
    Finding finding{Verdict::kOk, it.path, {}, {}, {}};
    finding.found = fmt::format("{}: {} of {} {}", nameOf(it.kind), it.functions, it.known,
                                is_framework ? "probes" : "functions");
    if (it.kind == record::Library::kDriver && it.functions > 0)
      finding.found += fmt::format(", {} probed behind the stub", it.after_stub);
    if (it.processes > 0)
      finding.found += fmt::format("; in {} {}", base::withCommas(it.processes),
                                   it.processes == 1 ? "process" : "processes");
    if (!it.problem.empty()) {
      finding.verdict = Verdict::kMissing;
      finding.means = it.problem;
    } else if (it.functions == 0) {
      finding.verdict = Verdict::kMissing;
      finding.means =
          is_framework
              ? "it has no probes, so record cannot see PyTorch's blocks"
              : "it contains none of the watched functions, because it is stripped or another "
                "library";
      finding.remedy = is_framework ? "Use PyTorch's own builds, 2.2 or newer, for Linux" : "";
    } else if (it.locked > 0) {
      finding.verdict = Verdict::kLimited;
      finding.means = fmt::format(
          "the kernel cannot probe {} of them (a lock prefix at the start), so figures that need "
          "them are marked as incomplete",
          it.locked);
    } else if (it.kind == record::Library::kDriver && it.after_stub == 0) {
      finding.verdict = Verdict::kLimited;
      finding.means =
          "no stub was recognised, so probes are on the first instruction and a call may take "
          "about 10 µs more";
    }
    all.push_back(std::move(finding));
  }
  if (!has_driver)
    all.insert(all.begin(),
               {Verdict::kLimited, "libcuda.so.1", "neither the loader nor any process has it",
                "there is no CUDA to record, unless a container contains its own",
                "Install NVIDIA's driver, or check a library with tidegauge doctor PATH"});
  return all;
}

}  // namespace tidegauge::doctor
