// A window of several processes: what each of them touched, and all of them as one.
//
//   process a   rss 400, touched 28 ─┐
//   process b   rss 398, touched 20 ─┴─►  all, shared once: rss 471, touched 35
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wss/measure/grouping.h"
#include "wss/measure/measure.h"
#include "wss/pages/frames.h"

namespace tidegauge::wss {

struct Member {
  pid_t pid = 0;
  std::string name;  // any bytes
  const Outcome* outcome = nullptr;
};

struct SeveralWindow {
  std::vector<Member> members;
  std::optional<Once> once;   // not set: it is not known which pages are the same
  std::vector<Group> groups;  // if they were asked for
  Row all;                    // of all members
  double unix_s = 0;          // when it ended
};

struct SeveralOptions {
  std::optional<Grouping> by = std::nullopt;  // not set: no groups
  bool knows_frames = false;  // readings say where pages lie, so that shared ones count once
  bool keeps_pages = false;   // of all members, by where they lie: SeveralWindow::all
};

// `outcomes` are those of `processes`, in that order, and must outlive the answer.
SeveralWindow severalWindow(const std::deque<Process>& processes, std::span<const Outcome> outcomes,
                            const SeveralOptions& options);

}  // namespace tidegauge::wss
