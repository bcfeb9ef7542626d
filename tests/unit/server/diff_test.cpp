// The answers about two places, as docs/formats/page-api.md has them.
#include <gtest/gtest.h>

#include "server/application.h"
#include "server/http/json.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::server {
namespace {

class DiffAnswersTest : public ::testing::Test {
 protected:
  DiffAnswersTest() : app_(session(), Gate("secret", 8800)) {}

  static Session session() {
    std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
    for (uint64_t mib : {4, 6}) {
      testing::TraceBuilder b;
      b.segmentAlloc(kA, 64 * kMiB);
      b.stack({"f@m.py:" + std::to_string(mib), "main@t.py:9"}).alloc(kA, mib * kMiB);
      b.stack({"g@m.py:50", "main@t.py:9"}).alloc(kA + 32 * kMiB, kMiB);
      traces.push_back(std::make_unique<analysis::AnalysedTrace>(b.build()));
    }
    traces.push_back(
        std::make_unique<analysis::AnalysedTrace>(testing::messyTrace({.seed = 4, .wild = true})));
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(model::Trace()));
    return openSession(std::move(traces));
  }

  Response get(const std::string& question) {
    Request request;
    request.target = "/secret/api/" + question;
    request.hosts = {"127.0.0.1:8800"};
    return app_.answer(request, {});
  }
  json getJson(const std::string& question) {
    Response response = get(question);
    EXPECT_EQ(response.status, 200) << question << ": " << response.body;
    return json::parse(response.body, nullptr, false);
  }

  Application app_;
};

TEST_F(DiffAnswersTest, Rows) {
  json diff = getJson("diff?file=0&file_b=1");
  EXPECT_EQ(diff["total"]["change_bytes"], 2 * kMiB);
  EXPECT_EQ(diff["total"]["adds_up"], true);
  EXPECT_EQ(diff["rows_total"], 2);
  EXPECT_EQ(diff["rows"][0]["label"], "m.py:6 f");
  EXPECT_EQ(diff["rows"][0]["match"], "moved");
  EXPECT_EQ(diff["rows"][0]["a_stack_ids"], json::array({0}));
  EXPECT_EQ(diff["rows"][1]["change"], "same");
  json turned = getJson("diff?file=1&file_b=0&device_b=0");
  EXPECT_EQ(turned["total"]["change_bytes"], -2 * static_cast<int64_t>(kMiB));
  json same = getJson("diff?file=1");
  EXPECT_EQ(same["total"]["rows"]["same"], 2) << "B is as A where nothing else is asked";
  json places = getJson("diff?file=1&at=step:1&at_b=end");
  EXPECT_EQ(places["total"]["change_bytes"], kMiB);
  EXPECT_EQ(getJson("diff?file=0&file_b=1&by=size")["rows"][0]["key"], "4194304");
  EXPECT_EQ(getJson("diff?file=0&file_b=1&by=segment")["rows_total"], 1);
  EXPECT_EQ(getJson("diff?file=0&file_b=1&by=category")["by"], "category");
  EXPECT_EQ(getJson("diff?file=0&file_b=2")["kind"], "pair") << "one that contradicts itself";
  for (const char* bad :
       {"diff?file=9", "diff?file_b=9", "diff?file_b=x", "diff?by=x", "diff?at=x", "diff?at_b=oom",
        "diff?device=5", "diff?device_b=5", "diff?at=phase:none", "diff?file_b=3",
        "diff_flame?width=x", "diff_flame?hide=/(/", "diff_flame?by=x"}) {
    EXPECT_EQ(get(bad).status, 400) << bad;
  }
}

TEST_F(DiffAnswersTest, Flame) {
  json answer = getJson("diff_flame?file=0&file_b=1");
  const json& tree = answer["tree"];
  EXPECT_EQ(tree["bytes"][0], 2 * kMiB);
  EXPECT_EQ(tree["minus_bytes"][0], 0);
  EXPECT_EQ(tree["same_bytes"][0], 5 * kMiB);
  EXPECT_EQ(tree["same_blocks"][0], 2);
  EXPECT_EQ(tree["nodes"], 4);
  EXPECT_EQ(answer["stacks"], 2);
  json changes = getJson("diff_flame?file=1&file_b=0&width=change");
  EXPECT_EQ(changes["tree"]["minus_bytes"][0], 2 * kMiB);
  EXPECT_EQ(changes["tree"]["same_bytes"][0], 0);
  EXPECT_EQ(changes["stacks"], 1);
  EXPECT_EQ(getJson("diff_flame?file=1&width=change")["tree"]["nodes"], 1) << "no difference";
  EXPECT_EQ(getJson("diff_flame?file=0&file_b=1&hide=main")["tree"]["nodes"], 3);
}

}  // namespace
}  // namespace tidegauge::server
