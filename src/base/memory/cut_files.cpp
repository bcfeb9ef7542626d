#include "base/memory/cut_files.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

namespace tidegauge::base {
namespace {

// The handler reads these, so they are atomic and never move.
struct Place {
  std::atomic<bool> is_taken{false};
  std::atomic<uintptr_t> begin{0}, end{0};  // end 0: none
  std::atomic<bool> is_cut{false};
};
std::array<Place, 64> places;

std::mutex guards_mutex;
int guards = 0;
struct sigaction before {};  // written while our handler is not installed

uintptr_t pageBytes() {
  static const auto kBytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

// Only what is safe in a signal handler. True: the rest of the mapping is zeros now.
bool zeroRest(uintptr_t address, uintptr_t page) {
  for (Place& place : places) {
    uintptr_t begin = place.begin, end = place.end;
    if (address < begin || address >= end) continue;
    uintptr_t from = address / page * page;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): inside Tidegauge's mapping
    void* zeros = mmap(reinterpret_cast<void*>(from), end - from, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    place.is_cut = true;
    return zeros != MAP_FAILED;
  }
  return false;
}

void passOn(int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {  // the same read faults again, and ends the process
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(signal, &plain, nullptr);
  }
}

void onSignal(int signal, siginfo_t* info, void* context) {
  int error = errno;
  if (!zeroRest(reinterpret_cast<uintptr_t>(info->si_addr), pageBytes()))
    passOn(signal, info, context);
  errno = error;
}

bool isOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == onSignal;
}

}  // namespace

CutFilesReadAsZeros::CutFilesReadAsZeros() {
  std::lock_guard lock(guards_mutex);
  if (guards++ > 0) return;
  (void)pageBytes();  // before the handler needs it
  struct sigaction present {};
  sigaction(SIGBUS, nullptr, &present);
  if (isOurs(present)) return;  // another library replaced it, and has put it back
  before = present;
  struct sigaction action {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &action, nullptr);
}

CutFilesReadAsZeros::~CutFilesReadAsZeros() {
  std::lock_guard lock(guards_mutex);
  if (--guards > 0) return;
  struct sigaction present {};
  sigaction(SIGBUS, nullptr, &present);
  if (isOurs(present)) sigaction(SIGBUS, &before, nullptr);  // else it is somebody else's by now
}

MappedRange::MappedRange(std::span<const uint8_t> mapped) {
  if (mapped.empty()) return;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].is_taken.exchange(true)) continue;
    uintptr_t page = pageBytes();
    auto begin = reinterpret_cast<uintptr_t>(mapped.data());
    places[i].is_cut = false;
    places[i].begin = begin;
    places[i].end = (begin + mapped.size() + page - 1) / page * page;
    place_ = static_cast<int>(i);
    return;
  }
}

MappedRange::MappedRange(MappedRange&& other) noexcept
    : place_(std::exchange(other.place_, kNone)) {}

MappedRange& MappedRange::operator=(MappedRange&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

MappedRange::~MappedRange() {
  if (place_ == kNone) return;
  Place& place = places[static_cast<size_t>(place_)];
  place.end = 0;
  place.begin = 0;
  place.is_taken = false;
}

bool MappedRange::isCut() const {
  return place_ != kNone && places[static_cast<size_t>(place_)].is_cut;
}

}  // namespace tidegauge::base
