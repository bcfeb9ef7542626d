#include "report/oom/oom_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "base/sizes.h"
#include "report/oom/oom_driver_story.h"
#include "report/words/holder_names.h"
#include "report/words/pool_names.h"
#include "report/words/verdict_titles.h"

namespace tidegauge::report {
namespace {

using analysis::OomVerdict;
using analysis::Verdict;
using base::humanBytes;
using base::inOneUnit;
using base::inUnit;
using base::withCommas;

using Parts = std::vector<Part>;

// Rounded, a request of 10,496,512 B looks like one that fits into 10 MiB.
std::string roundedAndExact(uint64_t bytes) {
  return fmt::format("{} ({} B)", humanBytes(bytes), withCommas(bytes));
}

Link stateAt(analysis::Step step) { return {"state", "State", {{"at", std::to_string(step)}}}; }

void append(Parts& parts, Parts more) {
  parts.insert(parts.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

// The unit of the headline, so that a size reads the same everywhere.
std::optional<base::ByteUnit> unitOf(const OomVerdict& v) {
  return base::sharedUnit({v.request_bytes.value_or(0), v.driver_bytes.value_or(0), v.free_bytes});
}

Parts onFragmentation(const OomVerdict& v) {
  std::optional<base::ByteUnit> unit = unitOf(v);
  std::array<std::string, 4> sizes = {
      inUnit(v.pieces.bytes, unit), inUnit(v.pieces.largest_bytes, unit),
      inUnit(v.driver_bytes.value_or(0), unit), inUnit(v.missingBytes().value_or(0), unit)};
  Parts parts;
  if (v.pieces.count == 0) {
    append(parts, {plain(". The driver had "), strong(sizes[2]),
                   plain(" free, which is enough for the request, but the allocator requests "),
                   strong(humanBytes(v.wanted_bytes.value_or(0))), plain(" at once.")});
    return parts;
  }
  append(parts,
         {plain(". "), strong(sizes[0]), plain(" were in "), strong(freeRanges(v.pieces.count))});
  if (v.pieces.count > 1) append(parts, {plain(", the largest "), strong(sizes[1])});
  if (v.driver_bytes)
    append(parts, {plain(", and the driver had "), strong(sizes[2]), plain(" free")});
  bool one_is_enough = v.pieces.largest_bytes >= v.request_bytes.value_or(0);
  parts.push_back(plain(one_is_enough
                            ? ". Together that is enough, but a range that is large enough must "
                              "not serve this request (size class, max_split_size_mb)."
                            : ". Together that is enough, but no single range is."));
  if (v.missingBytes()) {
    append(parts, {plain(" A new segment needed "), strong(sizes[3]), plain(" more.")});
  }
  // Most of the pieces have one cause.
  if (v.rests.bytes > v.pieces.bytes / 2) {
    append(parts, {strong(" " + humanBytes(v.rests.bytes)), plain(" of it are the rests of "),
                   strong(base::counted(v.rests.segments, "segment")), plain(": a request of "),
                   strong(roundedAndExact(v.rests.request_bytes)), plain(" takes a segment of "),
                   strong(humanBytes(v.rests.segment_bytes)),
                   plain(" for itself, and its rest is too small for another such request.")});
  }
  return parts;
}

// The whole of a pool's story is in poolSentences().
Parts onHeldInPool(const OomVerdict& v) {
  Parts parts = {
      plain(". "), strong(humanBytes(v.held_bytes)),
      plain(v.pools.size() == 1 ? " are free in a private pool" : " are free in private pools"),
      plain(", where only requests of the same pool can use them.")};
  if (v.held_whole_bytes > 0) {
    append(parts,
           {plain(" "), strong(humanBytes(v.held_whole_bytes)),
            plain(" of it are whole free segments. The allocator returns these to the driver "
                  "only after the pool is no longer in use.")});
  }
  return parts;
}

Parts onNoFlush(const OomVerdict& v) {
  return {
      plain(". "), strong(humanBytes(v.unflushed_bytes)),
      plain(
          " are still reserved in whole free segments (or pages) of the default pool. The "
          "allocator returns these before a request fails, except while a CUDA graph is captured. "
          "So this request failed during a capture.")};
}

Parts onNeverFits(const OomVerdict& v, uint64_t too_many) {
  uint64_t most = *v.request_bytes - too_many;
  std::vector<std::string> sizes = inOneUnit({*v.request_bytes, too_many, most});
  return {plain(". The request could never fit: it is "),
          strong(sizes[1]),
          plain(" more than "),
          plain(v.total_bytes ? "the device has" : "the process could have had"),
          plain(" even with nothing else held ("),
          strong(sizes[2]),
          plain(").")};
}

Parts onCap(const OomVerdict& v) {
  std::optional<base::ByteUnit> unit = unitOf(v);
  Parts parts = {plain(". The driver had "), strong(inUnit(*v.driver_bytes, unit)),
                 plain(" free, and the allocator needed "), strong(inUnit(*v.wanted_bytes, unit)),
                 plain(".")};
  if (!v.cap) return parts;
  std::vector<std::string> sizes = inOneUnit({v.cap->least_bytes, v.cap->below_bytes});
  if (!v.cap->isFixed()) {
    bool had_it = v.cap->most_reserved_bytes == v.cap->least_bytes;
    append(parts,
           {plain(" Memory was probably freed after the refusal, by this or another process, "
                  "because no fixed limit explains it: "),
            plain(had_it ? "the process had " : "the settings allow "), strong(sizes[0]),
            plain(had_it ? " reserved at some time" : ""),
            plain(", and a request that would have reached "), strong(sizes[1]),
            plain(" failed. A memory fraction explains it only if the "
                  "program set it in between.")});
    return parts;
  }
  if (v.cap->fraction) {
    append(parts, {plain(" The settings limit this process to "),
                   strong(fmt::format("{:g}", *v.cap->fraction)),
                   plain(" of the device (per_process_memory_fraction).")});
  } else {
    parts.push_back(plain(" A memory fraction has this effect."));
  }
  append(
      parts,
      {plain(" The limit is between "), strong(sizes[0]), plain(" and "), strong(sizes[1]),
       plain(!v.cap->would_fit   ? "."
             : *v.cap->would_fit ? ". A perfect allocator could have served the request below it."
                                 : ". Even a perfect allocator would exceed it.")});
  return parts;
}

bool ofDriver(const OomVerdict& v) { return v.allocator == analysis::AllocatorKind::kDriver; }

Parts onRow(const OomVerdict& v, const analysis::VerdictRow& row) {
  if (ofDriver(v)) return onDriverRow(v, row);
  std::string bytes = humanBytes(row.bytes);
  std::string lacking = inUnit(v.lackingBytes(), unitOf(v));
  switch (row.verdict) {
    case Verdict::kFragmentation:
      return onFragmentation(v);
    case Verdict::kOtherPool:
      return {plain(". "), strong(bytes),
              plain(" in free blocks that are large enough belong to another pool or stream, where "
                    "the allocator must not use them.")};
    case Verdict::kCapacity:
      return {plain(". Even if all free memory were one range, "), strong(lacking),
              plain(" would be missing.")};
    case Verdict::kWaste:
      return {plain(". Active blocks and the request are up to "), strong(bytes),
              plain(" larger than what the program requested. Even if all free memory were one "
                    "range, "),
              strong(lacking), plain(" would be missing.")};
    case Verdict::kOthers:
      if (!v.total_bytes) {
        return {plain(". At least "), strong(bytes),
                plain(" that were available to this process at another step were not available "
                      "here.")};
      }
      return {plain(". "), strong(bytes),
              plain(" of the device are outside this allocator (CUDA contexts, libraries, other "
                    "processes).")};
    case Verdict::kCap:
      return onCap(v);
    case Verdict::kFlaw:
      return {plain(". A free block of "), strong(bytes),
              plain(" fits. The allocator does not search again after it has flushed its cache.")};
    case Verdict::kHeldInPool:
      return onHeldInPool(v);
    case Verdict::kNoFlush:
      return onNoFlush(v);
    case Verdict::kNeverFits:
      return onNeverFits(v, row.bytes);
  }
  return {};
}

std::string whyUnknown(const OomVerdict& v) {
  if (!v.request_bytes) return "The file does not contain a plausible size of the request.";
  if (v.most_driver_bytes) {
    std::string words = fmt::format(
        "The file does not contain the free memory of the driver. It was {} at most, because the "
        "device has {} and this process held {}.",
        base::sizeOrZero(*v.most_driver_bytes), humanBytes(*v.total_bytes),
        base::sizeOrZero(v.reserved_bytes));
    uint64_t wanted = *v.request_bytes - std::min(v.free_bytes, *v.request_bytes);
    if (!ofDriver(v) && wanted > *v.most_driver_bytes) {
      words +=
          " Even together with the free memory inside segments, that is less than the request.";
    }
    return words;
  }
  if (!v.driver_bytes) return "The file does not contain the free memory of the driver.";
  if (ofDriver(v)) return whyRefusedWithEnough(v);
  return "The rules of this allocator are unknown.";
}

std::string blockSizes(const analysis::StackPins& pins) {
  if (pins.smallest_bytes == pins.largest_bytes) return humanBytes(pins.smallest_bytes);
  return fmt::format("{} to {}", humanBytes(pins.smallest_bytes), humanBytes(pins.largest_bytes));
}

// Reserved and driver memory can exceed the device: a pool with an allocator of its own may unmap
// its memory, and PyTorch still counts it.
Sentence unmappedSentence(const OomVerdict& v, const analysis::PoolShare& share,
                          const std::string& name, std::string sql) {
  Sentence sentence{
      {}, Link{"oom", "Out of memory", {{"at", std::to_string(v.step)}}}, std::move(sql)};
  if (v.not_on_device_bytes > 0) {
    sentence.sql = fmt::format(
        "SELECT not_on_device_bytes, (SELECT live_bytes FROM private_pools({}, {}) WHERE pool_id = "
        "{}) AS live_bytes FROM {} WHERE step = {} LIMIT 1",
        v.device, v.step, share.pool.value, verdictTable(v), v.step);
    sentence.parts = {strong(humanBytes(v.not_on_device_bytes)),
                      plain(" of the reserved memory are not on the device. " + name +
                            " probably has an allocator of its own that unmapped its memory (as "
                            "vLLM's sleep mode does); PyTorch still counts "),
                      strong(humanBytes(share.live_bytes)), plain(" there as active.")};
    return sentence;
  }
  sentence.parts = {
      strong(humanBytes(share.live_bytes)),
      plain(
          " of the active memory belong to " + name +
          ". If that pool has an allocator of its own that unmaps its memory (as vLLM's sleep mode "
          "does), this memory is not on the device, and freeing it returns nothing. "
          "--capacity BYTES shows whether the sum exceeds the device.")};
  return sentence;
}

// The numbers in the sentence on that reason.
std::string verdictSql(const OomVerdict& v, const analysis::VerdictRow& row) {
  std::string numbers = "bytes";
  if (row.verdict == Verdict::kFragmentation) {
    numbers += ", pieces, largest_piece_bytes, driver_bytes, missing_bytes, wanted_bytes";
  } else if (row.verdict == Verdict::kCapacity || row.verdict == Verdict::kWaste) {
    numbers += ", lacking_bytes";
  } else if (row.verdict == Verdict::kCap) {
    numbers += ", driver_bytes, wanted_bytes, cap_least_bytes, cap_below_bytes, fraction";
  } else if (row.verdict == Verdict::kHeldInPool) {
    numbers += ", held_whole_bytes";
  } else if (row.verdict == Verdict::kNeverFits) {
    numbers += ", request_bytes - bytes AS most_bytes";
  }
  if (row.verdict == Verdict::kFragmentation && v.rests.bytes > v.pieces.bytes / 2)
    numbers += ", rest_bytes, rest_segments, rest_request_bytes, rest_segment_bytes";
  if (!row.certain) numbers += ", uncertain_bytes";
  if (ofDriver(v)) {
    numbers =
        "bytes, reserved_bytes, driver_bytes, total_bytes, told_free_bytes, "
        "abs(told_taken_bytes) AS taken_bytes, abs(told_before_us) / 1e6 AS "
        "told_before_seconds, reserved_bytes + request_bytes - total_bytes AS too_much_bytes, "
        "request_bytes - bytes AS most_bytes";
  }
  return fmt::format("SELECT {} FROM {} WHERE step = {} AND verdict = '{}'", numbers,
                     verdictTable(v), v.step, analysis::name(row.verdict));
}

}  // namespace

std::string verdictTable(const OomVerdict& v) {
  return v.total_bytes ? fmt::format("oom_verdicts_at({}, {})", v.device, *v.total_bytes)
                       : fmt::format("oom_verdicts({})", v.device);
}

std::string adviceTable(int device, std::optional<uint64_t> capacity_bytes) {
  return capacity_bytes ? fmt::format("advice_at({}, {})", device, *capacity_bytes)
                        : fmt::format("advice({})", device);
}

Link oomPage(analysis::Step step) {
  return {"oom", "Out of memory", {{"at", std::to_string(step)}}};
}

std::vector<Sentence> verdictSentences(const OomVerdict& v) {
  std::vector<Sentence> sentences;
  for (const analysis::VerdictRow& row : v.rows) {
    Sentence sentence{{strong(title(v, row.verdict))}, oomPage(v.step), verdictSql(v, row)};
    append(sentence.parts, onRow(v, row));
    if (!row.certain && !ofDriver(v) && v.uncertain_bytes > 0) {
      sentence.parts.push_back(
          plain(fmt::format(" The sizes of blocks from before the recording are uncertain by up to "
                            "{} in total, which could change this verdict.",
                            humanBytes(v.uncertain_bytes))));
    }
    sentences.push_back(std::move(sentence));
  }
  if (sentences.empty()) {
    sentences.push_back({{strong("No verdict"), plain(". " + whyUnknown(v))}, oomPage(v.step)});
  }
  return sentences;
}

std::vector<Sentence> poolSentences(const analysis::AnalysedTrace& analysed, const OomVerdict& v,
                                    size_t most) {
  std::vector<Sentence> sentences;
  auto sqlOf = [&](const analysis::PoolShare& share) {
    return fmt::format(
        "SELECT number, free_bytes, live_bytes, live_blocks FROM private_pools({}, {}) "
        "WHERE pool_id = {}",
        v.device, v.step, share.pool.value);
  };
  bool is_held = v.find(Verdict::kHeldInPool) != nullptr;
  for (const analysis::PoolShare& share : v.pools) {
    if (sentences.size() == most) break;
    std::string name = poolName(analysed.trace, share.pool);
    if (is_held && share.free_bytes > 0) {
      Sentence sentence{{strong(name), plain(" keeps "), strong(humanBytes(share.free_bytes)),
                         plain(" free and has ")},
                        oomPage(v.step),
                        sqlOf(share)};
      if (share.live_bytes == 0) {
        sentence.parts.push_back(plain("no active block."));
      } else {
        append(sentence.parts, {strong(humanBytes(share.live_bytes)), plain(" active in "),
                                strong(base::counted(share.live_blocks, "block"))});
        if (share.stack.valid())
          append(sentence.parts, {plain(", most from "), code(oneName(analysed, share.stack))});
        sentence.parts.push_back(plain("."));
      }
      sentences.push_back(std::move(sentence));
    } else if (v.mayBeUnmapped(analysed.trace, share)) {
      sentences.push_back(unmappedSentence(v, share, name, sqlOf(share)));
    }
  }
  return sentences;
}

std::vector<Sentence> refusalSentences(const analysis::DeviceAnalysis& device,
                                       const std::vector<analysis::OomReport>& ooms, size_t index) {
  analysis::RefusalSeries series = analysis::seriesAround(ooms, index);
  const analysis::OomReport& first = ooms[series.first];
  const analysis::OomReport& last = ooms[series.last];
  if (series.requests == 1) return {};
  bool falls = series.first != series.last;
  Sentence sentence{
      {plain(falls ? "Requests of its call site failed " : "The request failed "),
       strong(base::counted(series.requests, "time")), plain(" in a row")},
      oomPage(ooms[index].step),
      fmt::format(
          "SELECT sum(ifnull(refusals, 1)) AS refusals, max(requested_bytes) AS most_bytes, "
          "min(requested_bytes) AS least_bytes, datetime(min(first_refused_time_us) / "
          "1000000, 'unixepoch') AS first_refused, (max(time_us) - "
          "min(first_refused_time_us)) / 1e6 AS seconds FROM ooms({}) WHERE series = {}",
          device.device.ordinal, first.series)};
  if (falls) {
    append(sentence.parts, {plain(", from "), strong(humanBytes(*first.requested_bytes)),
                            plain(" down to "), strong(humanBytes(*last.requested_bytes))});
  }
  std::string when;
  if (first.first_refusal_ns) {
    when = ", first at " + base::utcTime(*first.first_refusal_ns);
    int64_t last_us = device.time.timeOf(last.step);
    int64_t first_us = *first.first_refusal_ns / 1000;
    if (last_us != model::kNoTime)
      when += fmt::format(", last {:.3f} s later", static_cast<double>(last_us - first_us) / 1e6);
  }
  sentence.parts.push_back(plain(when + "."));
  return {std::move(sentence)};
}

std::string poolMark(const model::Trace& trace, const std::optional<OomVerdict>& verdict,
                     const analysis::StackGroup& group) {
  if (!verdict || !group.stack.valid()) return {};
  if (analysis::bytesInOwnAllocators(trace, verdict->pools, group.stack) < group.block_bytes)
    return {};
  return verdict->not_on_device_bytes > 0 ? " (unmapped)" : " (MemPool)";
}

Sentence sumSentence(const OomVerdict& v, uint64_t unmapped_bytes) {
  uint64_t driver = v.driver_bytes.value_or(0);
  uint64_t other = v.otherBytes().value_or(0);
  uint64_t whole = v.otherBytes() ? *v.total_bytes : v.ceilingBytes().value_or(v.reserved_bytes);
  std::vector<std::string> sizes = inOneUnit({v.live_bytes, v.free_bytes, driver, other, whole});
  Parts held = {strong(sizes[0]), plain(" active + "), strong(sizes[1]),
                plain(" free inside segments")};
  if (ofDriver(v)) held = {strong(sizes[0]), plain(" held by this process")};
  Sentence sentence{
      std::move(held), oomPage(v.step),
      fmt::format("SELECT live_bytes, free_bytes, driver_bytes, other_bytes, ceiling_bytes, "
                  "total_bytes, reserved_bytes, difference_bytes FROM {} WHERE step = {} LIMIT 1",
                  verdictTable(v), v.step)};
  if (v.driver_bytes) {
    append(sentence.parts, {plain(" + "), strong(sizes[2]), plain(" free in the driver")});
  }
  if (v.otherBytes()) append(sentence.parts, {plain(" + "), strong(sizes[3]), plain(" elsewhere")});
  bool is_sum = !ofDriver(v) || v.driver_bytes;
  bool is_limited = (v.cap && v.cap->isFixed()) ||
                    (v.limit_bytes && *v.limit_bytes < v.ceilingBytes().value_or(0));
  if (is_sum) append(sentence.parts, {plain(" = "), strong(sizes[4])});
  append(sentence.parts, {plain(v.otherBytes()              ? ", the whole device."
                                : v.not_on_device_bytes > 0 ? "."
                                : is_limited ? ", the memory available without the limit."
                                : v.driver_bytes && unmapped_bytes > 0
                                    ? ", the most that this process could have had."
                                : v.driver_bytes ? ", the memory available to this process."
                                : ofDriver(v)    ? "."
                                                 : " reserved.")});
  if (v.not_on_device_bytes > 0) {
    append(sentence.parts, {plain(" The device has "), strong(humanBytes(*v.total_bytes)),
                            plain(", which is less than this sum.")});
  }
  if (v.differenceBytes() != 0) {
    sentence.parts.push_back(
        plain(fmt::format(" The parts do not add up; the file contradicts itself by {}.",
                          base::humanDelta(v.differenceBytes()))));
  }
  return sentence;
}

std::vector<Sentence> pinSentences(const analysis::AnalysedTrace& analysed, int device,
                                   const analysis::Pinned& pinned, analysis::Step step,
                                   size_t most) {
  std::vector<Sentence> sentences;
  for (const analysis::StackPins& pins : pinned.stacks) {
    if (sentences.size() == most || !pinned.isMajor(pins)) break;
    bool one = pins.blocks == 1;
    Sentence sentence{
        {strong(one ? "One block" : withCommas(pins.blocks) + " blocks"),
         plain(" of " + blockSizes(pins) + " from "), code(oneName(analysed, pins.stack)),
         plain(one ? " keeps " : " keep "), strong(humanBytes(pins.pinsBytes())),
         plain(" of free memory from the driver")},
        stateAt(step),
        fmt::format("SELECT blocks, smallest_bytes, largest_bytes, pins_bytes, "
                    "shared_bytes FROM pins({}, {}) WHERE stack_id IS {}",
                    device, step, pins.stack.valid() ? std::to_string(pins.stack.value) : "NULL")};
    if (pins.shared_bytes > 0) {
      sentence.parts.push_back(plain(
          pins.alone_bytes == 0 ? ", together with blocks of other stacks"
                                : fmt::format(", {} of it together with blocks of other stacks",
                                              humanBytes(pins.shared_bytes))));
    }
    sentence.parts.push_back(plain("."));
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace tidegauge::report
