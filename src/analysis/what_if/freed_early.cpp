#include "analysis/what_if/freed_early.h"

#include <utility>

#include "replay/rebuild.h"

namespace tidegauge::analysis {

using replay::Op;
using replay::Request;

FreedEarly::FreedEarly(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                       const replay::Program& program, Meant meant)
    : meant_(std::move(meant)), lives_(program.names), is_shared_(program.names) {
  for (const Request& request : program.requests)
    if (request.op == Op::kFree) is_shared_[request.name] = request.is_shared;
  const model::Allocations& all = analysed.trace.allocations;
  const model::Device& rows = device.device;
  replay::Tape tape(analysed.trace, rows);
  for (uint64_t row = rows.allocation_begin; row < rows.allocation_end; ++row)
    if (model::isOlder(all.provenance[row]) && meant_.older(row) &&
        !replay::waitsAtStart(tape, row))
      live(static_cast<uint32_t>(row - rows.allocation_begin), all.requested_bytes[row]);
}

void FreedEarly::take(const Request& request, std::vector<Request>& out) {
  if (request.op == Op::kFree) {
    if (lives_[request.name] == Life::kEnded) return;
    lives_[request.name] = Life::kNotMeant;
  }
  out.push_back(request);
  if (request.op == Op::kMalloc && !request.failed && meant_.request(request))
    live(request.name, request.bytes);
}

void FreedEarly::freeAll(Step step, std::vector<Request>& out) {
  for (const Row& row : rows_) {
    if (lives_[row.name] != Life::kLives) continue;
    lives_[row.name] = Life::kEnded;
    ++blocks_;
    bytes_ += row.bytes;
    Request free;
    free.op = Op::kFree;
    free.step = step;
    free.name = row.name;
    free.is_shared = is_shared_[row.name];
    out.push_back(free);
  }
  rows_.clear();
}

void FreedEarly::live(uint32_t name, uint64_t bytes) {
  is_found_ = true;
  lives_[name] = Life::kLives;
  rows_.push_back({name, bytes});
}

}  // namespace tidegauge::analysis
