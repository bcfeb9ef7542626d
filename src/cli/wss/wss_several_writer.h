// Writes each window of several processes as the user wants it: text, JSON, CSV.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "cli/options/output.h"
#include "cli/wss/wss_rolling.h"
#include "wss/measure/choose.h"
#include "wss/measure/grouping.h"
#include "wss/process/watched.h"
#include "wss/words/fit_text.h"
#include "wss/words/several_text.h"

namespace tidegauge::cli {

class WssSeveralWriter {
 public:
  // `knows_frames`: readings tell where pages lie, so that shared ones are counted once.
  WssSeveralWriter(const WssOptions& options, const wss::Plan& plan, const wss::Choice& choice,
                   bool knows_frames, const wss::Watched& watched, Output& out);
  // `outcomes` are those of the processes that are watched, in that order. False: nobody reads it
  // any more.
  bool rows(std::span<const wss::Outcome> outcomes);
  // What stands after all windows.
  // `unseen`: processes that began since the last window did.
  void end(const std::vector<pid_t>& unseen, const base::Status& status);
  int count() const { return count_; }

 private:
  struct Window {
    std::vector<wss::Member> members;
    std::vector<const wss::Row*> rows;
    std::vector<std::span<const wss::Frame>> frames;
    std::optional<wss::Once> once;
    std::vector<wss::Group> groups;
  };
  static std::vector<std::pair<pid_t, const wss::Row*>> rowsByPid(const Window& window);
  wss::Row rowOfAll(const Window& window) const;
  void writeText(const Window& window, const wss::Row& all);
  void writeJson(const Window& window, const wss::Row& all);
  void writeCsv(const Window& window, const wss::Row& all);
  wss::Grouping grouping() const;

  const WssOptions& options_;
  const wss::Plan& plan_;
  wss::Machine machine_;               // for text; the limit is that of the first process
  std::vector<wss::Touched> profile_;  // for text: of -P, all of them
  const wss::Watched& watched_;
  Output& out_;
  bool knows_frames_, knows_sharing_;
  nlohmann::json head_, all_ = nlohmann::json::array();
  std::unique_ptr<WssRolling> rolling_;  // if that was asked for
  int count_ = 0;
  int64_t most_stall_ns_ = 0;
};

}  // namespace tidegauge::cli
