// Probes: puts the programs onto the functions of each library that a watched process maps, once
// per file (device and inode), however many processes share it.
//
// A recorder that lives for weeks must not collect them: what no process maps any more is let go,
// and watched again when it comes again. A file that is written anew, or that has the number of one
// that is gone, is looked at again.
//
//   libcuda.so.1, 61 functions ─► memory_enter, memory_exit, context_…, copy_…, launch_enter: one
//   uprobe_multi link each, about 10 ms for all; a link per function would take minutes to detach.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/incomplete.h"
#include "record/kernel/functions.h"
#include "record/kernel/programs.h"
#include "record/process/process_maps.h"

struct bpf_link;

namespace tidegauge::record {

// What came of one library: for messages, `doctor` and the recording.
struct WatchedLibrary {
  FileId file;
  std::string path;  // as the process saw it
  std::string build_id;
  Library kind = Library::kDriver;
  size_t functions = 0;               // found and watched
  size_t behind_stub = 0;             // of them, probed behind the stub (see probeSkip)
  std::vector<std::string> problems;  // "no symbols: it is stripped"
  // What of it is not watched, the same for every process that maps it.
  std::vector<model::Unwatched> unwatched;
};

// What is there of what a process has mapped.
struct LibrariesOf {
  std::vector<WatchedLibrary> added;        // watched from now on
  std::vector<model::Unwatched> unwatched;  // of all that it maps, whenever that was found
  std::vector<Library> kinds;               // that are watched
};

class Probes {
 public:
  explicit Probes(Programs& programs, bool framework = true);
  ~Probes();
  void letGo();  // all probes: nothing comes any more
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  // Looks at what the process has mapped and watches what is new.
  LibrariesOf watchLibrariesOf(uint32_t tgid);
  // Whether it has a library of CUDA mapped, watched or not yet. Programs with the runtime inside
  // count once they are watched.
  bool mapsLibraries(uint32_t tgid) const;
  // The loader of a program that is about to run: so that it says when it maps libraries.
  base::Status watchLoader(const std::string& path);
  const std::vector<WatchedLibrary>& libraries() const { return libraries_; }
  // Lets go of the files that none of the processes maps which did, nor any other of the machine,
  // for `unused_ns` by now. Their paths. Call it now and then: one look at each process known to
  // map one.
  std::vector<std::string> letGoOfUnused(int64_t now_ns, int64_t unused_ns);
  size_t attachedFiles() const { return attached_.size(); }

 private:
  // What of a file is in the kernel, and who was seen to map it.
  struct Attached {
    std::string path;
    std::vector<int> links;
    std::vector<bpf_link*> framework_links;
    std::set<uint32_t> users;
    std::optional<int64_t> unused_since_ns;
    void letGo();
  };
  // By which content is told from what was there before.
  struct Stamp {
    int64_t changed_ns = 0, modified_ns = 0, bytes = 0;
  };
  struct Examined {
    bool carries = false;  // something that is watched
    std::optional<Stamp> stamp;
  };
  // None: it cannot be looked at.
  static std::optional<Stamp> stampOf(uint32_t tgid, const Mapping& mapping);
  bool isAsBefore(const Examined& examined, uint32_t tgid, const Mapping& mapping) const;
  void letGo(FileId file);
  // Nothing if the process is gone.
  std::optional<WatchedLibrary> watch(uint32_t tgid, const Mapping& mapping, Library kind);
  void attachFunctions(const std::string& path, WatchedLibrary& library, Attached& attached);
  void attachFramework(const std::string& path, WatchedLibrary& library, Attached& attached);
  void watchLoaderOf(uint32_t tgid);

  Programs& programs_;
  bool framework_;
  std::map<FileId, Examined> known_;  // of those that may carry something: by name, or programs
  std::set<FileId> loaders_;
  // Of libraries, not of loaders.
  std::map<FileId, Library> watched_;
  std::map<FileId, std::vector<model::Unwatched>> unwatched_;
  std::map<FileId, Attached> attached_;
  // They stay: without them nobody tells that libraries come. One per C library, not per program.
  std::vector<int> loader_links_;
  std::vector<WatchedLibrary> libraries_;
};

// Which figures need the functions of a library.
model::FigureSet figuresOf(Library library);

// By the name of the file: "libcudart.so.13", "libcudart-a1b2c3.so.12", "libcuda.so.1"; nullopt for
// any other, which is watched only if it is the program itself and has the runtime linked in.
std::optional<Library> libraryKind(std::string_view path);

}  // namespace tidegauge::record
