// Requests of any shape against the handler, over two small traces: one with everything, one
// without events.
//
//   byte 0      method          byte 1   how much of the gate is passed
//   then        target, '\n', headers in order, '\n', body
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/lives/lives.h"
#include "server/application.h"

namespace tidegauge {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class TraceMaker {
 public:
  TraceMaker() {
    trace_.streams.push_back({});
    trace_.pools.push_back({});
    trace_.frames.function.push_back(trace_.strings.intern("forward"));
    trace_.frames.file.push_back(trace_.strings.intern("model.py"));
    trace_.frames.line.push_back(63);
    trace_.frames.kind.push_back(model::FrameKind::kPython);
    trace_.frames.note.emplace_back();
    model::FrameId frame(0);
    trace_.stacks.add({&frame, 1});
  }

  void event(model::Action action, uint64_t address, uint64_t bytes) {
    model::Events& e = trace_.events;
    e.time_us.push_back(1'700'000'000'000'000 + static_cast<int64_t>(e.size()) * 10);
    e.action.push_back(action);
    e.address.push_back(address);
    e.size_bytes.push_back(bytes);
    e.stack.emplace_back(0U);
    e.stream.push_back(model::StreamId(0));
    e.subject.push_back(UINT32_MAX);
  }

  void annotate(const char* name, int64_t begin_us, int64_t end_us) {
    trace_.annotations.name.push_back(trace_.strings.intern(name));
    trace_.annotations.device.push_back(0);
    trace_.annotations.begin_us.push_back(begin_us);
    trace_.annotations.end_us.push_back(end_us);
    trace_.annotations.depth.push_back(0);
  }

  std::unique_ptr<analysis::AnalysedTrace> finish() {
    model::Device device;
    device.event_end = trace_.events.size();
    trace_.devices.push_back(device);
    model::buildLives(trace_);
    return std::make_unique<analysis::AnalysedTrace>(std::move(trace_));
  }

 private:
  model::Trace trace_;
};

server::Session makeSession() {
  using model::Action;
  TraceMaker full;
  full.event(Action::kSegmentAlloc, 0x7f0000000000, 256 * kMiB);
  for (uint64_t i = 0; i < 60; ++i) {
    full.event(Action::kAlloc, 0x7f0000000000 + i * kMiB, (1 + i % 5) * kMiB / 5);
    if (i % 3 == 2) full.event(Action::kFree, 0x7f0000000000 + (i - 1) * kMiB, 0);
    if (i % 7 == 6) full.event(Action::kFreeRequested, 0x7f0000000000 + (i - 2) * kMiB, 0);
  }
  full.event(Action::kOom, 5 * kMiB, 900 * kMiB);
  full.annotate("step", 1'700'000'000'000'000, 1'700'000'000'000'300);
  full.annotate("open", 1'700'000'000'000'100, model::kNoTime);
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(full.finish());
  traces.push_back(TraceMaker().finish());
  return server::openSession(std::move(traces));
}

std::string_view cut(std::string_view& rest) {
  std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  return line;
}

}  // namespace
}  // namespace tidegauge

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tidegauge;
  static server::Application app(makeSession(), server::Gate("fuzz", 1));
  if (size < 2) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  server::Request request;
  request.method = static_cast<server::Method>(data[0] % 4);
  uint8_t raw = data[1];  // which parts come directly from the input
  request.target = std::string((raw & 1) ? "" : "/fuzz/") + std::string(cut(rest));
  request.hosts = {(raw & 2) ? std::string(cut(rest)) : "127.0.0.1:1"};
  if (raw & 4) request.hosts.emplace_back(cut(rest));
  if (raw & 8) request.origin = std::string(cut(rest));
  if (raw & 16) request.fetch_site = std::string(cut(rest));
  request.content_type = (raw & 32) ? std::string(cut(rest)) : "application/json";
  request.accept_encoding = (raw & 64) ? std::string(cut(rest)) : "zstd";
  request.body = std::string(rest);
  app.lane(request);
  server::Response response = app.answer(request, {});
  if (response.status < 200 || response.status > 599) std::abort();
  if (response.bytes().empty()) std::abort();
  return 0;
}
