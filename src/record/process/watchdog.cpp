#include "record/process/watchdog.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tidegauge::record {

Watchdog::Watchdog() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2})
      ::signal(signal, SIG_IGN);  // signals from the keyboard reach the whole group
    prctl(PR_SET_NAME, "tidegauge-go-on");
    char word = 0;
    ssize_t got = 0;
    while ((got = read(ends[0], &word, 1)) < 0 && errno == EINTR) {
    }
    if (got == 0) kill(0, SIGCONT);
    _exit(0);
  }
  close(ends[0]);
  pipe_ = ends[1];
}

Watchdog::~Watchdog() {
  if (pipe_ < 0) return;
  (void)!write(pipe_, "", 1);
  close(pipe_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

}  // namespace tidegauge::record
