#include "wss/words/choice_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {

std::string choiceText(const Choice& choice, size_t columns) {
  std::string text;
  if (!choice.why.empty()) text += base::wrapped("Note: " + choice.why + ".", columns, 0, 2);
  for (const std::string& limit : choice.backend->limits())
    text += base::wrapped("Careful: " + limit + ".", columns, 0, 2);
  return text;
}

std::string stallText(int64_t stall_ns, double most_ms, std::string_view who, size_t columns) {
  if (milliseconds(stall_ns) <= most_ms) return {};
  return base::wrapped(
      fmt::format("Careful: mmap, munmap and brk of {} waited for up to {:.1f} ms, more "
                  "than the {:g} of --max-stall-ms.",
                  who, milliseconds(stall_ns), most_ms),
      columns, 0, 2);
}

std::string dryText(const Process& process, const Choice& choice, size_t columns) {
  std::string text;
  auto say = [&](const std::string& words) { text += base::wrapped(words, columns, 0, 2); };
  const Backend& backend = *choice.backend;
  say(fmt::format("wss would measure {} (process {}, {} resident) with the back-end {}: {}.",
                  base::printable(process.name()), process.pid(),
                  base::humanBytes(process.resident().bytes), backend.name(), backend.how()));
  if (auto cost = predictedFor(backend, process))
    say(fmt::format(
        "Each window takes about {:.1f} ms of CPU time and may stall mmap, munmap and brk of the "
        "process for {:.1f} ms.",
        milliseconds(cost->cpu_ns), milliseconds(cost->stall_ns)));
  else
    say("The cost of a window is unknown in advance.");
  text += choiceText(choice, columns);
  say("Nothing was measured, and the process was not changed.");
  return text;
}

std::string dryText(const std::deque<Process>& processes, const Choice& choice, size_t columns) {
  std::string text;
  auto say = [&](const std::string& words) { text += base::wrapped(words, columns, 0, 2); };
  uint64_t rss_bytes = 0;
  Cost all;
  for (const Process& process : processes) {
    uint64_t its_bytes = process.resident().bytes;
    rss_bytes += its_bytes;
    auto cost = predictedFor(*choice.backend, process).value_or(Cost{});
    all.cpu_ns += cost.cpu_ns;
    all.stall_ns = std::max(all.stall_ns, cost.stall_ns);
    say(fmt::format("{} (process {}), {} resident", base::printable(process.name()), process.pid(),
                    base::humanBytes(its_bytes)));
  }
  say(fmt::format(
      "wss would measure {} with {} resident (shared memory counts more than once), with the "
      "back-end {}: {}.",
      processes.size() == 1 ? "one process" : fmt::format("{} processes", processes.size()),
      base::humanBytes(rss_bytes), choice.backend->name(), choice.backend->how()));
  say(fmt::format(
      "Each window takes about {:.1f} ms of CPU time and may stall mmap, munmap and brk of a "
      "process for {:.1f} ms.",
      milliseconds(all.cpu_ns), milliseconds(all.stall_ns)));
  text += choiceText(choice, columns);
  say("Nothing was measured, and the processes were not changed.");
  return text;
}

}  // namespace tidegauge::wss
