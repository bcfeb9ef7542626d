#include "cli/view_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "server/application.h"
#include "server/http_server.h"

extern char** environ;

namespace tidegauge::cli {
namespace {

struct ViewOptions {
  std::vector<std::string> files;
  uint16_t port = 0;
  bool no_browser = false;
  std::string token;
};

// In a session of its own and without our streams, so that Ctrl-C here does not end the browser.
void openBrowser(const std::string& url) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string program = "xdg-open";
  std::string argument = url;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  std::signal(SIGCHLD, SIG_IGN);  // nobody waits for it
  posix_spawnp(&child, "xdg-open", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

std::string namesOf(const server::Session& session) {
  if (session.size() == 1) return session[0]->analysed->trace.source.name;
  return fmt::format("{} files", session.size());
}

int run(const ViewOptions& options) {
  // First the port: who has it learns about a taken one before a long file is read.
  auto http = server::HttpServer::listen(options.port);
  if (!http.ok()) return reportError(http.error());
  base::Result<std::string> token = options.token;
  if (options.token.empty()) token = server::randomToken();
  if (!token.ok()) return reportError(token.error());
  base::Result<Traces> traces = openTraces(options.files);
  if (!traces.ok()) return reportError(traces.error());
  server::Session session = server::openSession(std::move(traces).value());
  std::string names = namesOf(session);
  uint16_t port = http.value()->port();
  server::Application application(std::move(session), server::Gate(token.value(), port));
  std::string url = fmt::format("http://127.0.0.1:{}/{}/", port, token.value());
  fmt::print("Tidegauge shows {} at {}\nCtrl-C stops it.\n", base::printable(names), url);
  std::fflush(stdout);
  if (!options.no_browser) openBrowser(url);
  http.value()->run(
      {.answer = [&](const server::Request& request,
                     std::stop_token stop) { return application.answer(request, std::move(stop)); },
       .is_slow = [&](const server::Request& r) { return application.isSlow(r); }},
      true);
  return 0;
}

}  // namespace

void addViewCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ViewOptions>();
  CLI::App* command = app.add_subcommand("view", "Open the page in a browser: the main job");
  command->add_option("FILE", options->files, "Snapshots; several = ranks, or before and after")
      ->required();
  command->add_option("--port", options->port, "On 127.0.0.1; default: a free one");
  command->add_flag("--no-browser", options->no_browser, "Print the address only");
  command->add_option("--token", options->token, "Instead of a random one; for tests")
      ->check([](const std::string& token) {
        return server::isUsableToken(token) ? std::string() : "4 to 64 letters, digits, - or _";
      });
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
