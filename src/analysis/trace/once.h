// A value that several questions need: computed when one first asks for it, and kept.
//
//   Once<Growth> growth;     growth.get([&] { return slowly(); })     the second time: no call
//
// Thread-safe; callers at the same time wait for the one that computes. T may be incomplete here.
#pragma once

#include <memory>
#include <mutex>

namespace tidegauge::analysis {

template <class T>
class Once {
 public:
  template <class F>
  const T& get(F&& compute) const {
    std::call_once(computed_, [&] { value_ = std::make_shared<const T>(compute()); });
    return *value_;
  }

 private:
  mutable std::once_flag computed_;
  mutable std::shared_ptr<const T> value_;
};

}  // namespace tidegauge::analysis
