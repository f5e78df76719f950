#include "server/access.h"

#include "server/request.h"

#include <gtest/gtest.h>

#include <string>

namespace sample::server {
namespace {

constexpr std::uint16_t kPort = 8080;
const std::string secret = "0123456789abcdef0123456789abcdef";

Request request_for(const std::string& target) {
    return {"GET", target, "127.0.0.1:8080", {}};
}

int status_of(const Request& request, std::uint16_t port = kPort) {
    return Access{secret, port}.judge(request).status;
}

TEST(Access, is_for_whoever_has_the_address) {
    const Access access{secret, kPort};
    EXPECT_EQ(access.address(), "http://127.0.0.1:8080/" + secret + "/");
    EXPECT_EQ(access.judge(request_for("/" + secret + "/")).page, Page::index);
    EXPECT_EQ(access.judge(request_for("/" + secret + "/snapshot")).page, Page::snapshot);
    EXPECT_EQ(access.judge(request_for("/" + secret + "/events")).page, Page::events);
    EXPECT_EQ(status_of(request_for("/" + secret + "/more")), kNotFound);
}

TEST(Access, without_the_token_there_is_nothing) {
    std::string other = secret;
    other.back() = '0';
    for (const std::string& target :
         {std::string{"/"}, "/" + secret, "/" + other + "/", "/" + secret.substr(1) + "/",
          "/" + secret + "0/", std::string{"/snapshot"}, "//" + secret + "/"}) {
        Request request = request_for(target);
        EXPECT_EQ(status_of(request), kNotFound) << target;
        // Whatever else is wrong.
        request.method = "POST";
        request.host = "example.com";
        request.origin = "http://example.com";
        EXPECT_EQ(status_of(request), kNotFound) << target;
    }
}

TEST(Access, is_for_no_other_name_of_this_machine) {
    Request request = request_for("/" + secret + "/snapshot");
    for (const char* const host : {"127.0.0.1:8080", "localhost:8080"}) {
        request.host = host;
        EXPECT_EQ(status_of(request), kOk) << host;
    }
    for (const char* const host :
         {"", "example.com", "example.com:8080", "127.0.0.1", "localhost", "127.0.0.1:80",
          "localhost:8080.example.com", "127.0.0.2:8080", "[::1]:8080"}) {
        request.host = host;
        EXPECT_EQ(status_of(request), kForbidden) << host;
    }
}

TEST(Access, the_usual_port_goes_without_saying) {
    Request request = request_for("/" + secret + "/snapshot");
    request.host = "localhost";
    EXPECT_EQ(status_of(request, 80), kOk);
}

TEST(Access, is_for_no_page_of_another_origin) {
    Request request = request_for("/" + secret + "/events");
    request.origin = "http://127.0.0.1:8080";
    EXPECT_EQ(status_of(request), kOk);
    for (const char* const origin :
         {"", "null", "http://example.com", "https://127.0.0.1:8080", "http://localhost:8080",
          "http://127.0.0.1:8081", "http://127.0.0.1:8080/"}) {
        request.origin = origin;
        EXPECT_EQ(status_of(request), kForbidden) << origin;
    }
}

TEST(Access, is_to_read) {
    for (const char* const method : {"POST", "PUT", "HEAD", "OPTIONS", "get"}) {
        Request request = request_for("/" + secret + "/");
        request.method = method;
        EXPECT_EQ(status_of(request), kMethodNotAllowed) << method;
    }
}

TEST(Access, tokens_are_of_128_bits_and_differ) {
    const auto one = make_token();
    const auto other = make_token();
    ASSERT_TRUE(one && other);
    EXPECT_EQ(one->size(), secret.size());
    EXPECT_EQ(one->find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_NE(*one, *other);
}

TEST(Request, is_read_as_browsers_write_it) {
    const auto request = parse_request(
        "GET /a/b?c HTTP/1.1\r\nhost:  localhost:8080 \r\nAccept: text/html;q=0.9\r\n"
        "ORIGIN: http://localhost:8080\r\n\r\nmore");
    ASSERT_TRUE(request) << request.error().message();
    EXPECT_EQ(request->method, "GET");
    EXPECT_EQ(request->target, "/a/b?c");
    EXPECT_EQ(request->host, "localhost:8080");
    EXPECT_EQ(request->origin, "http://localhost:8080");
}

TEST(Request, has_an_end) {
    EXPECT_EQ(request_length("GET / HTTP/1.1\r\nHost: a\r\n"), 0);
    EXPECT_EQ(request_length("GET / HTTP/1.1\r\n\r\nGET"), 18);
}

TEST(Request, is_refused_rather_than_guessed_at) {
    for (const char* const bytes :
         {"", "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n",
          "GET  / HTTP/1.1\r\n\r\n", "GET / x HTTP/1.1\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n",
          "GET * HTTP/1.1\r\n\r\n", "G(T / HTTP/1.1\r\n\r\n", "GET /\t HTTP/1.1\r\n\r\n",
          "GET / HTTP/1.1\r\nHost\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n b\r\n\r\n",
          "GET / HTTP/1.1\r\nOrigin: a\r\norigin: a\r\n\r\n",
          "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "GET / HTTP/1.1\r\nHost: a"}) {
        EXPECT_FALSE(parse_request(bytes)) << bytes;
    }
}

}  // namespace
}  // namespace sample::server
