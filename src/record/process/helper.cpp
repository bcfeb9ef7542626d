#include "record/process/helper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "record/process/capabilities.h"

namespace tidegauge::record {
namespace {

enum class Task : uint32_t { kLeave, kCommand, kSignal, kOpen, kNice };
constexpr size_t kMaxRemoved = 4096;  // files; each program that runs from memory is one
struct Request {
  Task task = Task::kLeave;
  uint32_t pid = 0;
  int32_t signal = 0, nice = 0;
  uint64_t start = 0, end = 0;
};

// The recorder's end; −1: there is no helper.
struct Line {
  std::mutex mutex;
  int socket = -1;
  std::map<std::pair<dev_t, ino_t>, int> removed;  // files that are kept open
};
Line& line() {
  static Line only;
  return only;
}

std::string mappingPath(uint32_t pid, uint64_t start, uint64_t end) {
  return fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, start, end);
}

// One byte, with a descriptor if there is one.
void sendDescriptor(int socket, int descriptor) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  }
  (void)!sendmsg(socket, &message, MSG_NOSIGNAL);
}

int receiveDescriptor(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0) return -1;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(head), sizeof(int));
  return descriptor;
}

void serve(int socket) {
  uint32_t command = 0;
  while (true) {
    Request request;
    ssize_t got = recv(socket, &request, sizeof(request), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) kill(0, SIGCONT);  // the recorder was killed
    if (got != sizeof(request) || request.task == Task::kLeave) return;
    if (request.task == Task::kCommand && command == 0) command = request.pid;
    bool may_signal = request.signal == SIGCONT || (command != 0 && request.pid == command);
    if (request.task == Task::kSignal && may_signal && request.pid > 1)
      kill(static_cast<pid_t>(request.pid), request.signal);
    // Only for the recorder's own threads.
    if (request.task == Task::kNice &&
        access(fmt::format("/proc/{}/task/{}", getppid(), request.pid).c_str(), F_OK) == 0)
      (void)setpriority(PRIO_PROCESS, request.pid, request.nice);
    if (request.task != Task::kOpen) continue;
    int file = open(mappingPath(request.pid, request.start, request.end).c_str(),
                    O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    sendDescriptor(socket, file);
    if (file >= 0) close(file);
  }
}

void ask(const Request& request) {
  Line& it = line();
  std::lock_guard lock(it.mutex);
  if (it.socket >= 0) (void)!send(it.socket, &request, sizeof(request), MSG_NOSIGNAL);
}

}  // namespace

Helper::Helper() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2})
      ::signal(signal, SIG_IGN);  // signals from the keyboard reach the whole group
    prctl(PR_SET_NAME, "tidegauge-go-on");
    (void)keepCapabilities(kHelperCapabilities, std::nullopt);
    (void)setpriority(PRIO_PROCESS, 0, kFirstNice);  // who waits for it waits for all
    serve(ends[0]);
    _exit(0);
  }
  close(ends[0]);
  std::lock_guard lock(line().mutex);
  line().socket = ends[1];
}

Helper::~Helper() {
  ask({});
  Line& it = line();
  {
    std::lock_guard lock(it.mutex);
    if (it.socket >= 0) close(it.socket);
    it.socket = -1;
    for (const auto& [file, descriptor] : it.removed) close(descriptor);
    it.removed.clear();
  }
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void Helper::commandIs(pid_t pid) {
  ask({.task = Task::kCommand, .pid = static_cast<uint32_t>(pid)});
}

void setNice(int nice) {
  // Once the helper was asked it does the rest, too: it does them in their order, but later.
  thread_local bool asks = false;
  if (!asks && setpriority(PRIO_PROCESS, 0, nice) == 0) return;
  asks = true;
  ask({.task = Task::kNice, .pid = static_cast<uint32_t>(syscall(SYS_gettid)), .nice = nice});
}

void continueProcess(pid_t pid) {
  if (kill(pid, SIGCONT) != 0 && errno == EPERM) signalCommand(pid, SIGCONT);
}

void signalCommand(pid_t pid, int signal) {
  if (kill(pid, signal) != 0 && errno == EPERM)
    ask({.task = Task::kSignal, .pid = static_cast<uint32_t>(pid), .signal = signal});
}

std::string openRemoved(uint32_t pid, uint64_t start, uint64_t end) {
  Line& it = line();
  std::lock_guard lock(it.mutex);
  if (it.socket < 0) return {};
  Request request{.task = Task::kOpen, .pid = pid, .start = start, .end = end};
  if (send(it.socket, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request)) return {};
  int descriptor = receiveDescriptor(it.socket);
  struct stat file {};
  if (descriptor < 0 || fstat(descriptor, &file) != 0) return {};
  bool is_full = it.removed.size() >= kMaxRemoved;
  if (is_full && !it.removed.contains({file.st_dev, file.st_ino})) {
    close(descriptor);
    return {};
  }
  auto [known, is_new] = it.removed.try_emplace({file.st_dev, file.st_ino}, descriptor);
  if (!is_new) close(descriptor);
  return fmt::format("/proc/self/fd/{}", known->second);
}

}  // namespace tidegauge::record
