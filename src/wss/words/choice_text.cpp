#include "wss/words/choice_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {

std::string choiceText(const Choice& choice, size_t columns) {
  std::string text;
  if (!choice.why.empty()) text += base::wrapped("Note: " + choice.why + ".", columns, 0, 2);
  std::string limits = fmt::format("{}", fmt::join(choice.backend->limits(), "; "));
  if (!limits.empty()) text += base::wrapped("Careful: " + limits + ".", columns, 0, 2);
  return text;
}

std::string stallSentence(const Cost& most, double most_ms, std::string_view who) {
  bool is_stop = most.stopped_ns > 0;
  double longest_ms = milliseconds(is_stop ? most.stopped_ns : most.stall_ns);
  bool is_too_long = longest_ms > most_ms;
  if (!is_stop && !is_too_long) return {};
  std::string words =
      is_stop
          ? fmt::format("{} stood still for up to {:.1f} ms in a window (--exact-window)", who,
                        longest_ms)
          : fmt::format("mmap, munmap and brk of {} waited for up to {:.1f} ms", who, longest_ms);
  if (is_too_long)
    return fmt::format("Careful: {}, more than the {:g} of --max-stall-ms.", words, most_ms);
  words[0] = static_cast<char>(std::toupper(words[0]));
  return words + ".";
}

std::string cautionText(const std::vector<std::string>& sentences, size_t columns) {
  constexpr std::string_view kCareful = "Careful: ";
  std::string words;
  bool is_careful = false;
  for (const std::string& sentence : sentences) {
    if (sentence.empty()) continue;
    std::string_view rest = sentence;
    if (is_careful && rest.starts_with(kCareful)) rest.remove_prefix(kCareful.size());
    is_careful |= rest.size() < sentence.size() || rest.starts_with(kCareful);
    if (!words.empty()) words += ' ';
    words += rest.size() == sentence.size() ? rest[0] : static_cast<char>(std::toupper(rest[0]));
    words += rest.substr(1);
  }
  return words.empty() ? words : base::wrapped(words, columns, 0, 2);
}

std::string costText(const Cost& cost, std::string_view who) {
  return fmt::format("Each window takes about {:.1f} ms of CPU time and {} {} for {:.1f} ms.",
                     milliseconds(cost.cpu_ns),
                     cost.stopped_ns > 0 ? "stops" : "may stall mmap, munmap and brk of", who,
                     milliseconds(cost.stopped_ns > 0 ? cost.stopped_ns : cost.stall_ns));
}

namespace {

// Touches that no window of this back-end would show, by what the process has open now.
UnseenTouches unseenBy(const Backend& backend, const Process& process) {
  UnseenTouches unseen = unseenTouchesOf(process);
  bool asks_kvm = backend.name() != "pte" && backend.name() != "smaps";
  if (asks_kvm || !mustAskKvm(unseen, flushOfThisKernel())) unseen.remove(Toucher::kKvm);
  return unseen;
}

}  // namespace

std::string dryText(const Process& process, const Choice& choice, size_t columns) {
  std::string text;
  auto say = [&](const std::string& words) { text += base::wrapped(words, columns, 0, 2); };
  const Backend& backend = *choice.backend;
  say(fmt::format("wss would measure {} (process {}, {} resident) with the back-end {}: {}.",
                  base::printable(process.name()), process.pid(),
                  base::humanBytes(process.resident().bytes), backend.name(), backend.how()));
  if (auto cost = predictedFor(backend, process))
    say(costText(*cost, "the process"));
  else
    say("The cost of a window is unknown in advance.");
  text += choiceText(choice, columns);
  if (std::string unseen = unseenSentence(unseenBy(backend, process)); !unseen.empty()) say(unseen);
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
    all.stopped_ns = std::max(all.stopped_ns, cost.stopped_ns);
    say(fmt::format("{} (process {}), {} resident", base::printable(process.name()), process.pid(),
                    base::humanBytes(its_bytes)));
  }
  say(fmt::format(
      "wss would measure {} with {} resident (shared memory counts more than once), with the "
      "back-end {}: {}.",
      processes.size() == 1 ? "one process" : fmt::format("{} processes", processes.size()),
      base::humanBytes(rss_bytes), choice.backend->name(), choice.backend->how()));
  say(costText(all, "a process"));
  text += choiceText(choice, columns);
  UnseenTouches unseen;
  for (const Process& process : processes) unseen.add(unseenBy(*choice.backend, process));
  if (unseen.any()) say(unseenSentence(unseen));
  say("Nothing was measured, and the processes were not changed.");
  return text;
}

}  // namespace tidegauge::wss
