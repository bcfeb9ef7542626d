#include "target.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

namespace tidegauge::bench {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

namespace {

struct dim3 {
  unsigned x, y, z;
};

struct Gpu {
  int (*init)(unsigned);
  int (*retain)(void**, int);
  int (*set)(void*);
  int (*allocate)(unsigned long long*, size_t);
  int (*release)(unsigned long long);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*runtime_allocate)(void**, size_t);
  int (*runtime_release)(void*);
  int (*runtime_launch)(const void*, dim3, dim3, void**, size_t, void*);
  void (*block_taken)(void*, int, size_t, void*);
  void (*block_given)(void*);
  void* context = nullptr;

  explicit Gpu(const std::string& folder) {
    void* driver = dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* runtime = dlopen((folder + "/libcudart.so.13").c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* blocks = dlopen(TIDEGAUGE_BENCH_BLOCKS, RTLD_NOW);
    if (driver == nullptr || runtime == nullptr || blocks == nullptr) {
      fmt::print(stderr, "{}\n", dlerror());
      _exit(1);
    }
    auto find = [](void* library, const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    find(driver, "cuInit", init);
    find(driver, "cuDevicePrimaryCtxRetain", retain);
    find(driver, "cuCtxSetCurrent", set);
    find(driver, "cuMemAlloc_v2", allocate);
    find(driver, "cuMemFree_v2", release);
    find(driver, "cuLaunchKernel", launch);
    find(runtime, "cudaMalloc", runtime_allocate);
    find(runtime, "cudaFree", runtime_release);
    find(runtime, "cudaLaunchKernel", runtime_launch);
    find(blocks, "block_taken", block_taken);
    find(blocks, "block_given", block_given);
    if (init(0) != 0 || retain(&context, 0) != 0) _exit(1);
  }
};

void pairs(const Gpu& gpu, int calls) {
  unsigned long long address = 0;
  for (int i = 0; i < calls; i += 2) {
    gpu.allocate(&address, 4096);
    gpu.release(address);
  }
}

// Two threads that call at a fixed rate for two seconds, or as fast as they can.
Answer paced(Gpu& gpu, uint32_t per_second) {
  std::atomic<uint64_t> calls = 0;
  double begin = seconds(CLOCK_MONOTONIC), end = begin + 2;
  auto work = [&] {
    gpu.set(gpu.context);
    constexpr int kBatch = 100;
    double next = seconds(CLOCK_MONOTONIC), step = 2.0 * kBatch / per_second;
    while (seconds(CLOCK_MONOTONIC) < end) {
      pairs(gpu, kBatch);
      calls += kBatch;
      next += step;
      while (seconds(CLOCK_MONOTONIC) < std::min(next, end)) sched_yield();
    }
  };
  std::thread other(work);
  work();
  other.join();
  Answer answer;
  answer.calls = calls;
  answer.calls_per_second = static_cast<double>(calls) / (seconds(CLOCK_MONOTONIC) - begin);
  return answer;
}

void once(const Gpu& gpu, Task task) {
  void* address = nullptr;
  switch (task) {
    case kLaunches:
      for (int i = 0; i < kCalls; ++i)
        gpu.launch(const_cast<Gpu*>(&gpu), 1, 2, 3, 4, 5, 6, 0, nullptr, nullptr, nullptr);
      break;
    case kRuntimeLaunches:
      for (int i = 0; i < kCalls; ++i)
        gpu.runtime_launch(&gpu, {1, 2, 3}, {4, 5, 6}, nullptr, 0, nullptr);
      break;
    case kRuntimePairs:
      for (int i = 0; i < kCalls; i += 2) {
        gpu.runtime_allocate(&address, 4096);
        gpu.runtime_release(address);
      }
      break;
    case kBlocks:
      for (int i = 0; i < kCalls; i += 2) {
        gpu.block_taken(&address, 0, 4096, nullptr);
        gpu.block_given(&address);
      }
      break;
    default:
      pairs(gpu, kCalls);
  }
}

// Each frame of another function and size, with its frame pointer (this file is compiled so).
template <int kLeft>
__attribute__((noinline)) void down(const Gpu& gpu, Task task) {
  char room[16 + kLeft * 56 % 208];
  asm volatile("" ::"r"(room) : "memory");  // is used
  if constexpr (kLeft > 0)
    down<kLeft - 1>(gpu, task);
  else
    once(gpu, task);
  asm volatile("" ::: "memory");  // no tail call
}
using Down = void (*)(const Gpu&, Task);
template <int... kDepths>
constexpr std::array<Down, sizeof...(kDepths)> allDepths(std::integer_sequence<int, kDepths...>) {
  return {down<kDepths>...};
}
constexpr auto kDown = allDepths(std::make_integer_sequence<int, kMaxDepth + 1>{});

}  // namespace

void serve(const std::string& folder, int orders, int answers) {
  Gpu gpu(folder);
  gpu.set(gpu.context);
  Order order;
  Answer ready;
  (void)!write(answers, &ready, sizeof(ready));
  while (read(orders, &order, sizeof(order)) == sizeof(order)) {
    Answer answer;
    double before = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (order.task == kPaced)
      answer = paced(gpu, order.per_second);
    else
      kDown.at(order.depth)(gpu, order.task);
    answer.ns_per_call = (seconds(CLOCK_THREAD_CPUTIME_ID) - before) * 1e9 / kCalls;
    (void)!write(answers, &answer, sizeof(answer));
  }
  exit(0);
}

Target::Target(const std::string& folder, const std::vector<std::string>& environment) {
  std::array<int, 2> orders{}, answers{};
  if (pipe(orders.data()) != 0 || pipe(answers.data()) != 0) exit(1);
  pid_ = fork();
  if (pid_ == 0) {
    close(orders[1]);
    close(answers[0]);
    for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
    std::string from = std::to_string(orders[0]), to = std::to_string(answers[1]);
    execl("/proc/self/exe", "probe_bench", "--serve", folder.c_str(), from.c_str(), to.c_str(),
          nullptr);
    _exit(1);
  }
  close(orders[0]);
  close(answers[1]);
  orders_ = orders[1];
  answers_ = answers[0];
  (void)answer();
}

Target::~Target() {
  close(orders_);
  waitpid(pid_, nullptr, 0);
  close(answers_);
}

void Target::send(const Order& order) const { (void)!write(orders_, &order, sizeof(order)); }

bool Target::isAnswered() const {
  pollfd news{answers_, POLLIN, 0};
  return ::poll(&news, 1, 0) != 0;
}

Answer Target::answer() const {
  Answer answer;
  if (read(answers_, &answer, sizeof(answer)) != sizeof(answer)) exit(1);
  return answer;
}

}  // namespace tidegauge::bench
