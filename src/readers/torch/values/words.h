// Words: the keys and fixed values of a snapshot, as one byte each. A string is looked up once, on
// first use; after that, comparing a key is comparing a byte.
//
//   wordOf("addr") == Word::kAddr        wordOf("frobnicate") == Word::kOther
//
// Source: docs/formats/snapshot.md.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>

#include "model/trace.h"

namespace tidegauge::readers::torch {

enum class Word : uint8_t {
  kOther,  // any other text
  // values of "action", in the order of model::Action
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kFree,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kOom,
  kSnapshot,
  kAnnotate,
  kUserDefined,
  // trace entry
  kAction,
  kAddr,
  kDeviceFree,
  kSize,
  kStream,
  kTimeUs,
  kFrames,
  kCompileContext,
  kUserMetadata,
  kInternalMetadata,
  kPoolId,
  kForwardFrames,
  kCategory,
  // frame
  kFilename,
  kLine,
  kName,
  kFxNodeOp,
  kFxNodeName,
  kFxNodeTarget,
  kFxNodeInfo,
  kFxOriginalTrace,
  // top level
  kSegments,
  kDeviceTraces,
  kAllocatorSettings,
  kExternalAnnotations,
  kHostSegments,
  kHostTraces,
  kTidegauge,
  // segment and block
  kDevice,
  kAddress,
  kTotalSize,
  kAllocatedSize,
  kActiveSize,
  kRequestedSize,
  kSegmentType,
  kSegmentPoolId,
  kIsExpandable,
  kBlocks,
  kState,
  kHistory,
  kRealSize,
  kLarge,
  kSmall,
  kActiveAllocated,
  kActivePendingFree,
  kActiveAwaitingFree,
  kInactive,
  // annotation
  kStage,
  kStart,
  kEnd,
  // settings that the model keeps by name
  kCudaAllocConf,
  kAllocConf,
  kMaxSplitSize,
  kExpandableSegments,
  kRoundupPower2Divisions,
  kMaxRoundThreshold,
  kTraceAllocOverflowed,
  kTraceAllocMaxEntries,
  kCount,
};

Word wordOf(std::string_view text);

// The known keys of one dict, to detect duplicates.
class KeySet {
 public:
  // False if the key occurred before. Unknown keys are not distinguished.
  bool meet(Word key) {
    auto bit = static_cast<size_t>(key);
    if (key == Word::kOther) return true;
    bool first = !met_[bit];
    met_[bit] = true;
    return first;
  }

 private:
  std::bitset<static_cast<size_t>(Word::kCount)> met_;
};

// For a word that names an action.
inline bool isAction(Word word) { return word >= Word::kAlloc && word <= Word::kUserDefined; }
inline model::Action actionOf(Word word) {
  return static_cast<model::Action>(static_cast<uint8_t>(word) -
                                    static_cast<uint8_t>(Word::kAlloc));
}

}  // namespace tidegauge::readers::torch
