#include "readers/recording/tables/call_row.h"

#include <tuple>

#include "model/ledger/contexts.h"

namespace tidegauge::readers::recording {

std::optional<CallRow> readCall(Row& row, const Functions& functions) {
  constexpr int64_t kMax32 = UINT32_MAX;
  CallRow it;
  model::MemoryCall& call = it.call;
  call.start_ns = row.integer(0, 0, INT64_MAX);
  call.end_ns = row.integer(1, 0, INT64_MAX);
  it.process_id = row.integer(2, 0, kMax32 - 1);
  call.thread = static_cast<uint32_t>(row.integer(3, 0, kMax32));
  auto function = functions.find(row.integer(4));
  call.address = row.word(5);
  call.size_bytes = row.word(6);
  call.handle = row.word(7);
  call.stream = row.word(8);
  call.offset = row.word(9);
  int64_t device = row.maybeInteger(10).value_or(model::kUnknownDevice);
  call.code = static_cast<int32_t>(row.integer(11, INT32_MIN, INT32_MAX));
  it.stack_id = row.maybeInteger(12);
  call.inner = static_cast<uint8_t>(row.integer(13, 0, UINT8_MAX));
  call.in_runtime = row.integer(14, 0, 1) == 1;
  bool real_device = device >= model::kUnknownDevice && device < model::kMaxDevices;
  if (row.isBad() || function == functions.end() || !real_device || call.end_ns < call.start_ns)
    return std::nullopt;
  call.device = static_cast<int32_t>(device);
  call.function = function->second.row;
  call.plane = function->second.plane;
  call.verb = function->second.verb;
  call.kind = function->second.kind;
  return it;
}

bool isSameRow(const CallRow& a, const CallRow& b) {
  auto of = [](const CallRow& it) {
    const model::MemoryCall& call = it.call;
    return std::tuple(it.process_id, it.stack_id, call.start_ns, call.end_ns, call.address,
                      call.size_bytes, call.handle, call.stream, call.offset, call.thread,
                      call.device, call.code, call.function, call.inner, call.in_runtime);
  };
  return of(a) == of(b);
}

int64_t carriedCalls(SqliteFile& file) {
  int64_t calls = 0;
  // Without that table, nothing is carried.
  (void)file.forEachRow("SELECT value FROM meta NOT INDEXED WHERE key = 'carried_calls'",
                        [&](Row& row) {
                          int64_t value = row.decimal(0);
                          if (!row.isBad()) calls = value;
                          return true;
                        });
  return calls;
}

}  // namespace tidegauge::readers::recording
