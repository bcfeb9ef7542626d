// The tables and views of a recording. Names and units as in docs/formats/recording.md; a test
// compares them.
#pragma once

#include <string_view>

namespace tidegauge::store {

// Tables contain what was recorded; views contain what follows from it, if plain SQL can derive it.
inline constexpr std::string_view kRecordingTables = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE processes(
  process_id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, parent_pid INTEGER, name TEXT NOT NULL,
  command TEXT, cgroup INTEGER, began_ns INTEGER NOT NULL, ended_ns INTEGER, exit_status INTEGER,
  end_reason TEXT) STRICT;
CREATE TABLE functions(
  function_id INTEGER PRIMARY KEY, name TEXT NOT NULL, plane TEXT NOT NULL, verb TEXT, kind TEXT
) STRICT;
CREATE TABLE calls(
  call_id INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  process_id INTEGER NOT NULL, thread INTEGER NOT NULL, function_id INTEGER NOT NULL,
  address INTEGER NOT NULL, size_bytes INTEGER NOT NULL, handle INTEGER NOT NULL,
  stream INTEGER NOT NULL, "offset" INTEGER NOT NULL, device INTEGER, code INTEGER NOT NULL,
  stack_id INTEGER, inner INTEGER NOT NULL, in_runtime INTEGER NOT NULL) STRICT;
CREATE TABLE modules(module_id INTEGER PRIMARY KEY, path TEXT NOT NULL, build_id TEXT) STRICT;
CREATE TABLE frames(
  frame_id INTEGER PRIMARY KEY, module_id INTEGER, "offset" INTEGER, function TEXT, file TEXT,
  line INTEGER) STRICT;
CREATE TABLE stacks(stack_id INTEGER PRIMARY KEY, depth INTEGER NOT NULL) STRICT;
CREATE TABLE stack_frames(
  stack_id INTEGER NOT NULL, place INTEGER NOT NULL, frame_id INTEGER NOT NULL,
  PRIMARY KEY(stack_id, place)) STRICT, WITHOUT ROWID;
CREATE TABLE devices(
  device INTEGER PRIMARY KEY, name TEXT, uuid TEXT, total_bytes INTEGER, pcie_generation INTEGER,
  pcie_lanes INTEGER) STRICT;
CREATE TABLE device_memory(
  time_ns INTEGER NOT NULL, device INTEGER NOT NULL, pid INTEGER, used_bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE kernels(
  kernel_id INTEGER PRIMARY KEY, process_id INTEGER NOT NULL, handle INTEGER NOT NULL, name TEXT,
  parameters TEXT) STRICT;
CREATE TABLE launches(
  begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, process_id INTEGER NOT NULL,
  kernel_id INTEGER NOT NULL, function_id INTEGER NOT NULL, grid_x INTEGER NOT NULL,
  grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL, block_x INTEGER NOT NULL,
  block_y INTEGER NOT NULL, block_z INTEGER NOT NULL, count INTEGER NOT NULL) STRICT;
CREATE TABLE launch_events(
  time_ns INTEGER NOT NULL, process_id INTEGER NOT NULL, thread INTEGER NOT NULL,
  kernel_id INTEGER NOT NULL, function_id INTEGER NOT NULL, grid_x INTEGER NOT NULL,
  grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL, block_x INTEGER NOT NULL,
  block_y INTEGER NOT NULL, block_z INTEGER NOT NULL, shared_bytes INTEGER NOT NULL,
  stream INTEGER NOT NULL, device INTEGER, stack_id INTEGER, arguments BLOB,
  parameters INTEGER) STRICT;
CREATE TABLE copies(
  begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, process_id INTEGER NOT NULL,
  direction TEXT NOT NULL, function_id INTEGER NOT NULL, submitted INTEGER NOT NULL,
  count INTEGER NOT NULL, size_bytes INTEGER NOT NULL, host_ns INTEGER NOT NULL,
  failures INTEGER NOT NULL) STRICT;
CREATE TABLE device_names(name_id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE device_activities(
  start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, process_id INTEGER NOT NULL,
  kind TEXT NOT NULL, direction TEXT, device INTEGER NOT NULL, context INTEGER NOT NULL,
  stream INTEGER NOT NULL, size_bytes INTEGER, correlation INTEGER NOT NULL, name_id INTEGER
) STRICT;
CREATE TABLE device_programs(
  time_ns INTEGER NOT NULL, process_id INTEGER, pid INTEGER NOT NULL, outcome TEXT NOT NULL,
  reason TEXT, library TEXT, version INTEGER, clock_error_ns INTEGER NOT NULL) STRICT;
CREATE TABLE losses(time_ns INTEGER NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL) STRICT;
CREATE TABLE unwatched(
  begin_ns INTEGER, end_ns INTEGER, process_id INTEGER, pid INTEGER, library TEXT, function TEXT,
  figures TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
)sql";

inline constexpr std::string_view kRecordingViews = R"sql(
CREATE VIEW call_log AS
  SELECT c.call_id, c.start_ns, c.end_ns, p.pid, p.name AS process, c.thread, f.plane,
    f.name AS function, f.verb, f.kind, c.address, c.size_bytes, c.handle, c.stream, c.device,
    c.code, c.stack_id, c.inner, c.in_runtime
  FROM calls c JOIN functions f USING(function_id) LEFT JOIN processes p USING(process_id);
CREATE VIEW failed_calls AS SELECT * FROM call_log WHERE code <> 0;
CREATE VIEW stack_lines AS
  SELECT s.stack_id, s.place, f.function, f.file, f.line, m.path AS module, f."offset"
  FROM stack_frames s JOIN frames f USING(frame_id) LEFT JOIN modules m USING(module_id);
CREATE VIEW driver_blocks AS
  SELECT process_id, address, size_bytes, kind, device, stack_id, end_ns AS allocated_ns,
    CASE WHEN next_verb = 'free' THEN next_ns END AS freed_ns
  FROM (SELECT c.*, f.kind, f.verb, lead(f.verb) OVER w AS next_verb, lead(c.end_ns) OVER w AS next_ns
        FROM calls c JOIN functions f USING(function_id)
        WHERE f.plane = 'driver' AND c.code = 0 AND c.address <> 0 AND f.verb IN ('allocate', 'free')
          AND f.kind IN ('device', 'managed', 'pool', 'pinned host', 'registered host')
        WINDOW w AS (PARTITION BY c.process_id, c.address ORDER BY c.end_ns, c.call_id))
  WHERE verb = 'allocate';
CREATE VIEW launch_counts AS
  SELECT l.process_id, k.name AS kernel, sum(l.count) AS count, min(l.begin_ns) AS begin_ns,
    max(l.end_ns) AS end_ns
  FROM launches l LEFT JOIN kernels k USING(kernel_id) GROUP BY l.process_id, l.kernel_id;
CREATE VIEW copy_sums AS
  SELECT process_id, direction, submitted, sum(count) AS count, sum(size_bytes) AS size_bytes,
    sum(host_ns) AS host_ns, sum(failures) AS failures
  FROM copies GROUP BY process_id, direction, submitted;
)sql";

}  // namespace tidegauge::store
