// RecordingFollower: the figures of a recording file while it grows, and after. Each look reads
// only the rows that are new since the last one, never more than 200,000 of them: a long file takes
// some looks, and says how far it is.
//
//   RecordingFollower follower("run.sqlite");
//   follower.look({})   →  LiveSnapshot        reads nothing between looks, holds no lock
//
// A file that was replaced under its name is begun anew. Of the file only plain tables are read, as
// in open_recording.h. Cost: some ms per look, 2 µs per new call; a descriptor of the file.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "model/live/live_snapshot.h"
#include "readers/recording/recording_books.h"

namespace tidegauge::readers::recording {

class RecordingFollower final : public model::LiveSource {
 public:
  explicit RecordingFollower(std::string path);
  base::Result<model::LiveSnapshot> look(const model::LiveWish& wish) override;
  std::string name() const override { return path_; }
  bool isMonitor() const override { return false; }

 private:
  base::Status findFile();
  base::Result<model::LiveSnapshot> lookOnce(const model::LiveWish& wish);

  std::string path_;
  std::mutex mutex_;
  std::unique_ptr<RecordingBooks> books_;
};

}  // namespace tidegauge::readers::recording
