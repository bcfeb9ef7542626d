// The answers of the map, state, flame, tables and filters, as docs/formats/page-api.md has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "server/application.h"
#include "server/http/json.h"
#include "server/session/kept.h"
#include "server/session/questions.h"
#include "support/bytes.h"
#include "support/simulated_heap.h"
#include "support/trace_builder.h"
#include "view/map/address_map.h"
#include "view/timeline/stack_tile.h"

namespace tidegauge::server {
namespace {

class ViewsTest : public ::testing::Test {
 protected:
  ViewsTest() : app_(session(), Gate("secret", 8800)) {}

  static Session session() {
    std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
    testing::TraceBuilder b;
    b.time(1000).segmentAlloc(0x7f0000000000, 64 * kMiB);
    b.stack({"attention@attn.py:9", "step@train.py:63"}).alloc(0x7f0000000000, 4 * kMiB);
    b.stack({"forward@model.py:5", "step@train.py:63"}).alloc(0x7f0000400000, 8 * kMiB);
    b.free(0x7f0000000000, 4 * kMiB);
    b.oom(3 * kMiB, 100 * kMiB);
    b.annotation("forward, \"first\"", 1000, 1003);
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(
        testing::simulate({.seed = 3, .events = 400}).trace));
    testing::TraceBuilder empty;
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(empty.build()));
    testing::TraceBuilder named;
    named.time(1000).segmentAlloc(0x7f0000000000, 64 * kMiB);
    named.alloc(0x7f0000000000, 4 * kMiB).alloc(0x7f0000400000, 8 * kMiB);
    named.tensor(0x7f0000400000, "embed.weight").tensor(0x7f0000400000, "head.weight");
    named.tensor(0x10, "gone", model::TensorKind::kOther);
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(named.build()));
    return openSession(std::move(traces));
  }

  Response get(const std::string& question) {
    Request request;
    request.target = "/secret/" + question;
    request.hosts = {"127.0.0.1:8800"};
    return app_.answer(request, {});
  }
  json getJson(const std::string& question) {
    Response response = get(question);
    EXPECT_EQ(response.status, 200) << question << ": " << response.body;
    json parsed = json::parse(response.body, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << question << ": " << response.body;
    return parsed;
  }

  Application app_;
};

// Without recorded blocks of an allocator, the driver is asked, and there is no forecast.
TEST(FragAnswers, MemoryOfTheDriverHasNoFitsAndNoForecast) {
  for (bool has_allocator : {true, false}) {
    model::Trace trace = testing::simulate({.seed = 3, .events = 400}).trace;
    trace.devices.at(0).has_allocator = has_allocator;
    std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
    Application app(openSession(std::move(traces)), Gate("secret", 8800));
    auto ask = [&](const std::string& target) {
      Request request;
      request.hosts = {"127.0.0.1:8800"};
      request.target = "/secret/api/" + target;
      return json::parse(app.answer(request, {}).body);
    };
    json fit = ask("fit?bytes=2097152");
    EXPECT_EQ(fit["allocator"], has_allocator ? "caching" : "driver");
    EXPECT_EQ(fit["rules_known"], has_allocator);
    EXPECT_TRUE(fit["driver_free"].is_null());
    EXPECT_EQ(ask("forecast")["enough"], has_allocator);
    EXPECT_EQ(ask("frag_at")["now"]["reserved"].is_object(), has_allocator);
    EXPECT_EQ(ask("frag")["columns"]["reserved_score"][0].is_number(), has_allocator);
    EXPECT_EQ(ask("frag")["columns"]["address_score"][0].is_number(), has_allocator);
  }
}

// The GPU allocator's rules do not apply to pinned host memory.
TEST(FragAnswers, PinnedHostMemoryHasNoFits) {
  for (auto kind : {model::DeviceKind::kGpu, model::DeviceKind::kPinnedHost}) {
    testing::TraceBuilder b;
    b.finalSegment(0x7f0000000000, 8 * kMiB).block(8 * kMiB, model::BlockState::kInactive);
    model::Trace trace = b.build();
    trace.devices.at(0).kind = kind;
    std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
    Application app(openSession(std::move(traces)), Gate("secret", 8800));
    Request request;
    request.hosts = {"127.0.0.1:8800"};
    request.target = "/secret/api/fit?bytes=2097152";
    json fit = json::parse(app.answer(request, {}).body);
    bool gpu = kind == model::DeviceKind::kGpu;
    EXPECT_EQ(fit["rules_known"], gpu);
    EXPECT_EQ(fit["lists"].size(), gpu ? 1 : 0);
    EXPECT_EQ(fit["free_bytes"], 8 * kMiB);
  }
}

// The forecast at a step uses the data up to that step, and is shown with the later scores.
TEST_F(ViewsTest, ForecastFollowsTheStep) {
  json session = getJson("api/session");
  uint64_t events = session["files"][1]["devices"][0]["events"];
  json end = getJson("api/forecast?file=1");
  EXPECT_TRUE(end["enough"]);
  EXPECT_EQ(end["history"], 50);
  EXPECT_EQ(end["checked"], 42);
  EXPECT_EQ(end["from_step"], events - 1);
  EXPECT_EQ(end["came"], json::array({nullptr, nullptr, nullptr}));
  EXPECT_EQ(end["steps"].size(), 3);
  EXPECT_GT(end["steps"][0], events - 1);

  json middle = getJson("api/forecast?file=1&step=" + std::to_string(events / 2));
  uint64_t from = middle["from_step"];
  EXPECT_LE(from, events / 2);
  EXPECT_GT(from, events / 2 - events / 100);
  for (size_t k = 0; k < 3; ++k) {
    uint64_t step = middle["steps"][k];
    EXPECT_GT(step, events / 2);
    json there = getJson("api/frag_at?file=1&step=" + std::to_string(step));
    EXPECT_DOUBLE_EQ(middle["came"][k], there["now"]["reserved"]["score"]);
  }
  json before = getJson("api/frag_at?file=1&step=" + std::to_string(from));
  EXPECT_DOUBLE_EQ(middle["now"], before["now"]["reserved"]["score"]);

  json early = getJson("api/forecast?file=1&arena=address&step=0");
  EXPECT_FALSE(early["enough"]);
  EXPECT_EQ(early["history"], 1);
  EXPECT_EQ(early["checked"], 0);
  EXPECT_EQ(early["from_step"], 0);
  EXPECT_EQ(get("api/forecast?file=1&arena=both").status, 400);
  // A device without events has one sample.
  EXPECT_FALSE(getJson("api/forecast?file=2")["enough"]);
}

// Two stacks of one line and one caller read apart by a frame between them, as in the report.
TEST(StackNames, AreTheReportsInEveryList) {
  testing::TraceBuilder b;
  b.segmentAlloc(0x7f0000000000, 64 * kMiB);
  uint64_t address = 0x7f0000000000;
  for (const char* between : {"first@lib/python3.11/site-packages/torch/nn/a.py:1",
                              "second@lib/python3.11/site-packages/torch/nn/b.py:2"}) {
    b.stack({"forward@model.py:8", between, "main@train.py:63"}).alloc(address, 4 * kMiB);
    address += 16 * kMiB;
  }
  b.oom(99 * kMiB, 0);
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
  Application app(openSession(std::move(traces)), Gate("secret", 8800));
  auto rows = [&](const std::string& question, const std::string& pointer) {
    Request request;
    request.hosts = {"127.0.0.1:8800"};
    request.target = "/secret/api/" + question;
    json answer = json::parse(app.answer(request, {}).body);
    std::set<std::string> callers;
    for (const json& row : answer.at(json::json_pointer(pointer))) callers.insert(row["caller"]);
    return callers;
  };
  const std::set<std::string> kTelling = {"a.py:1 first", "b.py:2 second"};
  EXPECT_EQ(rows("legend?step=2&by=stack", "/rows"), kTelling);
  EXPECT_EQ(rows("search?q=model", "/stacks"), kTelling);
  EXPECT_EQ(rows("frag_at?step=2", "/pins/rows"), kTelling);
  EXPECT_EQ(rows("oom?step=3", "/verdict/pinned/rows"), kTelling);
  EXPECT_EQ(rows("growth", "/never_freed/rows"), kTelling);
}

TEST(Kept, ForgetsTheOldest) {
  Kept<std::string> kept(4);
  size_t computed = 0;
  for (int round = 0; round < 2; ++round) {
    for (int key = 0; key < 5; ++key) {
      kept.get(std::to_string(key), [&] {
        computed++;
        return std::make_shared<const std::string>("x");
      });
    }
  }
  EXPECT_EQ(computed, 10);
  kept.get("4", [&] {
    computed++;
    return std::make_shared<const std::string>("x");
  });
  EXPECT_EQ(computed, 10);
  EXPECT_EQ(kept.size(), 4U);
}

// Any number of samples can be requested, each giving a text: they must not accumulate.
TEST(Kept, FewAnswersOnFragmentation) {
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(
      testing::simulate({.seed = 3, .events = 400}).trace));
  Session session = openSession(std::move(traces));
  auto route = std::find_if(routes().begin(), routes().end(),
                            [](const Route& r) { return r.path == "frag"; });
  ASSERT_NE(route, routes().end());
  for (int samples = 1; samples <= 12; ++samples) {
    Request request;
    Params params = Params::ofQuery("samples=" + std::to_string(samples));
    ASSERT_TRUE(route->answer({request, params, session, {}}).ok());
  }
  EXPECT_EQ(session.files[0]->frag_texts.size(), 4U);
}

TEST_F(ViewsTest, State) {
  json state = getJson("api/state?step=2");
  EXPECT_EQ(state["step"], 2);
  EXPECT_EQ(state["total"], 1);
  EXPECT_EQ(state["sums"]["owned_bytes"], 64 * kMiB);
  EXPECT_EQ(state["sums"]["free_bytes"], 52 * kMiB);
  EXPECT_EQ(state["groups"][0]["count"], 1);
  const json& bar = state["segments"][0];
  EXPECT_EQ(bar["segment"]["address_id"], "s7f0000000000_0");
  EXPECT_EQ(bar["pinned_bytes"], 52 * kMiB);
  EXPECT_EQ(bar["pin_count"], 2);
  EXPECT_EQ(bar["pins"][0]["label"], "attn.py:9 attention");
  EXPECT_EQ(state["parts"]["bytes"], json::array({4 * kMiB, 8 * kMiB, 52 * kMiB}));
  EXPECT_EQ(state["parts"]["kind"], json::array({0, 0, 2}));
  EXPECT_EQ(state["parts"]["allocation"], json::array({0, 1, -1}));
  json pending = getJson("api/state?step=3&filter=stack:model&sort=waste&group=none");
  EXPECT_EQ(pending["parts"]["kind"][0], 1) << "freed, not yet completed";
  EXPECT_EQ(pending["parts"]["flags"], json::array({2, 0, 0})) << "filtered away";
  EXPECT_EQ(pending["sums"]["passing_bytes"], 8 * kMiB);
  for (const char* bad :
       {"api/state", "api/state?step=-1", "api/state?step=1&sort=x", "api/state?step=1&group=x",
        "api/state?step=1&limit=501", "api/state?step=1&px=nan", "api/state?step=1&filter=x"}) {
    EXPECT_EQ(get(bad).status, 400) << bad;
  }
  EXPECT_EQ(getJson("api/state?file=2&step=0")["total"], 0);
}

TEST_F(ViewsTest, Events) {
  json all = getJson("api/events?limit=2&step=4");
  EXPECT_EQ(all["total"], 6);
  EXPECT_EQ(all["nearest"], 4);
  EXPECT_EQ(all["rows"].size(), 2u);
  EXPECT_EQ(all["rows"][1]["address_id"], "b7f0000000000_0");
  EXPECT_EQ(all["rows"][1]["time_us"], 1001);
  json ooms = getJson("api/events?action=oom,snapshot&step=2");
  EXPECT_EQ(ooms["total"], 1);
  EXPECT_EQ(ooms["events"], 6);
  EXPECT_EQ(ooms["rows"][0]["device_free_bytes"], 3 * kMiB);
  EXPECT_EQ(ooms["rows"][0]["address"], nullptr);
  EXPECT_EQ(getJson("api/events?stack=attn.py&action=alloc")["rows"][0]["step"], 1);
  EXPECT_EQ(getJson("api/events?address=b7f0000000000_0")["total"], 3);
  EXPECT_EQ(getJson("api/events?size=>4MiB&offset=100")["rows"].size(), 0u);
  for (const char* bad : {"api/events?action=x", "api/events?address=x", "api/events?size=x",
                          "api/events?stack=/(/", "api/events?limit=1001"}) {
    EXPECT_EQ(get(bad).status, 400) << bad;
  }
}

TEST_F(ViewsTest, FlameAndSandwich) {
  json flame = getJson("api/flame");
  EXPECT_EQ(flame["of"], "peak");
  EXPECT_EQ(flame["from"], 2);
  EXPECT_EQ(flame["tree"]["bytes"][0], 12 * kMiB);
  EXPECT_EQ(flame["tree"]["parent"], json::array({-1, 0, 1, 1}));
  EXPECT_EQ(flame["frames"][0]["label"], "train.py:63 step");
  json growth = getJson("api/flame?of=growth&from=2&to=5");
  EXPECT_EQ(growth["tree"]["minus_bytes"][0], 4 * kMiB);
  EXPECT_EQ(growth["tree"]["bytes"][0], 0);
  EXPECT_EQ(getJson("api/flame?of=churn&from=0&to=5")["tree"]["bytes"][0], 4 * kMiB);
  EXPECT_EQ(getJson("api/flame?of=allocated&from=2&to=5")["tree"]["bytes"][0], 8 * kMiB);
  EXPECT_EQ(getJson("api/flame?of=live&step=2&filter=category:attention")["tree"]["bytes"][0],
            4 * kMiB);
  EXPECT_EQ(getJson("api/flame?hide=train")["tree"]["parent"], json::array({-1, 0, 0}));
  std::string frame = flame["frames"][0]["id"].dump();
  json sandwich = getJson("api/sandwich?frame=" + frame);
  EXPECT_EQ(sandwich["callees"]["bytes"][0], 12 * kMiB);
  EXPECT_EQ(sandwich["callees"]["nodes"], 3);
  EXPECT_EQ(sandwich["callers"]["nodes"], 1);
  for (const char* bad : {"api/flame?of=x", "api/flame?of=live", "api/flame?of=churn&from=3&to=1",
                          "api/flame?hide=/(/", "api/flame?frames=x", "api/flame?by=x",
                          "api/flame?least=2", "api/flame?nodes=0", "api/sandwich",
                          "api/sandwich?frame=999", "api/sandwich?file=2&frame=0"}) {
    EXPECT_EQ(get(bad).status, 400) << bad;
  }
}

TEST_F(ViewsTest, Map) {
  json ranges = getJson("api/ranges");
  EXPECT_EQ(ranges["axis_bytes"], 64 * kMiB);
  EXPECT_EQ(ranges["rows"][0]["address"], "0x7f0000000000");
  Response tile = get("api/map?x0=0&x1=6&columns=6&y0=0&y1=67108864&rows=16");
  ASSERT_EQ(tile.status, 200) << tile.body;
  auto u32 = [&](size_t offset) {
    uint32_t value = 0;
    std::memcpy(&value, tile.body.data() + offset, 4);
    return value;
  };
  EXPECT_EQ(u32(0), 0x314d4754u);
  EXPECT_EQ(u32(4), 6u);
  EXPECT_EQ(u32(8), 16u);
  EXPECT_EQ(u32(12), 3u) << "one outline, two blocks";
  EXPECT_EQ(u32(16), 2u);
  EXPECT_EQ(tile.body.size(), 80 + 3 * 32 + 2 * 6 * 16u);
  tile = get("api/map?x0=0&x1=6&columns=6&y0=0&y1=67108864&rows=16&filter=id:0&axis_y=plain");
  ASSERT_EQ(tile.status, 200) << tile.body;
  EXPECT_EQ(u32(16), 3u);
  EXPECT_EQ(tile.body.size(), 80 + 3 * 32 + 3 * 6 * 16u);
  json picked = getJson("api/map_pick?step=2&at=4194304");
  EXPECT_EQ(picked["address"], "0x7f0000400000");
  EXPECT_EQ(picked["allocation"]["id"], 1);
  EXPECT_EQ(getJson("api/map_pick?step=2&at=-1")["allocation"], nullptr);
  for (const char* bad :
       {"api/map?x0=0&x1=6&columns=6&y1=0&rows=16", "api/map?x0=0&x1=6&columns=6&y1=1&rows=1025",
        "api/map?x0=0&x1=6&columns=1025&y1=1&rows=1", "api/ranges?axis_y=x",
        "api/map_pick?step=2"}) {
    EXPECT_EQ(get(bad).status, 400) << bad;
  }
  EXPECT_EQ(get("api/map?file=2&x0=0&x1=1&columns=1&y1=1&rows=1").status, 200);
}

TEST_F(ViewsTest, TilesFlagWhatIsFilteredAway) {
  Response tile = get("api/tile?x0=0&x1=6&columns=6&y0=0&y1=2e7&px=65536&filter=stack:model");
  ASSERT_EQ(tile.status, 200) << tile.body;
  view::Quad quad;
  std::memcpy(&quad, tile.body.data() + 64, sizeof quad);
  EXPECT_EQ(quad.allocation, 0u);
  EXPECT_EQ(quad.flags & view::kQuadFiltered, view::kQuadFiltered);
  std::memcpy(&quad, tile.body.data() + 64 + 2 * 32, sizeof quad);
  EXPECT_EQ(quad.allocation, 1u);
  EXPECT_EQ(quad.flags & view::kQuadFiltered, 0);
}

TEST_F(ViewsTest, FiltersAndCategories) {
  json filter = getJson("api/filter?filter=category:attention");
  EXPECT_EQ(filter["count"], 1);
  EXPECT_EQ(filter["bytes"], 4 * kMiB);
  EXPECT_EQ(filter["total_count"], 2);
  EXPECT_EQ(filter["live_at_peak_bytes"], 4 * kMiB);
  EXPECT_EQ(filter["first_id"], 0);
  EXPECT_EQ(getJson("api/filter?filter=")["count"], 2);
  Response bad = get("api/filter?filter=colour:red");
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.body.find("device, stream"), std::string::npos) << "says what it may be";
  json categories = getJson("api/categories?step=2");
  EXPECT_EQ(categories["total_bytes"], 12 * kMiB);
  EXPECT_EQ(categories["unknown_share"], 0);
  EXPECT_EQ(categories["rows"][3]["bytes"], 4 * kMiB);
  EXPECT_EQ(categories["rows"][3]["label"], "attention");
}

TEST_F(ViewsTest, NamedTensors) {
  json allocation = getJson("api/allocation?file=3&id=1");
  EXPECT_EQ(allocation["tensors"]["count"], 2);
  EXPECT_EQ(allocation["tensors"]["rows"][0], (json{{"id", 0},
                                                    {"name", "embed.weight"},
                                                    {"kind", "parameter"},
                                                    {"of", nullptr},
                                                    {"state", nullptr},
                                                    {"shape", "[16]"},
                                                    {"dtype", "float32"}}));
  EXPECT_EQ(getJson("api/allocation?file=3&id=0")["tensors"],
            (json{{"count", 0}, {"rows", json::array()}}));
  EXPECT_FALSE(getJson("api/allocation?id=0").contains("tensors")) << "a file without names";
  json table = getJson("api/table?file=3&name=tensors&sort=block_bytes");
  EXPECT_EQ(table["total"], 3);
  EXPECT_EQ(table["rows"][0][1], "embed.weight");
  EXPECT_EQ(table["rows"][2][1], "gone") << "no block: sorted last";
  EXPECT_EQ(getJson("api/table?file=3&name=tensors&filter=id:1")["shown"], 2);
  EXPECT_EQ(getJson("api/table?name=tensors")["total"], 0);
  EXPECT_EQ(getJson("api/search?file=3&q=HEAD")["count"], 1);
}

TEST_F(ViewsTest, Tables) {
  json table = getJson("api/table?name=allocations&sort=block_bytes&limit=1");
  EXPECT_EQ(table["total"], 2);
  EXPECT_EQ(table["columns"][1]["kind"], "address");
  ASSERT_EQ(table["rows"].size(), 1u);
  EXPECT_EQ(table["rows"][0][0], 1) << "the largest first";
  EXPECT_EQ(getJson("api/table?name=allocations&sort=id&order=asc&filter=id:1")["shown"], 1);
  EXPECT_EQ(getJson("api/table?name=phases")["rows"][0][1], "forward, \"first\"");
  Response csv = get("api/table?name=phases&format=csv");
  EXPECT_EQ(csv.content_type, "text/csv; charset=utf-8");
  EXPECT_NE(csv.body.find("0,\"forward, \"\"first\"\"\",0,"), std::string::npos) << csv.body;
  EXPECT_EQ(csv.body.find('\r'), std::string::npos) << "lines end as Unix tools expect";
  EXPECT_EQ(getJson("api/table?name=stacks&sort=peak_bytes")["rows"].size(), 2u);
  EXPECT_EQ(getJson("api/table?name=streams")["rows"].size(), 1u);
  EXPECT_EQ(getJson("api/table?name=segments&file=1&sort=label")["offset"], 0);
  for (const char* bad : {"api/table?name=x", "api/table?sort=x", "api/table?order=x",
                          "api/table?format=x", "api/table?limit=1001"}) {
    EXPECT_EQ(get(bad).status, 400) << bad;
  }
}

}  // namespace
}  // namespace tidegauge::server
