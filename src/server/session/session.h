// What `tidegauge view` has open: the files, and everything computed once per file.
//
// A growing recording is read again in the background (follower.h). Each reading makes new
// OpenFiles with a new generation in a new Session. Requests name the generation, so that answers
// from two generations are never mixed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "analysis/compare/diff.h"
#include "analysis/layout/fragmentation.h"
#include "analysis/layout/fragmentation_series.h"
#include "analysis/trace/analysed_trace.h"
#include "model/live/live_snapshot.h"
#include "query/database.h"
#include "server/session/earlier_maps.h"
#include "server/session/kept.h"
#include "server/session/tile_shelf.h"
#include "server/session/what_if_board.h"
#include "view/filter/filter_set.h"
#include "view/filter/mark_set.h"
#include "view/map/address_map.h"
#include "view/tables/table.h"
#include "view/timeline/siblings.h"

namespace tidegauge::server {

// The last marks of a file, by number. Thread-safe.
class MarkStore {
 public:
  static constexpr size_t kKept = 16;

  // Numbers of different files differ, so that no number is taken for another file's mark.
  explicit MarkStore(size_t file_id)
      : next_(static_cast<uint32_t>(file_id * kNumbersPerFile + 1)) {}
  // For the next generation of a file: its numbers continue after those of the last one.
  void continueFrom(const MarkStore& before);

  uint32_t add(std::shared_ptr<const view::MarkSet> mark);
  // nullptr if there is no mark with that number, or no longer.
  std::shared_ptr<const view::MarkSet> find(int64_t number) const;

 private:
  static constexpr size_t kNumbersPerFile = 1'000'000;
  struct Entry {
    uint32_t number;
    std::shared_ptr<const view::MarkSet> mark;
  };
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  uint32_t next_;
};

// Texts that are computed on first use. Thread-safe; concurrent callers wait.
class TextCache {
 public:
  std::string get(const std::string& key, const std::function<std::string()>& compute);

 private:
  struct Entry {
    std::once_flag once;
    std::string text;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

struct OpenFile {
  size_t id;
  std::string name;         // short, and different from those of the other files
  uint64_t generation = 0;  // 0: as first opened
  std::string recording{};  // path of the recording that contains the process; empty: a snapshot
  std::string
      replay_of{};  // settings of the replay that made it (replay_answers.cpp); empty: a file
  std::unique_ptr<const analysis::AnalysedTrace> analysed;
  MarkStore marks;
  TextCache texts;
  TileShelf tiles;
  WhatIfBoard what_ifs;
  Kept<std::string> frag_texts{4};                        // by device and number of samples
  Kept<analysis::FragmentationSeries> frag_slices{8};     // by device
  Kept<std::string> forecast_texts{400};                  // … and arena and slice; 1 KiB each
  Kept<analysis::FragmentationOptions> frag_options{64};  // by device
  Kept<view::FilterSet> filters{8};
  Kept<std::vector<model::Step>> event_lists{8};  // by device and filter
  Kept<view::Table> tables{6};                    // by name, device and filter
  Kept<std::vector<uint32_t>> table_orders{8};    // … and column
  Kept<view::AddressMap> maps{16};                // by device and kind of axis
  EarlierMaps earlier_maps;
  Kept<view::MapGrid> map_grids{2};  // … and filter; up to 64 MiB each

  // `whole` of the recording that contains the process; null: a snapshot.
  OpenFile(size_t file_id, std::string short_name,
           std::unique_ptr<const analysis::AnalysedTrace> trace,
           const query::Whole& whole = nullptr);
  std::shared_ptr<const query::Database> database() const;
  // Updates the recording's facts about all processes, while this one has nothing new.
  void tell(const query::Whole& whole);
  // Counted on first use.
  const view::Siblings& siblings();

 private:
  mutable std::mutex database_mutex_;
  std::shared_ptr<const query::Database> database_;
  std::once_flag siblings_once_;
  std::unique_ptr<const view::Siblings> siblings_;
};

// A file of the command line that could not be read. The page reports it.
struct FailedFile {
  std::string path;
  std::string what;  // with the byte offset, if there is one
  std::string hint;  // may be empty
};

// A file of measurements of `wss`; the page's data was computed when it was opened.
struct WorkingSetFile {
  std::string path;
  std::string answer;  // JSON
};

class RecordingBoard;  // recording_board.h

struct Session {
  std::vector<std::shared_ptr<OpenFile>> files;  // by id; older sessions may share them
  std::shared_ptr<RecordingBoard> board;         // of the recordings among them; null: none
  std::vector<FailedFile> failed;
  // Sources of live data: the recordings among the files, or a recorder without any file.
  std::vector<std::shared_ptr<model::LiveSource>> lives;
  std::shared_ptr<const std::vector<WorkingSetFile>> working_sets =
      std::make_shared<const std::vector<WorkingSetFile>>();
  // For places in these files; behind a pointer, so that a session can be moved.
  std::unique_ptr<Kept<analysis::Diff>> diffs = std::make_unique<Kept<analysis::Diff>>(6);
  // Computes what the first picture would wait for. Last, so that it ends before the files do.
  std::jthread warming;
};
Session openSession(std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces,
                    std::vector<FailedFile> failed = {});
// The same files and their data, for a session that gets additional or newer ones.
Session successorOf(const Session& session);
// Computes in the background what the first picture of these files would wait for.
void warm(Session& session, const std::vector<std::shared_ptr<OpenFile>>& files);

}  // namespace tidegauge::server
