#include "wss/words/compat_text.h"

#include <fmt/format.h>

#include "wss/units.h"

namespace tidegauge::wss {
namespace {

std::string firstLine(const Plan& plan, const CompatWords& words) {
  switch (plan.course) {
    case Course::kProfile:
      return fmt::format(
          "Watching PID {} page references grow, profile beginning with {} seconds, {} steps...\n",
          words.pid, words.duration, words.steps);
    case Course::kCumulative:
      return fmt::format("Watching PID {} page references grow, output every {} seconds...\n",
                         words.pid, words.duration);
    case Course::kSnapshots:
      if (plan.pause_ns == 0)
        return fmt::format("Watching PID {} page references for every {} seconds...\n", words.pid,
                           words.duration);
      return fmt::format(
          "Watching PID {} page references for {} seconds, repeating after {} second pauses...\n",
          words.pid, words.duration, words.pause);
    case Course::kSingle:
      break;
  }
  return fmt::format("Watching PID {} page references during {} seconds...\n", words.pid,
                     words.duration);
}

}  // namespace

std::string compatHeader(const Plan& plan, const CompatWords& words, bool more_times) {
  std::string text = firstLine(plan, words);
  if (more_times) text += fmt::format("{:<7} {:<7} ", "Slp(s)", "Dur(s)");
  return text +
         fmt::format("{:<7} {:>10} {:>10} {:>10}\n", "Est(s)", "RSS(MB)", "PSS(MB)", "Ref(MB)");
}

std::string compatRow(const Row& row, bool more_times) {
  std::string text;
  if (more_times)
    text = fmt::format("{:<7.3f} {:<7.3f} ", seconds(row.slept_ns), seconds(row.taken_ns));
  return text + fmt::format("{:<7.3f} {:>10.2f} {:>10.2f} {:>10.2f}\n", seconds(row.estimate_ns),
                            mib(row.sums.rss), mib(row.sums.pss), mib(row.sums.referenced));
}

}  // namespace tidegauge::wss
