// A dict of Python as a snapshot, without a pickle: what torch.cuda.memory._snapshot() returns.
//
//   {"segments": […], "device_traces": [[{"action": "alloc", …}]]}  ─►  steps of the machine
//
// An object with several references is sent once, as a pickler would. Objects other than dicts,
// lists, tuples, texts and numbers count as the text "<object>": no code of theirs runs.
// Cost: about 0.1 µs per value, with the GIL held; nothing recurses.
#pragma once

#include "python/binding/objects.h"
#include "readers/torch/snapshot_reader.h"

namespace tidegauge::python {

// Takes the GIL while it walks. `root` must live as long as the feed.
// `foreign`: how many objects of other types the last walk met.
readers::torch::FeedObjects feedOf(PyObject* root, uint64_t& foreign);

}  // namespace tidegauge::python
