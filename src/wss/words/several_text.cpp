#include "wss/words/several_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text_layout.h"
#include "wss/units.h"
#include "wss/words/row_json.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kName = 18;

// `is_at_least`: a + marks what was touched as a lower bound.
std::string sums(const std::string& pid, const std::string& name, uint64_t rss, uint64_t touched,
                 bool is_at_least) {
  std::string mark = is_at_least ? "+" : "";
  return fmt::format("{:>7} {} {:>9.2f} {:>9} {:>5.1f}", pid,
                     base::padRight(base::cutMiddle(base::printable(name), kName), kName), mib(rss),
                     fmt::format("{:.2f}{}", mib(touched), mark), percent(touched, rss));
}

}  // namespace

std::string severalText(const std::vector<Member>& members, const std::optional<Once>& once,
                        size_t top, size_t columns) {
  std::vector<const Member*> there;
  std::string text =
      fmt::format("{:>7} {:<{}} {:>9} {:>9} {:>5} {:>8} {:>7} {:>9}\n", "PID", "process", kName,
                  "RSS(MB)", "Ref(MB)", "Ref%", "Est(s)", "CPU(ms)", "Stall(ms)");
  for (const Member& member : members)
    if (member.outcome->row) there.push_back(&member);
  std::stable_sort(there.begin(), there.end(), [](const Member* one, const Member* other) {
    return one->outcome->row->sums.referenced > other->outcome->row->sums.referenced;
  });
  uint64_t rss = 0, touched = 0, pss = 0, rest_rss = 0, rest_touched = 0;
  bool is_at_least = std::ranges::any_of(
      there, [](const Member* member) { return isAtLeast(*member->outcome->row); });
  for (size_t i = 0; i < there.size(); ++i) {
    const Row& row = *there[i]->outcome->row;
    rss += row.sums.rss, touched += row.sums.referenced, pss += row.sums.pss;
    if (i >= top) {
      rest_rss += row.sums.rss, rest_touched += row.sums.referenced;
      continue;
    }
    text += sums(fmt::format("{}", there[i]->pid), there[i]->name, row.sums.rss,
                 row.sums.referenced, isAtLeast(row)) +
            fmt::format(" {:>8.3f} {:>7.1f} {:>9.1f}\n", seconds(row.window.mean_ns),
                        milliseconds(row.cost.cpu_ns), milliseconds(row.cost.stall_ns));
  }
  if (there.size() > top)
    text +=
        sums("", fmt::format("{} more", there.size() - top), rest_rss, rest_touched, is_at_least) +
        "\n";
  if (once)
    text += sums("", "all, shared once", once->rss, once->referenced, is_at_least) + "\n";
  else
    text += sums("", "all added up", rss, touched, is_at_least) + "\n" +
            base::wrapped(
                fmt::format("This sum counts shared pages once for each process. Memory "
                            "is {:.2f} MB by the PSS; for touched memory only pte and idle know.",
                            mib(pss)),
                columns, 0, 2);
  for (const Member& member : members)
    if (member.outcome->gone)
      text += base::wrapped("Not measured: " + base::printable(member.outcome->gone->what) + ".",
                            columns, 0, 2);
  return text;
}

nlohmann::json severalJson(const std::vector<Member>& members, const std::optional<Once>& once,
                           const Plan& plan, double unix_s, bool knows_sharing) {
  nlohmann::json json = {{"time", unix_s}, {"all", nullptr}};
  if (once) {
    bool at_least = std::ranges::any_of(members, [](const Member& member) {
      return member.outcome->row && isAtLeast(*member.outcome->row);
    });
    json["all"] = {{"rss", once->rss}, {"referenced", once->referenced}, {"at_least", at_least}};
  }
  json["processes"] = nlohmann::json::array();
  for (const Member& member : members) {
    nlohmann::json one = member.outcome->row
                             ? rowJson(*member.outcome->row, plan, unix_s, {}, knows_sharing)
                             : nlohmann::json{{"gone", member.outcome->gone->what}};
    one["pid"] = member.pid;
    one["process"] = member.name;
    json["processes"].push_back(std::move(one));
  }
  return json;
}

}  // namespace tidegauge::wss
