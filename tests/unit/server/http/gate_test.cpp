#include "server/http/gate.h"

#include <gtest/gtest.h>

#include <set>

#include "server/http/compression.h"
#include "server/http/params.h"

namespace tidegauge::server {
namespace {

Request ask(std::string target) {
  Request request;
  request.target = std::move(target);
  request.hosts = {"127.0.0.1:8800"};
  return request;
}

int statusOf(const Request& request) {
  Gate gate("secret", 8800);
  std::optional<Response> refused = gate.refuse(request);
  return refused ? refused->status : 200;
}

TEST(Gate, LetsInWhoKnowsTheTokenAndTheHost) {
  EXPECT_EQ(statusOf(ask("/secret/")), 200);
  EXPECT_EQ(statusOf(ask("/secret/api/session?x=1")), 200);
  for (const char* host : {"localhost:8800", "[::1]:8800"}) {
    Request request = ask("/secret/");
    request.hosts = {host};
    EXPECT_EQ(statusOf(request), 200) << host;
  }
}

TEST(Gate, RefusesOtherHosts) {
  using Hosts = std::vector<std::string>;
  for (const Hosts& hosts :
       {Hosts{}, Hosts{"evil.example"}, Hosts{"127.0.0.1"}, Hosts{"127.0.0.1:8801"},
        Hosts{"127.0.0.1:8800", "127.0.0.1:8800"}, Hosts{"127.0.0.1:8800.evil.example"}}) {
    Request request = ask("/secret/");
    request.hosts = hosts;
    EXPECT_EQ(statusOf(request), 421);
  }
}

TEST(Gate, RefusesOtherTokens) {
  for (const char* target : {"/", "", "/secre/", "/secrets/", "/Secret/", "secret/", "//secret/",
                             "/secre%74/", "/x?/secret/", "*", "http://127.0.0.1:8800/secret/"}) {
    EXPECT_EQ(statusOf(ask(target)), 404) << target;
  }
  Gate gate("secret", 8800);
  EXPECT_EQ(gate.refuse(ask("/secret"))->location, "secret/");
}

TEST(Gate, BehindAProxyTheTokenMustBeEnough) {
  Gate gate("secret", 8800, Reached::kThroughProxy);
  Request request = ask("/secret/api/sql");
  request.hosts = {"notebooks.example"};
  request.origin = "https://notebooks.example";
  request.fetch_site = "same-origin";
  request.method = Method::kPost;
  request.content_type = "application/json";
  EXPECT_FALSE(gate.refuse(request));
  request.fetch_site = "cross-site";
  EXPECT_EQ(gate.refuse(request)->status, 403);
  request.fetch_site = "same-origin";
  request.target = "/guess/api/sql";
  EXPECT_EQ(gate.refuse(request)->status, 404);
}

TEST(Gate, RefusesOtherSites) {
  Request request = ask("/secret/api/session");
  request.origin = "http://127.0.0.1:8800";
  request.fetch_site = "same-origin";
  EXPECT_EQ(statusOf(request), 200);
  for (const char* origin : {"null", "http://evil.example", "https://127.0.0.1:8800",
                             "http://localhost:3000", "http://127.0.0.1:8800.evil.example"}) {
    request.origin = origin;
    EXPECT_EQ(statusOf(request), 403) << origin;
  }
  request.origin.reset();
  for (const char* site : {"cross-site", "same-site", "anything"}) {
    request.fetch_site = site;
    EXPECT_EQ(statusOf(request), 403) << site;
  }
  request.fetch_mode = "navigate";
  EXPECT_EQ(statusOf(request), 200) << "a link from elsewhere, followed by the user";
}

TEST(Gate, WantsJsonInABody) {
  Request request = ask("/secret/api/sql");
  request.method = Method::kPost;
  EXPECT_EQ(statusOf(request), 415);
  request.content_type = "text/plain";
  EXPECT_EQ(statusOf(request), 415);
  request.content_type = "application/json; charset=utf-8";
  EXPECT_EQ(statusOf(request), 200);
  request.fetch_site = "cross-site";
  request.fetch_mode = "navigate";
  EXPECT_EQ(statusOf(request), 403) << "a form of another site";
}

TEST(Gate, KnowsThreeMethods) {
  Request request = ask("/secret/");
  request.method = Method::kOther;
  EXPECT_EQ(statusOf(request), 405);
}

TEST(Token, IsRandom) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(randomToken().value());
  EXPECT_EQ(tokens.size(), 100u);
  EXPECT_EQ(tokens.begin()->size(), 32u);
  EXPECT_TRUE(isUsableToken(*tokens.begin()));
  EXPECT_FALSE(isUsableToken("a/b/c"));
  EXPECT_FALSE(isUsableToken("abc"));
}

TEST(Params, AreDecoded) {
  Target target = parseTarget("/a%2Fb?q=a%20b+c&x0=1.5&x0=2&empty&bad=%zz%4");
  EXPECT_EQ(target.path, "/a/b");
  EXPECT_EQ(target.params.text("q"), "a b c");
  EXPECT_EQ(target.params.number("x0").value(), 1.5);
  EXPECT_EQ(target.params.text("empty", "x"), "");
  EXPECT_EQ(target.params.text("bad"), "%zz%4");
  EXPECT_EQ(target.params.find("none"), nullptr);
}

TEST(Params, AreNumbersOrErrors) {
  Params params = Params::ofQuery("a=12&b=1e3&c=nan&d=inf&e=1x&f=&g=99999999999999999999&h=-3");
  EXPECT_EQ(params.integer("a", 0, 20).value(), 12);
  EXPECT_FALSE(params.integer("a", 0, 11).ok());
  EXPECT_EQ(params.number("b").value(), 1000);
  for (const char* bad : {"c", "d", "e", "f"}) EXPECT_FALSE(params.number(bad).ok()) << bad;
  EXPECT_FALSE(params.integer("g", 0, INT64_MAX).ok());
  EXPECT_EQ(params.integer("h", -5, 5).value(), -3);
  EXPECT_EQ(params.integer("z", 0, 9, 7).value(), 7);
  EXPECT_EQ(params.integer("z", 0, 9).error().what, "The parameter z is missing");
}

TEST(Compression, HappensWhenAskedForAndWorthIt) {
  EXPECT_TRUE(accepts("gzip, deflate, br, zstd", "zstd"));
  EXPECT_TRUE(accepts("zstd;q=0.5", "zstd"));
  EXPECT_FALSE(accepts("gzip, zstd;q=0", "zstd"));
  EXPECT_FALSE(accepts("gzip, zstd; q=0.00", "zstd"));
  EXPECT_FALSE(accepts("xzstd", "zstd"));
  EXPECT_FALSE(accepts("", "zstd"));

  Request request;
  Response response;
  response.body = std::string(100'000, 'x');
  compress(request, response);
  EXPECT_EQ(response.body.size(), 100'000u);
  EXPECT_TRUE(response.varies);
  request.accept_encoding = "zstd";
  compress(request, response);
  EXPECT_EQ(response.content_encoding, "zstd");
  EXPECT_LT(response.body.size(), 1000u);
  Response small;
  small.body = "{}";
  compress(request, small);
  EXPECT_EQ(small.content_encoding, "");
}

TEST(Gate, OnPort80TheHostHasNoPort) {
  Request request;
  request.target = "/secret/";
  request.hosts = {"localhost"};
  EXPECT_FALSE(Gate("secret", 80).refuse(request).has_value());
  EXPECT_TRUE(Gate("secret", 8800).refuse(request).has_value());
  request.hosts = {"evil.example"};
  EXPECT_TRUE(Gate("secret", 80).refuse(request).has_value());
}

}  // namespace
}  // namespace tidegauge::server
