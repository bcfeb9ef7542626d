#include "server/application.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "server/http/json.h"
#include "server/session/questions.h"
#include "support/bytes.h"
#include "support/simulated_heap.h"
#include "support/trace_builder.h"
#include "view/timeline/stack_tile.h"

namespace tidegauge::server {
namespace {

class ApplicationTest : public ::testing::Test {
 protected:
  ApplicationTest() : app_(session(), Gate("secret", 8800)) {}

  static Session session() {
    std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
    testing::TraceBuilder b;
    b.time(1000).segmentAlloc(0x7f0000000000, 64 * kMiB);
    b.stack({"loss@Loss.py:9", "step@train.py:63"}).alloc(0x7f0000000000, 4 * kMiB);
    b.stack({"forward@model.py:5"}).alloc(0x7f0000400000, 8 * kMiB);
    b.free(0x7f0000000000, 4 * kMiB);
    b.oom(3 * kMiB, 100 * kMiB);
    b.annotation("forward", 1000, 1003);
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(
        testing::simulate({.seed = 3, .events = 400}).trace));
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
    EXPECT_EQ(response.content_type, kJsonType);
    return json::parse(response.body, nullptr, false);
  }

  Response post(const std::string& question, const std::string& body) {
    Request request;
    request.method = Method::kPost;
    request.target = "/secret/" + question;
    request.hosts = {"127.0.0.1:8800"};
    request.content_type = "application/json";
    request.body = body;
    return app_.answer(request, {});
  }

  Application app_;
};

template <class T>
T at(const std::string& bytes, size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), bytes.size());
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

TEST_F(ApplicationTest, StacksCanBeAskedForOnce) {
  json whole = getJson("api/allocation?id=0");
  json shared = getJson("api/allocation?id=0&stacks=shared");
  ASSERT_TRUE(whole["stack"].is_object());
  EXPECT_EQ(shared["stack"], json({{"shared", whole["stack"]["id"]}}));
  EXPECT_EQ(getJson("api/stack?id=" + whole["stack"]["id"].dump()), whole["stack"]);
  json growth = getJson("api/growth?device=0");
  for (const char* part : {"growth", "never_freed", "churn", "wall"}) {
    EXPECT_TRUE(growth[part].contains("rows_sql")) << part;
  }
  EXPECT_EQ(get("api/growth?device=9").status, 400);
  json step = getJson("api/at?device=0&axis=step&x=1&stacks=shared");
  EXPECT_TRUE(step["event"]["stack"].contains("shared"));
  EXPECT_EQ(get("api/allocation?id=0&stacks=none").status, 400);
  EXPECT_EQ(get("api/stack?id=4000000000").status, 400);
}

TEST_F(ApplicationTest, WhatIfHasALineOfEachSetting) {
  json idle = {{"running", false}, {"done", 0}, {"of", 0}};
  EXPECT_EQ(getJson("api/what_if_progress?device=0&set=max_split_size_mb:200"), idle);
  json told = getJson("api/what_if?device=0&set=max_split_size_mb:200");
  EXPECT_GT(told["candidates"].size(), 5U);
  EXPECT_TRUE(std::ranges::any_of(told["candidates"], [](const json& it) {
    return it["settings"] == "max_split_size_mb:200";
  }));
  EXPECT_EQ(told["capacity_source"], "out_of_memory");
  told["candidates"].push_back(told["own"]);
  for (const json& it : told["candidates"]) {
    ASSERT_EQ(it["reserved_line"].size(), 400U);
    ASSERT_EQ(it["active_line"].size(), 400U);
    uint64_t most = 0;
    for (const json& bytes : it["reserved_line"]) most = std::max(most, bytes.get<uint64_t>());
    EXPECT_LE(most, it["peak_reserved_bytes"].get<uint64_t>());
    EXPECT_GT(most, 0U);
  }
  EXPECT_EQ(getJson("api/what_if?device=0&capacity=1073741824")["capacity_source"], "given");
  for (const std::string& bad :
       {std::string("api/what_if?device=9"), std::string("api/what_if?set=max_split_size_mb:5"),
        std::string("api/what_if?set=nonsense"), std::string("api/what_if?capacity=-1"),
        "api/what_if?set=" + std::string(3000, 'a')})
    EXPECT_EQ(get(bad).status, 400) << bad.substr(0, 60);
}

TEST_F(ApplicationTest, DescribesTheFiles) {
  json session = getJson("api/session");
  ASSERT_EQ(session["files"].size(), 2u);
  EXPECT_EQ(session["files"][0]["id"], 0);
  EXPECT_EQ(session["failed"], json::array());
  EXPECT_EQ(session["files"][0]["devices"][0]["peak"]["active"]["bytes"], 12 * kMiB);
  // what the page needs to draw the mark without another question
  const json& oom = session["files"][0]["devices"][0]["ooms"][0];
  EXPECT_EQ(oom["reserved_bytes"], 64 * kMiB);
  EXPECT_TRUE(oom["time_us"].is_number_integer());
}

TEST_F(ApplicationTest, SendsTilesAsTheContractSays) {
  Response response = get("api/tile?x0=0&x1=6&columns=6&y0=0&y1=2e7&px=65536");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.content_type, kBinaryType);
  const std::string& bytes = response.body;
  EXPECT_EQ(at<uint32_t>(bytes, 0), 0x31544754u);
  EXPECT_EQ(at<uint32_t>(bytes, 4), 6u);
  EXPECT_EQ(at<uint32_t>(bytes, 8), 4u) << "quads: a, a waiting, b, b lower";
  EXPECT_EQ(bytes.size(), 64 + 4 * 32u);
  EXPECT_EQ(at<double>(bytes, 24), 6);
  EXPECT_EQ(at<double>(bytes, 48), 12.0 * kMiB);
  EXPECT_EQ(at<uint16_t>(bytes, 64), 1) << "first column of the first quad";
  EXPECT_EQ(at<float>(bytes, 64 + 8), static_cast<float>(4 * kMiB));
  EXPECT_EQ(at<uint32_t>(bytes, 64 + 12), 0u);
}

TEST_F(ApplicationTest, KeepsTilesUntilTheyAreAskedForAgain) {
  const std::string tile = "api/tile?x0=0&x1=6&columns=6&y0=0&y1=2e7&px=";
  std::string first = get(tile + "65536").body;
  EXPECT_EQ(get(tile + "65536").body, first) << "even the time that it took";
  EXPECT_NE(get(tile + "1e7").body, first);
  EXPECT_EQ(get(tile + "65536&device=0").body, first) << "the same tile in other words";
}

TEST_F(ApplicationTest, AStoppedTileIsNotKept) {
  std::stop_source stopped;
  stopped.request_stop();
  const std::string tile = "api/tile?x0=0&x1=6&columns=6&y0=0&y1=2e7&px=4096";
  Request request;
  request.target = "/secret/" + tile;
  request.hosts = {"127.0.0.1:8800"};
  EXPECT_EQ(app_.answer(request, stopped.get_token()).status, 503);
  EXPECT_EQ(get(tile).status, 200);
}

TEST_F(ApplicationTest, SendsTilesOfNoMoreQuadsThanAsked) {
  const std::string tile = "api/tile?file=1&x0=0&x1=400&columns=40&y0=0&y1=1e12&px=1";
  uint32_t all = at<uint32_t>(get(tile).body, 8);
  Response few = get(tile + "&quads=100");
  ASSERT_EQ(few.status, 200) << few.body;
  EXPECT_GT(all, 100u);
  EXPECT_LE(at<uint32_t>(few.body, 8), 100u);
  EXPECT_EQ(at<uint32_t>(few.body, 12) & 1u, 1u) << "the threshold was raised";
  EXPECT_EQ(get(tile + "&quads=0").status, 400);
  EXPECT_EQ(get(tile + "&quads=8001").status, 400);
}

TEST_F(ApplicationTest, SendsLinesAndShapes) {
  Response lines = get("api/lines?axis=step&x0=0&x1=6&columns=3");
  ASSERT_EQ(lines.status, 200);
  EXPECT_EQ(lines.body.size(), 32 + 3 * 44u);
  EXPECT_EQ(at<uint32_t>(lines.body, 0), 0x314c4754u);
  EXPECT_EQ(at<double>(lines.body, 32), 0) << "active minimum of column 0";
  EXPECT_EQ(at<double>(lines.body, 32 + 3 * 8), 4.0 * kMiB) << "active maximum of column 0";
  Response shape = get("api/shape?id=1&x0=0&x1=6&columns=6");
  ASSERT_EQ(shape.status, 200);
  EXPECT_EQ(shape.body.size(), 32 + 6 * 4u);
  EXPECT_EQ(at<double>(shape.body, 8), 4.0 * kMiB) << "origin";
  EXPECT_EQ(at<double>(shape.body, 16), 8.0 * kMiB) << "height";
  EXPECT_TRUE(std::isnan(at<float>(shape.body, 32)));
  EXPECT_EQ(at<float>(shape.body, 32 + 2 * 4), 0);
  EXPECT_EQ(at<float>(shape.body, 32 + 4 * 4), static_cast<float>(-4.0 * kMiB));
}

TEST_F(ApplicationTest, PicksABlockAndItsNeighbour) {
  json picked = getJson("api/pick?step=2&y=5000000")["allocation"];
  EXPECT_EQ(picked["id"], 1);
  EXPECT_EQ(picked["address_id"], "b7f0000400000_0");
  EXPECT_EQ(picked["stack"]["frames"][0]["function"], "forward");
  EXPECT_EQ(getJson("api/pick?step=2&y=50000000")["allocation"], nullptr);
  EXPECT_EQ(getJson("api/neighbour?step=2&id=1&direction=down")["id"], 0);
  EXPECT_EQ(getJson("api/neighbour?step=2&id=1&direction=up"), nullptr);
}

TEST_F(ApplicationTest, ReturnsEverythingAboutAnAllocation) {
  json a = getJson("api/allocation?id=0");
  EXPECT_EQ(a["alloc_step"], 1);
  EXPECT_EQ(a["free_requested_step"], 3);
  EXPECT_EQ(a["free_completed_step"], 4);
  EXPECT_EQ(a["requested_bytes"], 4 * kMiB);
  EXPECT_EQ(a["segment"]["address_id"], "s7f0000000000_0");
  EXPECT_EQ(a["provenance"], "traced");
  EXPECT_EQ(a["live_at_end"], false);
  EXPECT_EQ(a["siblings"]["count"], 1);
  EXPECT_EQ(a["category"], nullptr);
}

TEST_F(ApplicationTest, ReturnsTheStateAtAPoint) {
  json state = getJson("api/at?axis=step&x=2.5");
  EXPECT_EQ(state["step"], 2);
  EXPECT_EQ(state["totals"]["active_bytes"], 12 * kMiB);
  EXPECT_EQ(state["event"]["action"], "alloc");
  EXPECT_EQ(state["event"]["allocation_id"], 1);
  EXPECT_EQ(state["annotations"], json::array({"forward"}));
  EXPECT_EQ(getJson("api/at?axis=time&x=1002")["step"], 2);
  EXPECT_EQ(getJson("api/at?axis=time&x=-1e15")["step"], 0);
  json oom = getJson("api/at?axis=step&x=1e9");
  EXPECT_EQ(oom["step"], 5);
  EXPECT_EQ(oom["event"]["device_free_bytes"], 3 * kMiB);
  EXPECT_EQ(oom["event"]["address"], nullptr);
}

TEST_F(ApplicationTest, SearchesAndWalksThroughHits) {
  json found = getJson("api/search?q=loss");
  EXPECT_EQ(found["count"], 1);
  EXPECT_EQ(found["stacks"][0]["label"], "Loss.py:9 loss");
  EXPECT_EQ(found["stacks"][0]["match"], json::array({0, 4}));
  std::string mark = found["mark"].dump();
  EXPECT_EQ(getJson("api/hit?index=0&mark=" + mark)["allocation"]["id"], 0);
  EXPECT_EQ(get("api/hit?index=1&mark=" + mark).status, 400);
  EXPECT_EQ(get("api/hit?index=0&mark=99").status, 400);
  Response tile = get("api/tile?x0=0&x1=6&columns=6&y0=0&y1=2e7&px=1e7&mark=" + mark);
  ASSERT_EQ(tile.status, 200);
  EXPECT_EQ(at<uint8_t>(tile.body, 64 + 21) & view::kQuadMarked, view::kQuadMarked);
}

TEST_F(ApplicationTest, KeepsTheLastMarksOnly) {
  for (size_t i = 0; i <= MarkStore::kKept; ++i) getJson("api/search?q=loss");
  EXPECT_EQ(get("api/hit?index=0&mark=1").status, 400);
  EXPECT_EQ(get("api/hit?index=0&mark=2").status, 200);
  EXPECT_EQ(get("api/tile?x0=0&x1=6&columns=6&y0=0&y1=2e7&px=1e5&mark=1").status, 200)
      << "an old mark marks nothing";
}

TEST_F(ApplicationTest, AnswersSqlAndMarksItsRows) {
  Response response = post(
      "api/sql", R"({"file": 0, "sql": "SELECT id, block_bytes FROM allocations ORDER BY id"})");
  ASSERT_EQ(response.status, 200) << response.body;
  json result = json::parse(response.body);
  EXPECT_EQ(result["columns"][1]["kind"], "bytes");
  EXPECT_EQ(result["rows"], json::parse("[[0, 4194304], [1, 8388608]]"));
  EXPECT_EQ(result["marked"], 2);
  EXPECT_EQ(getJson("api/hit?index=1&mark=" + result["mark"].dump())["allocation"]["id"], 1);
  result = json::parse(post("api/sql", R"({"sql": "SELECT id FROM segments"})").body);
  EXPECT_EQ(result["mark"], nullptr) << "ids of segments are no allocations";
  result = json::parse(post("api/sql", R"({"sql": "SELECT 1 AS allocation_id"})").body);
  EXPECT_EQ(result["marked"], 1);
  result =
      json::parse(post("api/sql", R"({"sql": "SELECT id FROM allocations", "limit": 1})").body);
  EXPECT_EQ(result["truncated"], true);
}

TEST_F(ApplicationTest, TheSessionContainsTheTimeLimit) {
  EXPECT_EQ(getJson("api/session")["time_limit_s"], kQueryLimitSeconds);
}

TEST_F(ApplicationTest, SaysWhatIsWrongWithAQuery) {
  for (const char* body :
       {"", "[]", "{}", R"({"sql": 1})", R"({"sql": "SELECT 1", "file": 9})",
        R"({"sql": "SELECT 1", "file": -1})", R"({"sql": "SELECT 1", "limit": 0})",
        R"({"sql": "SELEC"})", R"({"sql": "DROP TABLE events"})",
        R"({"sql": "SELECT 1", "file": 18446744073709551615})"}) {
    Response response = post("api/sql", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_TRUE(json::parse(response.body)["error"]["what"].is_string());
  }
  EXPECT_EQ(get("api/sql").status, 405);
}

TEST_F(ApplicationTest, DescribesTheSchema) {
  json schema = getJson("api/schema?file=1");
  EXPECT_GE(schema["tables"].size(), 5u);
  EXPECT_TRUE(schema["tables"][0]["columns"][0].contains("doc"));
  EXPECT_GE(schema["questions"].size(), 10u);
  bool has_stack_text = false;
  for (const json& table : schema["tables"]) {
    if (table["name"] != "allocations") continue;
    for (const json& column : table["columns"]) {
      has_stack_text = has_stack_text || column["name"] == "stack_text";
    }
  }
  EXPECT_TRUE(has_stack_text) << "columns that SELECT * leaves out can be asked for, too";
}

TEST_F(ApplicationTest, KeepsEveryDigitOfLongNumbers) {
  std::string answer =
      post("api/sql",
           R"({"sql": "SELECT 9007199254740992, 9007199254740993, -9223372036854775807"})")
          .body;
  json row = json::parse(answer)["rows"][0];
  EXPECT_EQ(row[0], 9007199254740992);
  EXPECT_EQ(row[1], "9007199254740993");
  EXPECT_EQ(row[2], "-9223372036854775807");
}

TEST(ManyAnnotations, AreCountedAndTheOutermostNamed) {
  testing::TraceBuilder b;
  b.time(1000).segmentAlloc(0x7f0000000000, 4 * kMiB);
  b.alloc(0x7f0000000000, kMiB);
  constexpr size_t kMany = 20'050;
  for (size_t i = 0; i < kMany; ++i) b.annotation("n" + std::to_string(i), 1000, 1003);
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
  Application app(openSession(std::move(traces)), Gate("secret", 8800));
  auto ask = [&](const std::string& question) {
    Request request;
    request.target = "/secret/" + question;
    request.hosts = {"127.0.0.1:8800"};
    return json::parse(app.answer(request, {}).body, nullptr, false);
  };
  json at = ask("api/at?x=1");
  EXPECT_EQ(at["annotations"].size(), 100u);
  EXPECT_EQ(at["annotations_total"], kMany);
  json annotations = ask("api/annotations");
  EXPECT_EQ(annotations["total"], kMany);
  ASSERT_EQ(annotations["rows"].size(), 20'000u);
  EXPECT_EQ(annotations["rows"][0]["depth"], 0) << "of equal ones the outer are kept";
}

TEST_F(ApplicationTest, PicturesTextsAndQueriesHaveThreadsOfTheirOwn) {
  auto lane = [&](const std::string& target) {
    Request request;
    request.target = target;
    request.hosts = {"127.0.0.1:8800"};
    return app_.lane(request);
  };
  EXPECT_EQ(lane("/secret/api/tile"), Lane::kPicture);
  EXPECT_EQ(lane("/secret/api/overview"), Lane::kText);
  EXPECT_EQ(lane("/secret/api/search"), Lane::kText);
  EXPECT_EQ(lane("/wrong-/api/sql"), Lane::kPicture) << "a refusal";
  EXPECT_EQ(lane("*"), Lane::kPicture);
  Request query;
  query.method = Method::kPost;
  query.target = "/secret/api/sql";
  query.hosts = {"127.0.0.1:8800"};
  query.content_type = "application/json";
  EXPECT_EQ(app_.lane(query), Lane::kQuery);
}

TEST_F(ApplicationTest, RefusesQuestionsThatMakeNoSense) {
  for (const char* question : {
           "api/tile",
           "api/tile?x0=0&x1=0&columns=1&y0=0&y1=1&px=1",
           "api/tile?x0=0&x1=1&columns=0&y0=0&y1=1&px=1",
           "api/tile?x0=0&x1=1&columns=1025&y0=0&y1=1&px=1",
           "api/tile?x0=0&x1=1&columns=1&y0=0&y1=1&px=0",
           "api/tile?x0=0&x1=1&columns=1&y0=0&y1=1&px=-5",
           "api/tile?x0=0&x1=1&columns=1&y0=5&y1=1&px=1",
           "api/tile?x0=nan&x1=1&columns=1&y0=0&y1=1&px=1",
           "api/tile?x0=0&x1=1e300&columns=1&y0=0&y1=1&px=1",
           "api/tile?x0=0&x1=1&columns=1&y0=0&y1=1&px=1&axis=sideways",
           "api/tile?x0=0&x1=1&columns=1&y0=0&y1=1&px=1&device=7",
           "api/tile?x0=0&x1=1&columns=1&y0=0&y1=1&px=1&file=2",
           "api/lines?x0=0&x1=1&columns=8193",
           "api/shape?id=2&x0=0&x1=1&columns=1",
           "api/allocation?id=2",
           "api/allocation?id=-1",
           "api/pick?step=-1&y=0",
           "api/pick?step=4294967295&y=0",
           "api/neighbour?step=0&id=0&direction=left",
           "api/legend?step=0&by=colour",
           "api/search?q=x&limit=-1",
           "api/search",
           "api/search?q=%20+",
           "api/tile?x0=0&x1=1&columns=1&y0=0&y1=1&px=1&mark=abc",
           "api/tile?x0=0&x1=1&columns=1&y0=0&y1=1&px=1&mark=-1",
           "api/at?x=up",
       }) {
    Response response = get(question);
    EXPECT_EQ(response.status, 400) << question;
    EXPECT_TRUE(json::parse(response.body)["error"]["what"].is_string()) << question;
  }
  EXPECT_EQ(get("api/nothing").status, 404);
  EXPECT_EQ(get("no-such-file.js").status, 404);
  EXPECT_EQ(get("../../etc/passwd").status, 404);
}

TEST_F(ApplicationTest, EveryGetRouteAnswersForEveryFile) {
  for (int file : {0, 1}) {
    for (const Route& route : routes()) {
      if (route.method != Method::kGet || route.path == "hit" || route.path == "oom" ||
          route.path == "proof" || route.path == "live" || route.path == "working_set") {
        continue;  // ask for what not every file has
      }
      Response response = get("api/" + std::string(route.path) +
                              "?x0=0&x1=100&columns=32&y0=0&y1=1e8&px=1e5&step=3&y=1&id=0&"
                              "direction=up&x=3&q=f&frame=0&at=5&rows=9&bytes=512&from=0&file=" +
                              std::to_string(file));
      EXPECT_EQ(response.status, 200) << route.path << ": " << response.body;
    }
  }
}

TEST_F(ApplicationTest, ExplainsAnOutOfMemoryEvent) {
  json oom = getJson("api/oom?device=0&step=5");
  EXPECT_EQ(oom["step"], 5);
  EXPECT_EQ(oom["requested_bytes"], 100 * kMiB);
  EXPECT_EQ(oom["verdict"]["rows"][0]["verdict"], "never_fits");
  EXPECT_EQ(oom["verdict"]["rows"][0]["bytes"], 33 * kMiB);  // 100 − 64 reserved − 3
  EXPECT_EQ(oom["verdict"]["sum"]["difference_bytes"], 0);
  EXPECT_EQ(oom["pieces"]["total"], 2);
  EXPECT_EQ(oom["pieces"]["rows"][0]["size_bytes"], 52 * kMiB);
  EXPECT_EQ(oom["pieces"]["rows"][0]["whole_segment"], false);
  EXPECT_EQ(oom["verdict"]["pinned"]["rows"][0]["alone_bytes"], 56 * kMiB);
  EXPECT_EQ(oom["advice"][0]["kind"], "check_request");
  EXPECT_EQ(oom["verdict"]["servable"][0]["fits"], false);
  json error = json::parse(get("api/oom?device=0&step=3").body)["error"];
  EXPECT_EQ(error["what"], "Step 3 is not an out-of-memory event");
  EXPECT_EQ(get("api/oom?device=0").status, 400);
  EXPECT_EQ(get("api/oom?device=0&step=4294967295").status, 400);
}

TEST_F(ApplicationTest, ServesThePageOrSaysHowToBuildIt) {
  Response response = get("");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/html; charset=utf-8");
  EXPECT_NE(response.bytes().find("<!doctype html>"), std::string_view::npos);
}

// Names may be of any length, and one text may be named any number of times.
TEST(Application, AnswersAreBoundedWhateverTheNames) {
  testing::TraceBuilder b;
  std::string name(100'000, 'n');
  std::vector<std::string> frames(3000, name + "@" + name + ".py:1");
  for (size_t i = 0; i < frames.size(); ++i) frames[i] += std::to_string(i % 7);
  b.time(1).stack(frames).alloc(0x1000, 512);
  for (int i = 0; i < 300; ++i) b.annotation(name, 1, 2);
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
  Application app(openSession(std::move(traces)), Gate("secret", 1));
  for (const char* question : {"annotations", "allocation?id=0", "at?x=0", "search?q=n"}) {
    Request request;
    request.target = std::string("/secret/api/") + question;
    request.hosts = {"127.0.0.1:1"};
    Response response = app.answer(request, {});
    EXPECT_EQ(response.status, 200) << question;
    EXPECT_LT(response.body.size(), 30'000'000U) << question;
  }
}

TEST(Application, ShowsMeasurementsOfWorkingSetsWithoutAnyTrace) {
  Session session = openSession({});
  session.working_sets =
      std::make_shared<const std::vector<WorkingSetFile>>(std::vector<WorkingSetFile>{
          {"a.jsonl", R"({"samples":1})"}, {"b.jsonl", R"({"samples":2})"}});
  Application app(std::move(session), Gate("secret", 1));
  auto get = [&](const std::string& question) {
    Request request;
    request.target = "/secret/api/" + question;
    request.hosts = {"127.0.0.1:1"};
    return app.answer(request, {});
  };
  json listed = json::parse(get("session").body)["working_sets"];
  EXPECT_EQ(listed, (json{{{"id", 0}, {"name", "a.jsonl"}}, {{"id", 1}, {"name", "b.jsonl"}}}));
  EXPECT_EQ(get("working_set").body, R"({"samples":1})");
  EXPECT_EQ(get("working_set?id=1").body, R"({"samples":2})");
  EXPECT_EQ(get("working_set?id=2").status, 400);
}

TEST_F(ApplicationTest, HasNoWorkingSetWhereNoneWasOpened) {
  Response response = get("api/working_set");
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("tidegauge wss --rolling"), std::string::npos);
}

// Times at the limits of an integer, which a double cannot represent.
TEST(Application, FindsTheStepOfAnyTime) {
  testing::TraceBuilder b;
  b.time(INT64_MAX - 2).alloc(0x1000, 512).alloc(0x2000, 512).alloc(0x3000, 512);
  b.annotation("far", INT64_MIN + 1, INT64_MAX);
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
  Application app(openSession(std::move(traces)), Gate("secret", 1));
  for (const char* question : {"at?axis=time&x=9.3e18", "at?axis=time&x=9223372036854775807",
                               "at?axis=time&x=-9.3e18", "at?axis=time&x=0", "annotations"}) {
    Request request;
    request.target = std::string("/secret/api/") + question;
    request.hosts = {"127.0.0.1:1"};
    Response response = app.answer(request, {});
    ASSERT_EQ(response.status, 200) << question;
    json answer = json::parse(response.body);
    EXPECT_TRUE(!answer.contains("step") || answer["step"] <= 2) << question;
  }
}

TEST(Application, FilesOfOneNameAreDistinguished) {
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  for (const char* path : {"/runs/a/rank0.pickle", "/runs/b/rank0.pickle"}) {
    model::Trace trace = testing::TraceBuilder().alloc(0x1000, 512).build();
    trace.source.name = path;
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
  }
  Session session = openSession(std::move(traces));
  EXPECT_EQ(session.files[0]->name, "a/rank0.pickle");
  EXPECT_EQ(session.files[1]->name, "b/rank0.pickle");
}

TEST(Application, NamesFilesThatCouldNotBeRead) {
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(
      testing::TraceBuilder().alloc(0x1000, 512).build()));
  std::string endless(10'000, 'x');
  Application app(
      openSession(std::move(traces),
                  {{"/runs/bad\xff.pickle", "it is empty (at byte 0)", "copy the file again"},
                   {endless, "what", ""}}),
      Gate("secret", 1));
  Request request;
  request.target = "/secret/api/session";
  request.hosts = {"127.0.0.1:1"};
  json failed = json::parse(app.answer(request, {}).body)["failed"];
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0]["path"], "/runs/bad\ufffd.pickle");
  EXPECT_EQ(failed[0]["what"], "it is empty (at byte 0)");
  EXPECT_EQ(failed[0]["hint"], "copy the file again");
  EXPECT_LT(failed[1]["path"].get<std::string>().size(), 5'000u);
}

TEST(Application, AnswersForHostileTexts) {
  testing::TraceBuilder b;
  b.time(1).stack({"f\xff\xfe\"<script>@\xc3(.py:1"}).alloc(0x1000, 512);
  b.annotation("\x80\x81", 1, 2);
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
  Application app(openSession(std::move(traces)), Gate("secret", 1));
  for (const char* question : {"session", "overview", "annotations", "allocation?id=0",
                               "search?q=%ff", "legend?step=0", "at?x=0", "schema"}) {
    Request request;
    request.target = std::string("/secret/api/") + question;
    request.hosts = {"127.0.0.1:1"};
    Response response = app.answer(request, {});
    EXPECT_EQ(response.status, 200) << question;
    EXPECT_FALSE(json::parse(response.body, nullptr, false).is_discarded()) << question;
  }
}

}  // namespace
}  // namespace tidegauge::server
