#include "server/opening/rough_curve.h"

#include <algorithm>
#include <limits>

namespace tidegauge::server {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 60;  // a hostile file's sizes do not overflow

}  // namespace

void RoughCurve::endPoint() {
  most_.push_back(most_of_point_);
  steps_in_point_ = 0;
  most_of_point_ = bytes_;
  if (most_.size() < kMaxPoints) return;
  for (size_t i = 0; i < kMaxPoints / 2; ++i) most_[i] = std::max(most_[2 * i], most_[2 * i + 1]);
  most_.resize(kMaxPoints / 2);
  steps_per_point_ *= 2;
}

void RoughCurve::add(std::span<const model::Action> action, std::span<const uint64_t> size_bytes) {
  for (size_t i = 0; i < action.size(); ++i) {
    bool begins = action[i] == model::Action::kAlloc;
    bool ends = action[i] == model::Action::kFreeCompleted || action[i] == model::Action::kFree;
    auto size = static_cast<int64_t>(std::min(size_bytes[i], uint64_t{kMostBytes}));
    bytes_ += begins ? size : ends ? -size : 0;
    bytes_ = std::clamp(bytes_, -kMostBytes, kMostBytes);
    least_ = std::min(least_, bytes_);
    most_of_point_ = std::max(most_of_point_, bytes_);
    if (++steps_in_point_ == steps_per_point_) endPoint();
  }
  steps_ += action.size();
}

std::vector<uint64_t> RoughCurve::points() const {
  std::vector<uint64_t> points;
  for (int64_t bytes : most_) points.push_back(static_cast<uint64_t>(bytes - least_));
  if (steps_in_point_ > 0) points.push_back(static_cast<uint64_t>(most_of_point_ - least_));
  return points;
}

}  // namespace tidegauge::server
