// A growing recording: its state, its generations, and where a selection from an older generation
// is now.
#include <algorithm>

#include "server/session/questions.h"
#include "server/session/recording_board.h"
#include "server/wire/follow_json.h"
#include "view/map/moved.h"

namespace tidegauge::server {
namespace {

double secondsSince(RecordingStatus::Clock::time_point when) {
  return std::chrono::duration<double>(RecordingStatus::Clock::now() - when).count();
}

json orNull(std::optional<uint32_t> row) { return row ? json(*row) : json(); }

}  // namespace

std::string_view name(RecordingState state) {
  switch (state) {
    case RecordingState::kRecording:
      return "recording";
    case RecordingState::kEnded:
      return "ended";
    case RecordingState::kStopped:
      break;
  }
  return "stopped";
}

json recordingOf(const Session& session, const OpenFile& file) {
  if (session.board == nullptr || file.recording.empty()) return nullptr;
  std::vector<RecordingStatus> all = session.board->all();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].path == file.recording) return i;
  }
  return nullptr;
}

json recordingsJson(const Session& session) {
  json recordings = json::array();
  if (session.board == nullptr) return recordings;
  for (const RecordingStatus& one : session.board->all()) {
    uint64_t events = 0;
    for (const auto& file : session.files) {
      if (file->recording == one.path) events += file->analysed->trace.events.size();
    }
    recordings.push_back({{"path", shownText(one.path)},
                          {"state", name(one.state)},
                          {"events", events},
                          {"changed_s", secondsSince(one.changed_at)},
                          {"behind", one.behind},
                          {"read_s", one.read_s},
                          {"wait_s", one.wait_s},
                          {"error", one.error.empty() ? json() : json(shownText(one.error))}});
  }
  return recordings;
}

base::Result<Response> answerFollow(const Question& question) {
  if (question.session.board != nullptr) question.session.board->ask();
  json generations = json::array();
  for (const auto& file : question.session.files) generations.push_back(file->generation);
  return jsonResponse(
      {{"gens", std::move(generations)}, {"recordings", recordingsJson(question.session)}});
}

base::Result<Response> answerMoved(const Question& question) {
  TG_ASSIGN_OR_RETURN(OpenFile * file, fileOf(question));
  const Params& params = question.params;
  if (params.find("from") == nullptr) return notUsable("from must be a generation of the file");
  TG_ASSIGN_OR_RETURN(int64_t allocation, params.integer("allocation", 0, UINT32_MAX - 1, -1));
  TG_ASSIGN_OR_RETURN(int64_t segment, params.integer("segment", 0, UINT32_MAX - 1, -1));
  std::optional<uint32_t> allocation_now;
  std::optional<uint32_t> segment_now;
  if (question.before != nullptr && file->id < question.before->files.size()) {
    const model::Trace& old = question.before->files[file->id]->analysed->trace;
    const model::Trace& now = file->analysed->trace;
    if (allocation >= 0) {
      allocation_now = view::movedAllocation(old, now, static_cast<uint32_t>(allocation));
    }
    if (segment >= 0) segment_now = view::movedSegment(old, now, static_cast<uint32_t>(segment));
  }
  return jsonResponse({{"allocation", orNull(allocation_now)}, {"segment", orNull(segment_now)}});
}

}  // namespace tidegauge::server
