#include "record/kernel/gates.h"

#include <bpf/bpf.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "bpf/processes/hold_records.h"
#include "record/process/helper.h"

namespace tidegauge::record {
namespace {

constexpr int kKernelMinorBits = 20;
constexpr int kTurns = 2000;
constexpr useconds_t kTurn_us = 500;

uint32_t mostAtOnce() {
  return std::clamp<uint32_t>(std::thread::hardware_concurrency() / 2, HOLD_LEAST, HOLD_MOST);
}

// As hashOfFile() of bpf/processes/hold.bpf.h.
uint64_t hashOf(const struct stat& file, uint32_t epoch) {
  uint64_t device = uint64_t{major(file.st_dev)} << kKernelMinorBits | minor(file.st_dev);
  auto changed = static_cast<uint64_t>(file.st_ctim.tv_sec) << 30 ^
                 static_cast<uint64_t>(file.st_ctim.tv_nsec);
  uint64_t hash = holdMixed(epoch, file.st_ino);
  hash = holdMixed(hash, device);
  hash = holdMixed(hash, static_cast<uint64_t>(file.st_size));
  return holdMixed(hash, changed);
}

}  // namespace

Gates::Gates(const Programs& programs) : programs_(programs), most_(mostAtOnce()) { set(); }

void Gates::set() const {
  uint32_t only = 0;
  hold_settings settings{most_, epoch_};
  (void)bpf_map_update_elem(programs_.mapDescriptor("hold_settings"), &only, &settings, BPF_ANY);
}

void Gates::open(uint32_t ticket, bool watched) const {
  uint32_t gate = watched ? GATE_OPEN_WATCHED : GATE_OPEN;
  (void)bpf_map_update_elem(programs_.mapDescriptor("gates"), &ticket, &gate, BPF_EXIST);
}

bool Gates::isClosed(uint32_t ticket) const {
  uint32_t gate = 0;
  return bpf_map_lookup_elem(programs_.mapDescriptor("gates"), &ticket, &gate) == 0 &&
         gate == GATE_CLOSED;
}

void Gates::know(const std::string& path, bool watched) const {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return;
  uint64_t hash = hashOf(file, epoch_);
  uint32_t known = watched ? FILE_WATCHED : FILE_PLAIN;
  (void)bpf_map_update_elem(programs_.mapDescriptor("known_files"), &hash, &known, BPF_NOEXIST);
}

void Gates::forgetFiles() {
  epoch_ += 1;
  set();
}

void Gates::shut() {
  most_ = 0;
  set();
  int gates = programs_.mapDescriptor("gates"), number = programs_.mapDescriptor("waiting");
  for (int i = 0; i < kTurns; ++i) {
    uint32_t ticket = 0, left = 0;
    while (bpf_map_get_next_key(gates, nullptr, &ticket) == 0) bpf_map_delete_elem(gates, &ticket);
    for (uint32_t room = 0; room < ROOMS; ++room) {
      uint32_t waiting = 0;
      if (bpf_map_lookup_elem(number, &room, &waiting) == 0) left += waiting;
    }
    if (left == 0) return;
    usleep(kTurn_us);
  }
}

namespace {

// What this thread had at first.
int normalNice() {
  thread_local const int normal = getpriority(PRIO_PROCESS, 0);
  return normal;
}

}  // namespace

Hurry::Hurry() {
  (void)normalNice();
  setNice(kFirstNice);
}

Hurry::~Hurry() { setNice(normalNice()); }

}  // namespace tidegauge::record
