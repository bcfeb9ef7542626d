#include "record/kernel/library_probes.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "record/code/elf_file.h"
#include "record/code/static_probes.h"

namespace tidegauge::record {
namespace {

// The programs that watch a group of functions; nullptr: none there.
struct Pair {
  FunctionGroup group;
  const char* at_entry;
  const char* at_return;
};
constexpr std::array<Pair, 5> kPairs = {{
    {FunctionGroup::kMemory, "memory_enter", "memory_exit"},
    {FunctionGroup::kContext, "context_enter", "context_exit"},
    {FunctionGroup::kCopy, "copy_enter", "copy_exit"},
    {FunctionGroup::kLaunch, "launch_enter", nullptr},
    {FunctionGroup::kName, "name_enter", "name_exit"},
}};

// Every program built by nvcc has its kernels there. If the runtime is a separate library, it also
// imports the function that registers them.
constexpr const char* kKernelsSection = ".nv_fatbin";
constexpr const char* kCannotProbe = "its first instruction cannot be probed";
constexpr const char* kRegisters = "__cudaRegisterFatBinary";

struct Places {
  std::vector<uint64_t> offsets, cookies;
  std::vector<uint64_t> counters;  // of static probes
  std::vector<std::string_view> names;

  Places part(size_t begin, size_t end) const {
    auto cut = [&](const auto& list) {
      if (list.empty()) return list;
      return std::decay_t<decltype(list)>(list.begin() + static_cast<std::ptrdiff_t>(begin),
                                          list.begin() + static_cast<std::ptrdiff_t>(end));
    };
    return {cut(offsets), cut(cookies), cut(counters), cut(names)};
  }
};

// A function has two probes, which fail alike: noted once.
void noteUnwatched(std::string_view name, const std::string& why, WatchedLibrary& library) {
  for (const model::Unwatched& known : library.unwatched)
    if (known.function == name) return;
  model::Unwatched unwatched;
  unwatched.library = library.path;
  unwatched.function = name;
  unwatched.reason = why;
  for (const WatchedFunction& function : watchedFunctions())
    if (function.library == library.kind && function.name == name)
      unwatched.figures.add(function.figures());
  library.unwatched.push_back(std::move(unwatched));
}

// One link for all. If the kernel refuses (it cannot probe some instructions, for example those
// with a lock prefix), the list is halved until only the functions at fault are left out.
void attachPlaces(const Programs& programs, const char* program, const std::string& path,
                  const Places& list, bool at_return, std::vector<int>& links,
                  WatchedLibrary& library) {
  if (!programs.linksMany() && list.offsets.size() > 1) {
    for (size_t i = 0; i < list.offsets.size(); ++i)
      attachPlaces(programs, program, path, list.part(i, i + 1), at_return, links, library);
    return;
  }
  int link =
      programs.attachMany(program, path, list.offsets, list.cookies, at_return, list.counters);
  if (link >= 0) {
    links.push_back(link);
  } else if (size_t count = list.offsets.size(); count > 1 && link != -EMFILE && link != -ENOMEM) {
    attachPlaces(programs, program, path, list.part(0, count / 2), at_return, links, library);
    attachPlaces(programs, program, path, list.part(count / 2, count), at_return, links, library);
  } else {
    std::string why = link == -524 ? kCannotProbe : std::strerror(-link);  // ENOTSUPP
    for (std::string_view name : list.names) noteUnwatched(name, why, library);
    std::string problem = fmt::format("{} is not watched: {}", list.names[0], why);
    if (count > 1) problem = fmt::format("{} functions are not watched: {}", count, why);
    if (library.problems.empty() || library.problems.back() != problem)
      library.problems.push_back(std::move(problem));
  }
}

}  // namespace

std::optional<Library> libraryKind(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.find(".so") == std::string_view::npos) return std::nullopt;
  if (name.starts_with("libcudart.") || name.starts_with("libcudart-")) return Library::kRuntime;
  if (name.starts_with("libcuda.") || name.starts_with("libcuda-")) return Library::kDriver;
  if (name.starts_with("libc10_cuda.")) return Library::kFramework;
  return std::nullopt;
}

model::FigureSet figuresOf(Library library) {
  model::FigureSet figures;
  for (const WatchedFunction& function : watchedFunctions())
    if (function.library == library) figures.add(function.figures());
  return figures;
}

void noteUnwatchedLibrary(const std::string& why, model::FigureSet figures,
                          WatchedLibrary& library) {
  library.problems.push_back(why);
  library.unwatched.push_back({{}, {}, 0, library.path, {}, figures, why});
}

PlacedProbes LibraryProbes::place(const std::string& path, WatchedLibrary& library) {
  return library.kind == Library::kFramework ? placeOnFramework(path, library)
                                             : placeOnFunctions(path, library);
}

PlacedProbes LibraryProbes::placeOnFunctions(const std::string& path,
                                             WatchedLibrary& library) const {
  PlacedProbes placed;
  auto opened = ElfFile::open(path);
  bool is_program = !libraryKind(library.path);
  if (!opened.ok()) {
    if (is_program)
      library.problems.push_back(opened.error().what);
    else
      noteUnwatchedLibrary(opened.error().what, figuresOf(library.kind), library);
    return placed;
  }
  const ElfFile& file = opened.value();
  library.build_id = file.buildId();
  std::vector<std::string_view> wanted;
  for (const WatchedFunction& function : watchedFunctions())
    if (function.library == library.kind) wanted.push_back(function.name);
  auto offsets = file.functions(wanted);
  if (offsets.empty()) {
    if (!is_program) {
      noteUnwatchedLibrary("none of the watched functions: it is stripped, or of another kind",
                           figuresOf(library.kind), library);
    } else if (file.hasSection(kKernelsSection) && !file.mentions(kRegisters)) {
      // The driver's functions still show what it does, but not the names of its kernels.
      noteUnwatchedLibrary("the CUDA runtime is linked in and has no symbols: it is stripped",
                           {model::Figures::kKernelNames}, library);
    }
    return placed;
  }
  std::map<std::pair<const char*, bool>, Places> places;  // program, at return
  for (const WatchedFunction& function : watchedFunctions()) {
    auto found = offsets.find(function.name);
    if (function.library != library.kind || found == offsets.end()) continue;
    uint64_t skip =
        library.kind == Library::kDriver ? probeSkip(file.bytesAt(found->second, 16)) : 0;
    library.functions += 1;
    // A link with one that is refused would be taken back, and that waits for programs that are
    // held.
    if (hasBadPrefix(file.bytesAt(found->second + skip, 16))) {
      noteUnwatched(function.name, kCannotProbe, library);
      library.problems.push_back(fmt::format("{} is not watched: {}", function.name, kCannotProbe));
      continue;
    }
    library.after_stub += skip > 0;
    auto add = [&](const char* program, bool at_return) {
      Places& list = places[{program, at_return}];
      list.offsets.push_back(found->second + skip);
      list.cookies.push_back(function.cookie);
      list.names.push_back(function.name);
    };
    if (function.at_entry) {
      add("name_given", false);
      continue;
    }
    for (const Pair& pair : kPairs) {
      if (pair.group != function.group) continue;
      add(pair.at_entry, false);
      if (pair.at_return != nullptr) add(pair.at_return, true);
    }
  }
  // Returns first: then a call between the two links is a return without its entry, which is
  // counted, and never an entry that waits forever.
  for (bool at_return : {true, false}) {
    for (const auto& [key, list] : places)
      if (key.second == at_return)
        attachPlaces(programs_, key.first, path, list, at_return, placed.links, library);
  }
  library.functions -= std::min(library.functions, library.unwatched.size());
  return placed;
}

PlacedProbes LibraryProbes::placeOnFramework(const std::string& path, WatchedLibrary& library) {
  PlacedProbes placed;
  auto opened = ElfFile::open(path);
  if (!opened.ok()) {
    noteUnwatchedLibrary(opened.error().what, figuresOf(library.kind), library);
    return placed;
  }
  library.build_id = opened.value().buildId();
  for (auto [program, probe] : {std::pair{"pytorch_malloc", "malloc"}, {"pytorch_free", "free"}}) {
    Places places;
    std::vector<StaticProbe> found = staticProbes(opened.value(), "pytorch", probe);
    for (const StaticProbe& it : found) {
      uint32_t cookie = ++last_place_;
      if (!it.place || bpf_map_update_elem(programs_.mapDescriptor("probe_places"), &cookie,
                                           &*it.place, BPF_ANY) != 0)
        continue;
      placed.places.push_back(cookie);
      places.offsets.push_back(it.offset);
      places.cookies.push_back(cookie);
      places.counters.push_back(it.semaphore);
      places.names.emplace_back(program);
    }
    std::string name = fmt::format("pytorch:{}", probe);
    if (places.offsets.size() < std::max<size_t>(found.size(), 1))
      noteUnwatchedLibrary(found.empty() ? fmt::format("no probe {}", name)
                                         : fmt::format("the arguments of {} cannot be read", name),
                           {model::Figures::kBlocks}, library);
    if (places.offsets.empty()) continue;
    size_t before = library.unwatched.size();
    attachPlaces(programs_, program, path, places, false, placed.links, library);
    library.functions += library.unwatched.size() == before;
  }
  return placed;
}

void PlacedProbes::detach(const Programs& programs) {
  for (int link : links) close(link);
  links.clear();
  for (uint32_t place : places) bpf_map_delete_elem(programs.mapDescriptor("probe_places"), &place);
  places.clear();
}

}  // namespace tidegauge::record
