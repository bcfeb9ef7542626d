#include "query/scan/schema.h"

namespace tidegauge::query {

// A test runs each on an example, so all of them work.
const std::vector<Question>& workedQuestions() {
  static const std::vector<Question> kQuestions = {
      {"Which allocations are live at a given step, largest first?",
       "SELECT address_id(a.address, a.version) AS block, human_bytes(a.block_bytes) AS size,\n"
       "       s.label AS allocated_by\n"
       "FROM live_at(0, 100) AS a LEFT JOIN stacks AS s ON s.id = a.stack_id\n"
       "ORDER BY a.block_bytes DESC"},
      {"Which allocations have a text in their stack?",
       "SELECT id AS allocation_id, address_id(address, version) AS block, requested_bytes,\n"
       "       alloc_step\n"
       "FROM allocations WHERE stack_text LIKE '%forward%'"},
      {"Which allocations are the largest?",
       "SELECT a.id AS allocation_id, a.block_bytes, a.alloc_step, a.free_completed_step,\n"
       "       s.label AS allocated_by\n"
       "FROM allocations AS a LEFT JOIN stacks AS s ON s.id = a.stack_id\n"
       "ORDER BY a.block_bytes DESC LIMIT 20"},
      {"Who holds the memory at the peak?",
       "SELECT s.label AS allocated_by, count(*) AS blocks, sum(a.block_bytes) AS bytes\n"
       "FROM devices AS d JOIN live_at(d.device, d.peak_active_step) AS a\n"
       "LEFT JOIN stacks AS s ON s.id = a.stack_id\n"
       "WHERE d.device = 0\n"
       "GROUP BY a.stack_id ORDER BY bytes DESC LIMIT 20"},
      {"Which named tensors take the most memory at the peak?",
       "SELECT t.name, t.kind, t.shape, t.dtype, a.block_bytes\n"
       "FROM devices AS d JOIN live_at(d.device, d.peak_active_step) AS a\n"
       "JOIN tensors AS t ON t.allocation_id = a.id AND t.is_main = 1\n"
       "WHERE d.device = 0 ORDER BY a.block_bytes DESC LIMIT 20"},
      {"How many events of each kind are there, and how many bytes?",
       "SELECT action, count(*) AS events, sum(size_bytes) AS bytes,\n"
       "       median(size_bytes) AS median_bytes\n"
       "FROM events GROUP BY action"},
      {"Where did it run out of memory, and how much was free?",
       "SELECT e.device, e.step, human_bytes(e.size_bytes) AS asked,\n"
       "       human_bytes(e.device_free_bytes) AS free_in_driver,\n"
       "       human_bytes(t.reserved_bytes) AS reserved, human_bytes(t.active_bytes) AS active\n"
       "FROM events AS e JOIN totals AS t ON t.device = e.device AND t.step = e.step\n"
       "WHERE e.action = 'oom'"},
      {"What was never freed, by source line?",
       "SELECT s.label AS allocated_by, count(*) AS blocks, sum(a.block_bytes) AS bytes\n"
       "FROM allocations AS a LEFT JOIN stacks AS s ON s.id = a.stack_id\n"
       "WHERE a.provenance = 'traced' AND a.free_requested_step IS NULL\n"
       "GROUP BY a.stack_id ORDER BY bytes DESC"},
      {"Which stacks hold more and more, step by step?",
       "SELECT label, human_bytes(per_step_bytes) AS per_step, human_bytes(retained_bytes) AS "
       "held,\n"
       "       blocks, since_step\n"
       "FROM growth(0)"},
      {"Which allocations are freed soon (churn)?",
       "SELECT label, blocks_10, human_bytes(within_10_bytes) AS size\n"
       "FROM churn(0) ORDER BY within_10_bytes DESC LIMIT 20"},
      {"Which segments stay reserved for only a few active bytes?",
       "SELECT b.segment_id, g.kind, g.total_bytes,\n"
       "       sum(b.size_bytes) FILTER (WHERE b.state <> 'inactive') AS used_bytes,\n"
       "       count(*) FILTER (WHERE b.state <> 'inactive') AS blocks\n"
       "FROM blocks AS b JOIN segments AS g ON g.id = b.segment_id\n"
       "GROUP BY b.segment_id HAVING used_bytes > 0\n"
       "ORDER BY used_bytes * 1.0 / g.total_bytes LIMIT 20"},
      {"What is the peak memory of each phase?",
       "SELECT p.name, p.begin_step, p.end_step, max(t.active_bytes) AS peak_active_bytes\n"
       "FROM annotations AS p JOIN totals AS t\n"
       "  ON t.device = p.device AND t.step >= p.begin_step AND t.step < p.end_step\n"
       "GROUP BY p.id ORDER BY p.begin_step"},
      {"Which functions appear in the stacks of the most memory?",
       "SELECT f.function, f.file, sum(h.bytes) AS bytes\n"
       "FROM (SELECT stack_id, sum(block_bytes) AS bytes FROM allocations GROUP BY stack_id) AS h\n"
       "JOIN (SELECT DISTINCT stack_id, frame_id FROM stack_frames) AS x ON x.stack_id = "
       "h.stack_id\n"
       "JOIN frames AS f ON f.id = x.frame_id\n"
       "WHERE f.kind = 'python' GROUP BY f.id ORDER BY bytes DESC LIMIT 20"},
      {"Which kernels were launched most often, and how large were they? (recordings)",
       "SELECT k.name, sum(l.count) AS launches,\n"
       "       max(l.grid_x * l.grid_y * l.grid_z) AS most_blocks,\n"
       "       max(l.block_x * l.block_y * l.block_z) AS most_threads\n"
       "FROM launches AS l LEFT JOIN kernels AS k USING (kernel_id)\n"
       "GROUP BY l.kernel_id ORDER BY launches DESC LIMIT 20"},
      {"How much was copied in each direction, and how fast? (recordings)",
       "SELECT c.direction, f.name AS function, sum(c.count) AS copies,\n"
       "       sum(c.size_bytes) AS copied_bytes, sum(c.failures) AS failures,\n"
       "       CASE WHEN count(c.transfer_ns) = count(*) AND sum(c.transfer_ns) > 0\n"
       "            THEN sum(c.size_bytes) * 1e9 / sum(c.transfer_ns) END AS bytes_per_s\n"
       "FROM copies AS c LEFT JOIN functions AS f USING (function_id)\n"
       "GROUP BY c.direction, c.function_id ORDER BY copied_bytes DESC"},
  };
  return kQuestions;
}

}  // namespace tidegauge::query
