#include "wss/output/rolling_windows.h"

#include "base/text_layout.h"
#include "wss/units.h"
#include "wss/words/heat_text.h"
#include "wss/words/row_json.h"

namespace tidegauge::wss {
namespace {

int64_t middleOf(const Pass& pass) { return pass.begin_ns + pass.duration_ns() / 2; }

}  // namespace

void RollingWindows::add(const Row& row) {
  if (!began_ns_) began_ns_ = row.clear.begin_ns;
  if (windows_++ != 0) unseen_ns_ += middleOf(row.clear) - last_read_ns_;
  last_read_ns_ = middleOf(row.read);
  if (windows_ == 1) first_read_ns_ = last_read_ns_;
  time_s_ = seconds(row.read.end_ns - *began_ns_);
  last_ = history_.add(row.pages);
  if (isAtLeast(row)) last_at_least_ = windows_;
  for (Rolling::Within& within : last_.within)
    within.is_at_least =
        last_at_least_ && windows_ - *last_at_least_ < static_cast<int>(within.windows);
  reuse_.add(last_);
  mappings_ = row.uses;
  if (options_.shows_heat || options_.keeps_heat)
    heat_.add(seconds(row.clear.begin_ns - *began_ns_), time_s_, row.pages);
}

std::string RollingWindows::header() const { return rollingHeader(last_, options_.window_s); }

std::string RollingWindows::rowText(const Row& row) const {
  return (windows_ == 1 ? header() : "") + rollingText(row, last_, time_s_);
}

nlohmann::json RollingWindows::rowJson(const Row& row) const {
  nlohmann::json json = rollingJson(last_, options_.window_s);
  if (options_.shows_heat) json["cells"] = cellsJson(row.pages);
  return json;
}

// From the middle of one reading to that of the next: that is what a heading stands for.
RollingPace RollingWindows::pace() const {
  if (windows_ < 2) return {};
  auto average_s = [&](int64_t ns) { return seconds(ns) / (windows_ - 1); };
  return {average_s(last_read_ns_ - first_read_ns_), average_s(unseen_ns_)};
}

std::string RollingWindows::closingText(size_t columns, bool colour) const {
  if (windows_ == 0) return {};
  double window_s = options_.window_s;
  std::string text;
  if (windows_ > 1) text += "\n" + paceText(pace(), window_s, columns);
  if (std::string reuse = reuse_.text(window_s, columns); !reuse.empty()) {
    text += "\n" + reuse;
    if (last_at_least_)
      text += base::wrapped(
          "Careful: some touches are missing, so memory may have been touched again earlier than "
          "this. What was reclaimed and came back counts as touched for the first time.",
          columns, 0, 2);
  }
  if (options_.shows_heat) text += "\n" + heatText(heat_, mappings_, columns, colour);
  return text;
}

}  // namespace tidegauge::wss
