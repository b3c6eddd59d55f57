// SPDX-License-Identifier: GPL-2.0
/*
 * subrtt exporter: counters, ports and connections as OpenMetrics, over HTTP or once to stdout.
 *
 * One request after the other: who scrapes is one or two, and what is read costs less than a
 * thread.  The kernel hands us a connection when its first bytes have come, or after a second
 * (TCP_DEFER_ACCEPT); who has said nothing by then is not waited for, and who has said something
 * has HEAD_MS for the rest.  Nothing of a request but its first line is looked at.
 *
 * The counters of tcp_bolt are left out unless asked for: who can watch them, and send control
 * messages, finds out how close a guess was.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "metrics.h"
#include "subrtt.h"

#define DEFAULT_LISTEN	"127.0.0.1:9823"
#define HEAD_MS		500
#define REQUEST_MS	2000
#define REQUEST_MAX	4096
#define CONTENT_TYPE	"application/openmetrics-text; version=1.0.0; charset=utf-8"

static struct {
	const char *listen;
	bool counters, flows, once;
} opt = { .listen = DEFAULT_LISTEN };

/* --- HTTP --- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static bool ready(int fd, short events, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left = until - now_ms();

	return left > 0 && poll(&p, 1, left) == 1;
}

/* The head of a request; false when it does not come in time, or is too long: REQUEST_MAX */
static bool read_head(int fd, char *buf, size_t *have, int64_t until)
{
	ssize_t n;

	*have = 0;
	while (*have < REQUEST_MAX && ready(fd, POLLIN, until)) {
		n = recv(fd, buf + *have, REQUEST_MAX - *have, MSG_DONTWAIT);
		if (n <= 0)
			return false;
		*have += n;
		buf[*have] = '\0';
		if (strstr(buf, "\r\n\r\n") || strstr(buf, "\n\n"))
			return true;
	}
	return false;
}

/* What a client still sends would be answered by a reset, before it has read our answer. */
static void drain(int fd, int64_t until)
{
	char buf[REQUEST_MAX];

	shutdown(fd, SHUT_WR);
	while (ready(fd, POLLIN, until) && recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

static void write_all(int fd, const char *data, size_t len, int64_t until)
{
	ssize_t n;

	while (len && ready(fd, POLLOUT, until)) {
		n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return;
		if (n > 0) {
			data += n;
			len -= n;
		}
	}
}

static void answer(int fd, const char *status, const char *type, const char *body, size_t len,
		   bool head_only, int64_t until)
{
	char head[256];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			 "%sConnection: close\r\n\r\n",
			 status, type, len, !strncmp(status, "405", 3) ? "Allow: GET, HEAD\r\n" : "");

	write_all(fd, head, n, until);
	if (!head_only)
		write_all(fd, body, len, until);
}

static void say(int fd, const char *status, const char *text, bool head_only, int64_t until)
{
	answer(fd, status, "text/plain; charset=utf-8", text, strlen(text), head_only, until);
}

static void answer_metrics(int fd, bool head_only, int64_t until)
{
	char *body = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&body, &len);

	if (!out) {
		say(fd, "500 Internal Server Error", "no memory\n", head_only, until);
		return;
	}
	metrics_write(out, METRICS_OPEN, opt.counters, opt.flows);
	/* what is read takes its time, which is not the client's */
	until = now_ms() + REQUEST_MS;
	if (fclose(out))
		say(fd, "500 Internal Server Error", "no memory\n", head_only, until);
	else
		answer(fd, "200 OK", CONTENT_TYPE, body, len, head_only, until);
	free(body);
}

static void serve(int fd)
{
	int64_t until = now_ms() + REQUEST_MS;
	char buf[REQUEST_MAX + 1], method[16], path[256];
	bool head_only;
	size_t have;

	if (!read_head(fd, buf, &have, now_ms() + HEAD_MS)) {
		if (have == REQUEST_MAX) {
			say(fd, "431 Request Header Fields Too Large", "too long\n", false, until);
			drain(fd, now_ms() + HEAD_MS);
		}
		return;
	}
	if (sscanf(buf, "%15s %255s HTTP/1.", method, path) != 2) {
		say(fd, "400 Bad Request", "not HTTP\n", false, until);
		return;
	}
	head_only = !strcmp(method, "HEAD");
	path[strcspn(path, "?")] = '\0';
	if (!head_only && strcmp(method, "GET"))
		say(fd, "405 Method Not Allowed", "GET or HEAD\n", false, until);
	else if (!strcmp(path, "/metrics"))
		answer_metrics(fd, head_only, until);
	else if (!strcmp(path, "/"))
		say(fd, "200 OK", "subrtt exporter: /metrics\n", head_only, until);
	else
		say(fd, "404 Not Found", "/metrics\n", head_only, until);
}

/* [ADDRESS:]PORT; an address of IPv6 in brackets */
static int open_listener(int *fd)
{
	struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	}, *found;
	const char *where = opt.listen;
	char host[64] = "127.0.0.1";
	const char *colon = strrchr(where, ':'), *port = colon ? colon + 1 : where;
	uint64_t number;
	int status = bc_number("--listen", port, 1, 65535, &number);

	if (status)
		return status;
	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	if (*host == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	if (!*host || getaddrinfo(host, port, &hints, &found))
		return bc_error(BC_USAGE, "--listen: \"%s\" is no address", where);
	*fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd >= 0) {
		setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
		setsockopt(*fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &(int){ 1 }, sizeof(int));
	}
	if (*fd < 0 || bind(*fd, found->ai_addr, found->ai_addrlen) || listen(*fd, 16))
		status = bc_error(BC_FAIL, "%s: %s", where, strerror(errno));
	freeaddrinfo(found);
	return status;
}

static int serve_all(void)
{
	struct pollfd p = { .fd = -1, .events = POLLIN };
	int status = open_listener(&p.fd);
	sigset_t ends, as_before;

	if (status)
		return status;
	bc_stop_on_signals();
	/* they come while we wait, and not just before */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &as_before);
	fprintf(stderr, "subrtt: http://%s%s/metrics\n", strchr(opt.listen, ':') ? "" : "127.0.0.1:",
		opt.listen);
	while (!bc_stop) {
		struct pollfd client = { .events = POLLIN };

		if (ppoll(&p, 1, NULL, &as_before) <= 0)
			continue;
		client.fd = accept4(p.fd, NULL, NULL, SOCK_CLOEXEC);
		if (client.fd < 0)
			continue;
		/* not until a time that may be over before it is looked at */
		if (poll(&client, 1, 1) == 1)
			serve(client.fd);
		close(client.fd);
	}
	close(p.fd);
	return BC_OK;
}

static int run(int argc, char **argv)
{
	enum { OPT_COUNTERS = 256, OPT_FLOWS, OPT_ONCE };
	static const struct option longs[] = {
		{ "listen", required_argument, NULL, 'l' },
		{ "counters", no_argument, NULL, OPT_COUNTERS },
		{ "flows", no_argument, NULL, OPT_FLOWS },
		{ "once", no_argument, NULL, OPT_ONCE },
		BC_LONG_COMMON
	};
	int c, status;

	while ((c = bc_getopt(argc, argv, "l:", longs, &status))) {
		if (c == 'l')
			opt.listen = optarg;
		else if (c == OPT_COUNTERS)
			opt.counters = true;
		else if (c == OPT_FLOWS)
			opt.flows = true;
		else
			opt.once = true;
	}
	if (!status)
		status = bc_no_more(argc, argv);
	if (status)
		return status;
	if (conf.json)
		return bc_error(BC_USAGE, "exporter has no JSON: flows, qdisc and stats do");
	if (!opt.once)
		return serve_all();
	metrics_write(stdout, METRICS_TEXT, opt.counters, opt.flows);
	return bc_flush();
}

const struct bc_cmd cmd_exporter = {
	.name = "exporter",
	.run = run,
	.what = "ports, connections and counters for Prometheus, over HTTP",
	.usage = "[--listen [ADDRESS:]PORT] [--counters] [--flows] [--once]",
	.help =
"Serves what qdisc and flows show, as OpenMetrics at http://ADDRESS:PORT/metrics, until SIGTERM:\n"
"the counters of each port, band and sfc_hold; for each congestion control the number of\n"
"connections, of paused ones and of those without the option, and the sum of their windows.\n"
"subrtt_up is 0 for each part that cannot be read.\n"
"\n"
"  -l, --listen [ADDRESS:]PORT   listen in the namespace that is shown (" DEFAULT_LISTEN ")\n"
"      --counters                also serve the counters of stats, which needs CAP_NET_ADMIN.\n"
"                                They show which control messages are believed, so admit trusted\n"
"                                clients only\n"
"      --flows                   also serve each connection, as a series of its own\n"
"      --once                    print once to stdout in Prometheus's text format, for the textfile\n"
"                                collector of node_exporter\n"
"\n"
"Examples:\n"
"  subrtt exporter                             for Prometheus on this machine\n"
"  subrtt exporter -l 0.0.0.0:9823             for any machine that the packet filters admit\n"
"  sudo subrtt exporter --counters --once | grep subrtt_host\n",
};
