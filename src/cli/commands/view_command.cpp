#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/text_layout.h"
#include "cli/commands.h"
#include "cli/commands/view_opening.h"
#include "cli/file_kind.h"
#include "cli/open_trace.h"
#include "cli/options/category_options.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "readers/recording/follow_recording.h"
#include "server/application.h"
#include "server/follower.h"
#include "server/http/http_server.h"
#include "wss/file/measurement.h"
#include "wss/file/measurement_page.h"

namespace tidegauge::cli {
namespace {

struct ViewOptions {
  std::vector<std::string> files;
  uint16_t port = 0;
  bool no_browser = false;
  bool behind_proxy = false;
  bool ends_with_stdin = false;
  std::string categories;
  std::string token;
};

std::string namesOf(const server::Session& session) {
  size_t measurements = session.working_sets->size();
  if (session.files.size() == 1 && measurements == 0) return session.files[0]->name;
  if (session.files.empty() && measurements == 1) return session.working_sets->front().path;
  return fmt::format("{} files", session.files.size() + measurements);
}

// Removes files of `wss -o` from `paths` and opens them. An unreadable one is reported on standard
// error and added to `failed`; the exit code is that of the first.
std::vector<server::WorkingSetFile> openMeasurements(std::vector<std::string>& paths,
                                                     std::vector<FailedRead>& failed,
                                                     int& exit_code) {
  std::vector<server::WorkingSetFile> files;
  std::erase_if(paths, [&](const std::string& path) {
    if (kindOf(path) != FileKind::kWorkingSet) return false;
    auto measurement = wss::readMeasurementFile(path);
    if (measurement.ok()) {
      files.push_back({shownPath(path), wss::measurementPage(measurement.value())});
      return true;
    }
    base::Error error = measurement.error();
    error.what = fmt::format("{}: {}", shownPath(path), error.what);
    int code = reportError(error);
    if (exit_code == 0) exit_code = code;
    failed.push_back({path, measurement.error()});
    return true;
  });
  return files;
}

std::vector<server::FailedFile> failedFiles(const std::vector<FailedRead>& failed) {
  std::vector<server::FailedFile> files;
  files.reserve(failed.size());
  for (const FailedRead& one : failed) {
    files.push_back({shownPath(one.path), whatAndWhere(one.error), one.error.hint});
  }
  return files;
}

// Marks recordings that may still grow; one that has ended is checked once.
std::vector<server::FollowedRecording> markRecordings(server::Session& session,
                                                      const std::vector<OpenedRecording>& opened) {
  std::vector<server::FollowedRecording> recordings;
  for (const OpenedRecording& one : opened) {
    for (size_t i = one.begin; i < one.end; ++i) session.files[i]->recording = one.path;
    recordings.push_back({one.path, one.stamp, one.read_s, one.reader});
  }
  return recordings;
}

// Each recording that was opened, for the Live view.
std::vector<std::shared_ptr<model::LiveSource>> liveSources(const std::vector<std::string>& paths,
                                                            const std::vector<FailedRead>& failed) {
  std::vector<std::shared_ptr<model::LiveSource>> lives;
  for (const std::string& path : paths) {
    auto isThis = [&](const FailedRead& one) { return one.path == path; };
    bool readable = std::none_of(failed.begin(), failed.end(), isThis);
    if (readable && kindOf(path) == FileKind::kRecording)
      lives.push_back(std::make_shared<readers::recording::RecordingFollower>(path));
  }
  return lives;
}

// A program that started view and was killed cannot end it; the kernel closes its end of the pipe.
void endWithStandardInput() {
  std::thread([] {
    char ignored[256];
    ssize_t size = 0;
    do {
      size = read(STDIN_FILENO, ignored, sizeof ignored);
    } while (size > 0 || (size < 0 && errno == EINTR));
    kill(getpid(), SIGTERM);
  }).detach();
}

int run(const ViewOptions& options) {
  // The port first: a port in use is reported before a long file is read.
  auto http = server::HttpServer::listen(options.port);
  if (!http.ok()) return reportError(http.error());
  base::Result<std::string> token = options.token;
  if (options.token.empty()) token = server::randomToken();
  if (!token.ok()) return reportError(token.error());
  auto rules = readRules(options.categories);
  if (!rules.ok()) return reportError(rules.error());
  std::vector<std::string> traces = options.files;
  std::vector<FailedRead> failed;
  int measured_code = 0;
  auto measured = std::make_shared<const std::vector<server::WorkingSetFile>>(
      openMeasurements(traces, failed, measured_code));
  uint16_t port = http.value()->port();
  server::Gate gate(
      token.value(), port,
      options.behind_proxy ? server::Reached::kThroughProxy : server::Reached::kDirectly);
  Announcement announcement(fmt::format("http://127.0.0.1:{}/{}/", port, token.value()),
                            !options.no_browser);
  server::Opening opening(gate, traces.size());
  std::atomic<int> exit_code = 0;  // once the files are open: of those that could not be read
  http.value()->stopAtSignals();
  if (options.ends_with_stdin) endWithStandardInput();
  auto serve = [&] {
    int signal = http.value()->runUntilSignal(
        {.answer = [&](const server::Request& request,
                       std::stop_token stop) { return opening.answer(request, std::move(stop)); },
         .lane = [&](const server::Request& r) { return opening.lane(r); },
         .may_be_framed = options.behind_proxy});
    announcement.endAtSignal(signal, exit_code);
  };
  // What the system refuses, such as another thread, ends the process: threads use what is here.
  auto endIfRefused = [&](const auto& act) {
    try {
      act();
    } catch (const std::bad_alloc&) {
      complain("tidegauge: there is not enough memory for these files.");
    } catch (const std::exception& error) {
      complain(
          fmt::format("tidegauge: the system refused what view needs: {}. Raise the limits of "
                      "processes, files and memory (ulimit -a).",
                      error.what()));
    }
    announcement.end(kNotRead);
  };
  std::thread serving;
  auto open_and_show = [&] {
    PageOfOpening page(opening, announcement, options.files);
    Opened opened =
        openTraces(traces, {.rules = rules.value(), .follows = true, .listener = &page});
    if (opened.exit_code == 0) opened.exit_code = measured_code;
    if (opened.traces.empty() && measured->empty()) announcement.end(opened.exit_code);
    exit_code = opened.exit_code;
    opened.failed.insert(opened.failed.end(), failed.begin(), failed.end());
    server::Session session =
        server::openSession(std::move(opened.traces), failedFiles(opened.failed));
    std::vector<server::FollowedRecording> recordings = markRecordings(session, opened.recordings);
    server::followRecordings(session, recordings);
    session.lives = liveSources(traces, opened.failed);
    session.working_sets = measured;
    std::string names = namesOf(session);
    server::Application application(std::move(session), gate);
    server::Follower follower(application, std::move(recordings), rules.value());
    follower.start();
    opening.finish(application);
    if (int not_written = announcement.make("shows", names); not_written != 0)
      announcement.end(not_written);
    serving.join();  // it ends the process: what it answers from must live until then
  };
  endIfRefused([&] {
    serving = std::thread([&] { endIfRefused(serve); });
    open_and_show();
  });
  return kNotRead;
}

}  // namespace

void addViewCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ViewOptions>();
  CLI::App* command = app.add_subcommand("view", "Open snapshots and recordings in the browser");
  command
      ->add_option("FILE", options->files,
                   "Snapshots, recordings or files written by "
                   "wss -o; several files open side by side")
      ->required()
      ->type_name("");
  command->add_option("--port", options->port, "Port on 127.0.0.1 (default: a free one)")
      ->check(wholeNumber(0, 65535))
      ->type_name("N");
  command->add_flag("--no-browser", options->no_browser,
                    "Print the address, do not open a browser");
  command->add_flag("--behind-proxy", options->behind_proxy,
                    "Accept any host name, and allow frames: for notebooks and proxies. The secret "
                    "address is then the only protection");
  command->add_flag("--end-with-stdin", options->ends_with_stdin,
                    "End when standard input ends: for programs that start view");
  addCategoriesOption(*command, options->categories);
  command
      ->add_option("--token", options->token)  // instead of a random one; for tests
      ->group("")
      ->check([](const std::string& token) {
        return server::isUsableToken(token) ? std::string() : "4 to 64 letters, digits, - or _";
      });
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
