// runMonitor where the recorder was built; see record_missing.cpp.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <thread>

#include "base/text_layout.h"
#include "base/version.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "cli/watch/live_session.h"
#include "cli/watch/metrics_token.h"
#include "cli/watch/monitor_source.h"
#include "record/kernel/functions.h"
#include "server/application.h"
#include "server/http/http_push.h"
#include "server/http/metrics_page.h"
#include "watch/live_arenas.h"
#include "watch/live_working_sets.h"
#include "watch/machine_sums.h"
#include "watch/otlp.h"
#include "watch/prometheus_text.h"

namespace tidegauge::cli {
namespace {

constexpr std::string_view kAllWatched = "all-watched";
constexpr size_t kMaxComm = 15;
constexpr int64_t kShowEvery_ns = 1'000'000'000;

// The port of "127.0.0.1:9400", "localhost:9400" or "9400".
std::optional<uint16_t> portOf(std::string_view listen) {
  for (std::string_view host : {"127.0.0.1:", "localhost:"})
    if (listen.starts_with(host)) {
      listen.remove_prefix(host.size());
      break;
    }
  uint16_t port = 0;
  auto [end, error] = std::from_chars(listen.data(), listen.data() + listen.size(), port);
  if (error != std::errc() || end != listen.data() + listen.size()) return std::nullopt;
  return port;
}

std::string hostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// Answers on threads of its own until it goes.
class Server {
 public:
  Server(std::unique_ptr<server::HttpServer> http, const server::Handler& handler,
         MonitorSource& source)
      : http_(std::move(http)),
        source_(source),
        thread_([this, handler] { http_->run(handler); }) {}
  ~Server() {
    source_.close();  // else who waits for the recorder would wait for this thread
    http_->stop();
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  std::unique_ptr<server::HttpServer> http_;
  MonitorSource& source_;
  std::thread thread_;
};

// Says once when the collector cannot be reached, and once when it can again.
class PushWords {
 public:
  void say(const server::PushCounts& counts) {
    if (counts.last_error == said_) return;
    said_ = counts.last_error;
    complain(said_.empty() ? "tidegauge: the collector accepts metrics again"
                           : "tidegauge: the collector does not accept metrics: " + said_);
  }

 private:
  std::string said_;
};

// The page below its token, and /metrics.
server::Handler bothOf(server::Application& live_page, const server::MetricsPage& metrics,
                       std::string root) {
  auto isPage = [root = std::move(root)](const server::Request& request) {
    std::string_view path = request.target;
    return path.starts_with(root) || path == std::string_view(root).substr(0, root.size() - 1);
  };
  return {.answer =
              [&, isPage](const server::Request& request, std::stop_token stop) {
                return isPage(request) ? live_page.answer(request, std::move(stop))
                                       : metrics.answer(request);
              },
          .lane =
              [&, isPage](const server::Request& request) {
                return isPage(request) ? live_page.lane(request) : server::Lane::kQuery;
              }};
}

model::LiveSnapshot snapshotOf(const LiveSession& live, const model::LiveBook& book,
                               const model::LiveWish& wish) {
  const record::Session& session = live.session();
  model::LiveNames names;
  names.stack = [&](uint32_t stack) { return session.describeStack(stack); };
  names.function = [](uint16_t function) {
    const auto& all = record::watchedFunctions();
    return function < all.size() ? std::string(all[function].name) : std::string();
  };
  model::LiveSnapshot snapshot =
      book.look(session.ledger(), wish,
                {model::LiveState::kMonitor, nowSinceEpoch_ns(), session.countedNs()}, names);
  snapshot.calls = session.calls();
  return snapshot;
}

std::vector<uint32_t> runningPids(const record::Session& session, int64_t now_ns) {
  std::vector<uint32_t> pids;
  for (uint32_t index : watch::toldProcesses(session, now_ns)) {
    const record::SessionProcess& process = session.processes()[index];
    if (!process.ended_ns) pids.push_back(process.seen.pid);
  }
  return pids;
}

// "comm:postgres", "cgroup:/shop".
std::optional<wss::Targets> ruleOf(std::string_view word) {
  constexpr std::string_view kComm = "comm:", kCgroup = "cgroup:";
  wss::Targets rule;
  if (word.starts_with(kComm)) rule.comm = word.substr(kComm.size());
  if (word.starts_with(kCgroup)) rule.cgroup = word.substr(kCgroup.size());
  if (!rule.isByRule()) return std::nullopt;
  return rule;
}

// The exit code of a wrong --wss, or 0.
int checkWorkingSets(const MonitorOptions& options) {
  for (const std::string& word : options.wss) {
    if (word == "comm:" || word == "cgroup:")
      return usageError(fmt::format("--wss {} needs a name after the colon", word));
    if (auto rule = ruleOf(word); rule && rule->comm.size() > kMaxComm)
      return usageError(fmt::format("--wss {}: the kernel's names have at most {} bytes",
                                    base::printable(word), kMaxComm),
                        "`ps -eo pid,comm` lists them");
    if (word == kAllWatched || ruleOf(word)) {
      if (options.wss.size() == 1) continue;
      return usageError(
          "--wss needs PIDs, or one of all-watched, comm:NAME and cgroup:PATH, alone");
    }
    if (std::string wrong = wholeNumber(1, kMaxPid)(word); !wrong.empty())
      return usageError(fmt::format("--wss {}", wrong),
                        "Give a PID, all-watched, comm:NAME or cgroup:PATH");
  }
  return 0;
}

std::optional<watch::WorkingSetPlan> workingSetPlan(const MonitorOptions& options) {
  if (options.wss.empty()) return std::nullopt;
  watch::WorkingSetPlan plan;
  plan.window_s = options.wss_window_s;
  plan.every_s = options.wss_every_s;
  plan.max_stall_s = options.wss_max_stall_ms * 1e-3;
  plan.all_watched = options.wss.front() == kAllWatched;
  if (auto rule = ruleOf(options.wss.front())) plan.rule = std::move(*rule);
  if (plan.all_watched || plan.rule.isByRule()) return plan;
  for (const std::string& word : options.wss) {
    uint32_t pid = 0;
    std::from_chars(word.data(), word.data() + word.size(), pid);  // checked before
    // Once each: the same labels twice would be no valid answer.
    if (std::find(plan.pids.begin(), plan.pids.end(), pid) == plan.pids.end())
      plan.pids.push_back(pid);
  }
  return plan;
}

int serve(const MonitorOptions& options, std::unique_ptr<server::HttpServer> http,
          std::optional<server::HttpAddress> collector, std::string metrics_token) {
  auto token = server::randomToken();
  if (!token.ok()) return reportError(token.error());
  model::LiveBook book;
  auto started = LiveSession::start(options.targets, {.stacks = options.stacks != "none",
                                                      .keeps_privileges = !options.wss.empty(),
                                                      .book = &book});
  if (!started.ok()) return reportError(started.error());
  LiveSession& live = *started.value();
  uint16_t port = http->port();
  server::MetricsPage page(port, watch::kPrometheusType, std::move(metrics_token));
  server::Session session;
  session.lives.push_back(std::make_shared<MonitorSource>(hostName()));
  auto& source = static_cast<MonitorSource&>(*session.lives.back());
  server::Gate gate(token.value(), port);
  std::string root = gate.root();
  server::Application live_page(std::move(session), std::move(gate));
  watch::MetricsMaker maker;
  watch::MachineSums sums;
  watch::LiveArenas arenas;
  watch::OtlpOrigin origin{hostName(), std::string(base::version()), nowSinceEpoch_ns()};
  std::optional<server::HttpPush> push;
  if (collector) push.emplace(std::move(*collector), std::string(watch::kProtobufType));
  PushWords words;
  auto plan = workingSetPlan(options);
  if (plan && plan->rule.isByRule())
    if (auto found = wss::findTargets(plan->rule); !found.ok())
      complain(
          fmt::format("tidegauge: --wss: {}. It is looked for once a second.", found.error().what));
  watch::LiveWorkingSets working_sets(plan);
  auto metrics = [&](int64_t now_ns) {
    std::vector<watch::Metric> all =
        maker.make({&live.session(), live.recorder().losses(), now_ns,
                    watch::cpuSecondsOfRecorder(), arenas.figures(), working_sets.figures()});
    return options.no_process_labels ? sums.take(std::move(all)) : all;
  };
  page.show(watch::prometheusText(metrics(nowSinceEpoch_ns())));
  Server server(std::move(http), bothOf(live_page, page, root), source);
  complain(fmt::format("tidegauge: live page at http://127.0.0.1:{}{}#live", port, root));
  complain(fmt::format("tidegauge: metrics at http://127.0.0.1:{}/metrics; Ctrl-C ends", port));
  int64_t show_ns = 0, push_ns = 0;
  while (!LiveSession::stopped()) {
    if (auto status = live.step(); !status.ok()) return reportError(status.error());
    source.answer([&](const model::LiveWish& wish) { return snapshotOf(live, book, wish); });
    int64_t now_ns = nowSinceEpoch_ns();
    if (now_ns < show_ns) continue;
    show_ns = now_ns + kShowEvery_ns;
    arenas.look(live.session(), now_ns);
    working_sets.watch(runningPids(live.session(), now_ns));
    std::vector<watch::Metric> now = metrics(now_ns);
    page.show(watch::prometheusText(now));
    if (!push) continue;
    words.say(push->counts());
    if (now_ns < push_ns) continue;
    push_ns = now_ns + static_cast<int64_t>(options.otlp_every_s * 1e9);
    push->offer(watch::otlpRequest(now, origin, now_ns));
  }
  return 0;
}

}  // namespace

int runMonitor(const MonitorOptions& options) {
  if (int code = checkWorkingSets(options); code != 0) return code;
  std::optional<uint16_t> port = portOf(options.listen);
  if (!port)
    return usageError(
        fmt::format("--listen must be 127.0.0.1:PORT, not “{}”", base::printable(options.listen)),
        "monitor serves metrics on loopback only; --otlp sends them elsewhere");
  std::optional<server::HttpAddress> collector;
  if (!options.otlp.empty()) {
    auto parsed = server::parseCollector(options.otlp);
    if (!parsed.ok()) return reportError(parsed.error());
    collector = std::move(parsed.value());
  }
  std::string metrics_token;
  if (!options.metrics_token.empty()) {
    auto token = metricsToken(options.metrics_token);
    if (!token.ok()) return reportError(token.error());
    metrics_token = std::move(token.value());
  }
  auto http = server::HttpServer::listen(*port);
  if (!http.ok()) {
    http.error().hint = "Choose another with --listen 127.0.0.1:PORT";
    return reportError(http.error());
  }
  return serve(options, std::move(http.value()), std::move(collector), std::move(metrics_token));
}

}  // namespace tidegauge::cli
