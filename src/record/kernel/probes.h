// Probes: attaches the programs to the functions of each library that a watched process maps, once
// per file (device and inode), however many processes share it.
//
// A recorder that runs for weeks must not accumulate them: a library that no process maps any more
// is released, and watched again when it returns. A file that was rewritten, or that has the number
// of a deleted one, is examined again.
//
//   4711 maps libcudart.so.13 (8:1, inode 77) ─► new: LibraryProbes places its probes
//   4712 maps the same file                   ─► known: one more user
//   both are gone                             ─► released after a minute
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/incomplete.h"
#include "record/kernel/library_probes.h"
#include "record/kernel/programs.h"
#include "record/process/process_maps.h"

namespace tidegauge::record {

// The libraries among a process's mappings.
struct LibrariesOf {
  std::vector<WatchedLibrary> added;        // watched from now on
  std::vector<model::Unwatched> unwatched;  // everything that it maps, whenever that was found
  std::vector<WatchedLibrary> mapped;       // that are watched, since then or before
};

class Probes {
 public:
  explicit Probes(Programs& programs, bool framework = true);
  ~Probes();
  void detach();  // removes all probes: no more events follow
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  // Examines the process's mappings and watches new libraries.
  LibrariesOf watchLibrariesOf(uint32_t tgid);
  // Watches CUDA libraries among these files before a process maps them; paths as `tgid` sees them.
  // They are reported when one does.
  void watchFiles(uint32_t tgid, const std::vector<std::string>& paths);
  // Whether it maps a CUDA library, watched or not yet. Programs with the runtime linked in count
  // once they are watched.
  bool mapsLibraries(uint32_t tgid) const;
  // Whether some were placed since then.
  bool anyPlacedSince(int64_t time_ns) const;
  // Watches the loader of a program that is about to run, so that it reports when it maps
  // libraries.
  base::Status watchLoader(const std::string& path);
  static bool hasLoader(uint32_t tgid);  // the program that runs has one; a static one has none
  const std::vector<WatchedLibrary>& libraries() const { return libraries_; }
  // Releases files that no process of the machine has mapped for `unused_ns`, and returns their
  // paths. Call it now and then: it checks each process known to map one.
  std::vector<std::string> releaseUnused(int64_t now_ns, int64_t unused_ns);
  size_t attachedFiles() const { return attached_.size(); }

 private:
  // A file's probes in the kernel, and the processes that mapped it.
  struct Attached {
    std::string path;
    PlacedProbes probes;
    std::set<uint32_t> users;
    std::optional<int64_t> unused_since_ns;
    // Without users, as long as the recorder's root has the file: its next user misses nothing.
    bool stays = false;
  };
  // Identifies the content of a file, to detect that it changed.
  struct Stamp {
    int64_t changed_ns = 0, modified_ns = 0, bytes = 0;
  };
  struct Examined {
    bool carries = false;  // has functions that are watched
    std::optional<Stamp> stamp;
  };
  // Absent: it cannot be read.
  static std::optional<Stamp> stampOf(uint32_t tgid, const Mapping& mapping);
  bool isAsBefore(const Examined& examined, uint32_t tgid, const Mapping& mapping) const;
  void detach(FileId file);
  // Watches it; absent if there is nothing to report.
  std::optional<WatchedLibrary> examine(uint32_t tgid, const Mapping& mapping, Library kind,
                                        bool is_program);
  // Absent if the process is gone.
  std::optional<WatchedLibrary> watch(uint32_t tgid, const Mapping& mapping, Library kind);
  void watchLoaderOf(uint32_t tgid);
  // The loader itself was started, with the name of a program: "ld-linux-x86-64.so.2 ./train".
  bool runsLoader(uint32_t tgid) const;

  Programs& programs_;
  LibraryProbes library_probes_;
  bool framework_;
  std::map<FileId, Examined> known_;  // files that may have watched functions: by name, or programs
  std::set<FileId> loaders_;
  // For libraries, not for loaders.
  std::map<FileId, WatchedLibrary> watched_;
  std::map<FileId, std::vector<model::Unwatched>> unwatched_;
  std::map<FileId, Attached> attached_;
  std::map<FileId, WatchedLibrary> at_hand_;  // not reported yet
  // They stay: without them, new libraries go unnoticed. One per C library, not per program.
  std::vector<int> loader_links_;
  std::vector<WatchedLibrary> libraries_;
};

// By the name of the file: "ld-linux-x86-64.so.2". A static program has no loader, but may contain
// the functions of one.
bool isLoader(std::string_view path);

}  // namespace tidegauge::record
