// What any program must do at least to read a snapshot with rich stacks.
//
//   read_floor 4m.pickle
//
// The file's bytes are looked at. Lists of frames and events are made up, as many as the 4.5 M file
// has.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "floors.h"

namespace {
using floors::measure;
using std::vector;
using u32 = uint32_t;
using u64 = uint64_t;

constexpr size_t kEvents = 4'497'936, kStacks = 641'326, kDepth = 108, kFrames = 20'000;
constexpr size_t kReference = 5;  // bytes: 'j', the number of a frame

void look(const char* bytes, size_t count) {
  u64 sum = 0;
  for (size_t i = 0; i < count; i += 64) sum += static_cast<unsigned char>(bytes[i]);
  floors::used = sum;
}

bool readFile(const char* path) {
  int file = open(path, O_RDONLY);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0) return false;
  auto bytes = static_cast<size_t>(about.st_size);
  measure("map the file, look at each cache line, unmap it", [&] {
    void* at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    look(static_cast<const char*>(at), bytes);
    munmap(at, bytes);
  });
  vector<char> buffer(1U << 18);
  measure("or copy it by pread() to 256 KiB, look at each cache line", [&] {
    for (off_t at = 0, got = 0; (got = pread(file, buffer.data(), buffer.size(), at)) > 0;
         at += got)
      look(buffer.data(), static_cast<size_t>(got));
  });
  close(file);
  return true;
}

// Lists that differ in their last 12 frames, as those of one training step do.
vector<char> makeLists() {
  vector<char> lists(kStacks * kDepth * kReference);
  std::mt19937 random(1);
  for (size_t i = 0; i < kStacks * kDepth; ++i) {
    char* at = &lists[i * kReference];
    auto frame = static_cast<u32>(random() % kFrames);
    *at = 'j';
    bool is_new = i < kDepth || i % kDepth >= kDepth - 12;
    std::memcpy(at + 1, is_new ? reinterpret_cast<char*>(&frame) : at + 1 - kDepth * kReference, 4);
  }
  return lists;
}

// Decodes each list, keeps its frames in two bytes each, and looks the stack up by its hash, after
// `later` more lists were decoded: its place in the table is fetched meanwhile.
void readStacks(const vector<char>& lists, const vector<uint16_t>& frame_of, vector<uint16_t>& kept,
                size_t later) {
  vector<u64> table(1U << 21), hashes(kStacks);
  auto lookUp = [&](u64 hash) {
    size_t at = hash & (table.size() - 1);
    while (table[at] != 0 && table[at] != hash) at = (at + 1) & (table.size() - 1);
    table[at] = hash;
  };
  for (size_t stack = 0; stack < kStacks; ++stack) {
    uint16_t* frames = &kept[stack * kDepth];
    const char* list = &lists[stack * kDepth * kReference];
    for (size_t i = 0; i < kDepth; ++i, list += kReference) {
      u32 number;
      std::memcpy(&number, list + 1, 4);
      if (*list != 'j' || number >= kFrames) return;
      frames[i] = frame_of[number];
    }
    u64 hash = 1, four;
    for (size_t i = 0; i < kDepth; i += 4) {
      std::memcpy(&four, frames + i, 8);
      hash = (hash ^ four) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 29;
    }
    hashes[stack] = hash | 1;
    if (later > 0) __builtin_prefetch(&table[hashes[stack] & (table.size() - 1)], 1);
    if (stack >= later) lookUp(hashes[stack - later]);
  }
  for (size_t stack = kStacks - later; stack < kStacks; ++stack) lookUp(hashes[stack]);
}

// Lists that are seen again: each is compared with the one that followed its predecessor before.
void compareLists(const vector<char>& lists, const vector<char>& before) {
  constexpr size_t kAgain = 2'357'219, kBytes = 127;
  size_t same = 0;
  for (size_t i = 0; i < kAgain; ++i)
    same += std::memcmp(&lists[i * kBytes], &before[i * kBytes], kBytes) == 0 ? 1 : 0;
  floors::used = same;
}

// Five values, each after 13 bytes that are the same in every event. A value is an opcode and one,
// two or four bytes.
constexpr char kFixed[] = "h\x11h\x12h\x13h\x14h\x15h\x16u";

vector<char> makeEvents() {
  vector<char> text;
  std::mt19937 random(1);
  for (size_t i = 0; i < kEvents * 5; ++i) {
    text.insert(text.end(), kFixed, kFixed + 13);
    auto value = static_cast<u32>(random());
    size_t length = i % 5 == 0 ? 1 : i % 5 == 1 ? size_t{1} << value % 3 : 4;
    text.push_back(length == 1 ? 'K' : length == 2 ? 'M' : 'J');
    text.insert(text.end(), reinterpret_cast<char*>(&value),
                reinterpret_cast<char*>(&value) + length);
  }
  text.resize(text.size() + 16);
  return text;
}

void readEvents(const vector<char>& text, vector<u32>& columns) {
  const char* at = text.data();
  for (u32& row : columns) {
    if (std::memcmp(at, kFixed, 13) != 0) return;
    unsigned length = at[13] == 'K' ? 1 : at[13] == 'M' ? 2 : 4;
    u32 value;
    std::memcpy(&value, at + 14, 4);
    row = value & (UINT32_MAX >> (32 - 8 * length));
    at += 14 + length;
  }
}
}  // namespace

int main(int count, char** words) {
  if (count < 2 || !readFile(words[1])) return 1;
  measure("new pages: 29 bytes per event", [] { floors::newPages(kEvents * 29); });
  measure("new pages: 4 bytes for each of 3 M lists", [] { floors::newPages(size_t{12} << 20); });
  measure("new pages: 2 bytes per frame", [] { floors::newPages(kStacks * kDepth * 2); });
  vector<uint16_t> frame_of(kFrames), kept(kStacks * kDepth);
  for (size_t i = 0; i < kFrames; ++i) frame_of[i] = static_cast<uint16_t>(i);
  vector<char> lists = makeLists(), text = makeEvents();
  measure("stacks: decode, keep, hash, look up", [&] { readStacks(lists, frame_of, kept, 0); });
  measure("the same, looked up 16 lists later", [&] { readStacks(lists, frame_of, kept, 16); });
  vector<char> before = lists;
  measure("lists seen before: compare", [&] { compareLists(lists, before); });
  vector<u32> columns(kEvents * 5);
  measure("events: compare what is the same, decode five values",
          [&] { readEvents(text, columns); });
}
