// What any program must do at least to join the events of a file and to report on them.
//
//   tidegauge query --format csv 10m.pickle "SELECT instr('alloc free_requested free_completed',
//     action), coalesce(address, 0), coalesce(size_bytes, 0), coalesce(stack_id, 0),
//     coalesce(time_us, 0) FROM events" | join_floor
//
// Reads the columns first, then measures each part alone. It trusts its input: no event is missing.
#include <vector>

#include "floors.h"

namespace {
using floors::measure;
using std::vector;
using u32 = uint32_t;
using u64 = uint64_t;

enum Action : uint8_t { kOther = 0, kAlloc = 1, kRequested = 7, kCompleted = 22 };  // by instr()
constexpr u64 kAhead = 24;  // events: their memory is fetched before it is needed

struct Events {
  vector<uint8_t> action;
  vector<u64> address, bytes, time;
  vector<u32> stack, subject;
  size_t size() const { return action.size(); }
} events;

struct Rows {  // with provenance and flags 54 bytes
  vector<u64> address, requested, block;
  vector<u32> segment, stack, first, last, free_requested, version;
  vector<uint16_t> stream, pool, flags;
  void resize(size_t rows) {
    for (auto* it : {&address, &requested, &block}) it->resize(rows);
    for (auto* it : {&segment, &stack, &first, &last, &free_requested, &version}) it->resize(rows);
    for (auto* it : {&stream, &pool, &flags}) it->resize(rows);
  }
} rows;

bool readEvents() {
  if (std::scanf("%*[^\n]") != 0) return false;  // names of the columns
  unsigned long action, address, bytes, stack, time;
  while (std::scanf("%lu,%lu,%lu,%lu,%lu", &action, &address, &bytes, &stack, &time) == 5) {
    events.action.push_back(static_cast<uint8_t>(action));
    events.address.push_back(address);
    events.bytes.push_back(bytes);
    events.stack.push_back(static_cast<u32>(stack));
    events.time.push_back(time);
  }
  events.subject.resize(events.size());
  return events.size() > kAhead;
}

struct Place {
  u64 address;
  u32 row, lives;
};

// Writes the rows and the subject of each event. `forget`: an address leaves the table when it is
// freed, so that the table has the live ones alone, and nobody knows the how many-th life it is.
u32 join(u64 slots, bool forget) {
  vector<Place> places(slots);
  auto slotOf = [&](u64 address) {
    return (address >> 9) * 0x9E3779B97F4A7C15 >> 32 & (slots - 1);
  };
  auto end = static_cast<u32>(events.size());
  u32 row = 0;
  for (u32 i = 0; i < end; ++i) {
    u64 address = events.address[i], ahead = events.address[std::min<u64>(i + kAhead, end - 1)];
    __builtin_prefetch(&places[slotOf(ahead)], 1);
    auto action = events.action[i];
    if (action == kOther) continue;
    u64 at = slotOf(address);
    while (places[at].address != address && places[at].address != 0) at = (at + 1) & (slots - 1);
    Place& place = places[at];
    if (action == kAlloc) {
      place = {address, row, place.lives + 1};
      rows.address[row] = address, rows.requested[row] = events.bytes[i];
      rows.block[row] = (events.bytes[i] + 511) & ~u64{511};
      rows.stack[row] = events.stack[i], rows.version[row] = place.lives;
      rows.first[row] = i, rows.last[row] = end, rows.free_requested[row] = UINT32_MAX;
      rows.stream[row] = 0, rows.pool[row] = 0, rows.flags[row] = 1, ++row;
    } else {
      (action == kRequested ? rows.free_requested : rows.last)[place.row] = i;
    }
    events.subject[i] = place.row;
    if (!forget || action != kCompleted) continue;
    for (u64 next = (at + 1) & (slots - 1); places[next].address != 0;
         next = (next + 1) & (slots - 1)) {
      u64 distance = (next - slotOf(places[next].address)) & (slots - 1);
      if (distance < ((next - at) & (slots - 1))) continue;
      places[at] = places[next], at = next;  // the gap is closed
    }
    places[at] = {};
  }
  return row;
}

void totals() {
  u64 now = 0, peak = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    u64 bytes = rows.block[events.subject[i]];
    now += events.action[i] == kAlloc ? bytes : events.action[i] == kCompleted ? -bytes : 0;
    peak = std::max(peak, now);
  }
  floors::used = peak;
}

// Outstanding bytes of each stack, and the least from there to the end.
void growth(size_t stacks) {
  struct State {
    u64 now, least;
  };
  vector<State> states(stacks);
  for (size_t i = events.size(); i-- > 0;) {
    __builtin_prefetch(&states[rows.stack[events.subject[i < kAhead ? 0 : i - kAhead]]], 1);
    if (events.action[i] != kAlloc && events.action[i] != kCompleted) continue;
    State& state = states[rows.stack[events.subject[i]]];
    u64 bytes = rows.block[events.subject[i]];
    state.now += events.action[i] == kAlloc ? -bytes : bytes;
    state.least = std::min(state.least, state.now);
  }
}

// The next live block, which limits what the allocator left at a block's end. One bit for each 512
// bytes of addresses.
void layout(u64 base, u64 bytes) {
  vector<u64> starts(bytes / 512 / 64 + 2);
  u64 sum = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    __builtin_prefetch(
        &starts[(events.address[std::min(i + kAhead, events.size() - 1)] - base) >> 15]);
    u64 bit = (events.address[i] - base) >> 9, word = bit >> 6;
    if (events.action[i] == kCompleted) starts[word] &= ~(u64{1} << (bit & 63));
    if (events.action[i] != kAlloc) continue;
    u64 rest = starts[word] & (~u64{1} << (bit & 63)),
        last = std::min(word + 64, starts.size() - 1);
    starts[word] |= u64{1} << (bit & 63);
    while (rest == 0 && word < last) rest = starts[++word];
    sum += rest;
  }
  floors::used = sum;
}
}  // namespace

int main() {
  if (!readEvents()) return 1;
  size_t count = events.size();
  auto births = static_cast<size_t>(std::count(events.action.begin(), events.action.end(), kAlloc));
  rows.resize(births + 1);
  auto [low, high] = std::minmax_element(events.address.begin(), events.address.end());
  u64 base = *low >> 21 << 21, bytes = *high - base;
  size_t stacks = *std::max_element(events.stack.begin(), events.stack.end()) + size_t{1};
  std::printf("%zu events, %zu allocations, %zu stacks, addresses of %.1f GB\n", count, births,
              stacks, static_cast<double>(bytes) / 1e9);
  measure("new pages: 54 bytes per allocation, 4 per event",
          [&] { floors::newPages(births * 54 + count * 4); });
  measure("read 29 bytes per event once", [&] {
    u64 sum = 0;
    for (size_t i = 0; i < count; ++i)
      sum +=
          events.action[i] + events.address[i] + events.bytes[i] + events.stack[i] + events.time[i];
    floors::used = sum;
  });
  measure("join in a table of the live addresses", [&] { join(u64{1} << 16, true); });
  measure("join in a table of all addresses", [&] { join(u64{1} << 20, false); });
  vector<u32> segment_at((bytes >> 21) + 1);
  measure("segment of each allocation, by its 2 MiB", [&] {
    for (size_t i = 0; i < births; ++i)
      rows.segment[i] = segment_at[(rows.address[i] - base) >> 21];
  });
  measure("totals: bytes and their peak", totals);
  measure("growth: bytes of each stack, and their least", [&] { growth(stacks); });
  measure("layout: the next live block of each allocation", [&] { layout(base, bytes); });
}
