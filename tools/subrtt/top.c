// SPDX-License-Identifier: GPL-2.0
/* subrtt top: connections and ports, by how much they carry, as it changes. */

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "flows.h"
#include "qdisc.h"
#include "subrtt.h"

struct top_flow {
	struct flow_gist g;
	bool known;			/* it was there before; else the rest is 0 */
	uint64_t bit_ps, retransmits;	/* since it was looked at before; of the latter how many */
};

struct top_port {
	char dev[16];
	int ifindex;
	uint32_t handle;
	char parent[16];
	uint64_t bytes, drops, src, bts, marks;
	uint64_t queue, peak, link_bps;
	uint64_t bit_ps;
	unsigned int place;		/* in the list */
};

/* What is there at one time */
struct look {
	struct timespec at;
	struct top_flow *flow;
	struct top_port *port;
	unsigned int n_flows, flow_room, n_ports, port_room;
	bool bolt, failed;
};

static struct {
	uint64_t delay_ms, times;
	bool batch;
} opt = { .delay_ms = 1000 };

/* --- looking --- */

static void add_flow(const struct flow_gist *g, void *arg)
{
	struct look *l = arg;
	struct top_flow *f = bc_more(&l->flow, &l->n_flows, &l->flow_room, sizeof(*f));

	if (f)
		f->g = *g;
	else
		l->failed = true;
}

static void add_port(const struct qdisc_port *port, void *arg)
{
	struct look *l = arg;
	struct top_port *p = bc_more(&l->port, &l->n_ports, &l->port_room, sizeof(*p));

	if (!p) {
		l->failed = true;
		return;
	}
	p->place = l->n_ports;
	snprintf(p->dev, sizeof(p->dev), "%s", port->dev);
	p->ifindex = port->ifindex;
	p->handle = port->handle;
	memcpy(p->parent, port->parent, sizeof(p->parent));
	p->bytes = port->any->bytes;
	p->drops = port->any->queue.drops;
	p->queue = port->any->queue.backlog;
	p->peak = port->st->backlog_peak;
	p->link_bps = port->st->link_rate * 8;
	p->src = port->st->src_sent;
	p->bts = port->st->bts_sent;
	p->marks = port->st->ecn_marked;
}

static int look(struct look *l)
{
	int status;

	l->n_flows = 0;
	l->n_ports = 0;
	status = flows_each(add_flow, l);
	l->bolt = status != BC_ABSENT;
	if (status == BC_ABSENT)
		status = BC_OK;
	if (!status)
		status = qdisc_each(add_port, l);
	clock_gettime(CLOCK_MONOTONIC, &l->at);
	if (!status && l->failed)
		return bc_error(BC_FAIL, "no memory");
	return status;
}

/* What began anew counts from 0 */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static const struct top_flow *same_flow(const struct look *l, uint64_t cookie)
{
	unsigned int low = 0, high = l->n_flows;

	/* they come by cookie */
	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (l->flow[middle].g.cookie == cookie)
			return &l->flow[middle];
		if (l->flow[middle].g.cookie < cookie)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* One that is shown since its first pause, for instance, may have been there for days. */
static void compare_flow(struct top_flow *f, const struct look *before, double seconds)
{
	const struct top_flow *old = same_flow(before, f->g.cookie);

	f->known = old;
	if (!old)
		return;
	f->bit_ps = grown(f->g.acked, old->g.acked) * 8 / seconds;
	f->retransmits = grown(f->g.retransmits, old->g.retransmits);
}

static const struct top_port *same_port(const struct look *l, const struct top_port *p)
{
	unsigned int i;

	for (i = 0; i < l->n_ports; i++)
		if (l->port[i].ifindex == p->ifindex && l->port[i].handle == p->handle &&
		    !strcmp(l->port[i].parent, p->parent))
			return &l->port[i];
	return NULL;
}

/* Of @now, what is shown; its counters stay, for the next */
static struct top_port port_rates(const struct top_port *now, const struct look *before,
				  double seconds)
{
	static const struct top_port none;
	const struct top_port *old = same_port(before, now);
	struct top_port p = *now;

	if (!old)
		old = &none;
	p.bit_ps = grown(now->bytes, old->bytes) * 8 / seconds;
	p.drops = grown(now->drops, old->drops);
	p.src = grown(now->src, old->src);
	p.bts = grown(now->bts, old->bts);
	p.marks = grown(now->marks, old->marks);
	return p;
}

/* --- showing --- */

static int by_rate(const void *a, const void *b)
{
	const struct top_flow *x = *(const struct top_flow **)a, *y = *(const struct top_flow **)b;

	if (x->bit_ps != y->bit_ps)
		return x->bit_ps < y->bit_ps ? 1 : -1;
	return x->g.cookie < y->g.cookie ? -1 : x->g.cookie > y->g.cookie;
}

/* The flows in the order of what they carry; the list itself stays by cookie */
static const struct top_flow **sorted(const struct look *l)
{
	const struct top_flow **list = calloc(l->n_flows + 1, sizeof(*list));
	unsigned int i;

	for (i = 0; list && i < l->n_flows; i++)
		list[i] = &l->flow[i];
	if (list)
		qsort(list, l->n_flows, sizeof(*list), by_rate);
	return list;
}

static int by_port_rate(const void *a, const void *b)
{
	const struct top_port *x = a, *y = b;

	if (x->bit_ps != y->bit_ps)
		return x->bit_ps < y->bit_ps ? 1 : -1;
	return x->place < y->place ? -1 : 1;
}

/* What is shown of the ports, likewise */
static struct top_port *sorted_ports(const struct look *l, const struct look *before,
				     double seconds)
{
	struct top_port *list = calloc(l->n_ports + 1, sizeof(*list));
	unsigned int i;

	for (i = 0; list && i < l->n_ports; i++)
		list[i] = port_rates(&l->port[i], before, seconds);
	if (list)
		qsort(list, l->n_ports, sizeof(*list), by_port_rate);
	return list;
}

static void flow_json(const struct top_flow *f)
{
	js_begin(NULL, '{');
	js_u64("cookie", f->g.cookie);
	js_str("local", f->g.local);
	js_str("remote", f->g.remote);
	js_str("congestion", f->g.cc);
	if (f->known) {
		js_u64("rate_bps", f->bit_ps);
		js_u64("retransmits", f->retransmits);
	} else {
		js_null("rate_bps");
		js_null("retransmits");
	}
	js_u64("cwnd", f->g.cwnd);
	js_fixed("window", f->g.window);
	js_u64("srtt_ns", f->g.srtt_ns);
	js_bool("paused", f->g.paused);
	js_end('}');
}

static void port_json(const struct top_port *p)
{
	js_begin(NULL, '{');
	js_str("dev", p->dev);
	if (*p->parent)
		js_str("parent", p->parent);
	js_u64("rate_bps", p->bit_ps);
	js_u64("link_bps", p->link_bps);
	js_u64("queue_bytes", p->queue);
	js_u64("peak_bytes", p->peak);
	js_u64("drops", p->drops);
	js_u64("src", p->src);
	js_u64("bts", p->bts);
	js_u64("marks", p->marks);
	js_end('}');
}

static void port_text(const struct top_port *p)
{
	char used[16] = "-", name[64];

	if (p->link_bps)
		snprintf(used, sizeof(used), "%.1f%%", 100.0 * p->bit_ps / p->link_bps);
	snprintf(name, sizeof(name), "%s%s%s", tx_name(p->dev), *p->parent ? " " : "", p->parent);
	printf("%-16s %9s %6s %7s %7s %7llu %7llu %6llu %6llu\n", name, tx_rate(p->bit_ps), used,
	       tx_bytes(p->queue), tx_bytes(p->peak), (unsigned long long)p->drops,
	       (unsigned long long)p->src, (unsigned long long)p->bts,
	       (unsigned long long)p->marks);
}

/* On a terminal an address of IPv6 leaves room for the numbers: its end, with the port. */
static const char *fitting(const char *address, size_t room)
{
	static char ring[2][32];
	static unsigned int next;
	size_t n = strlen(address);
	char *s;

	if (opt.batch || n <= room)
		return address;
	s = ring[next++ % 2];
	snprintf(s, sizeof(ring[0]), "..%s", address + n - room + 2);
	return s;
}

static void flow_text(const struct top_flow *f)
{
	char retransmits[24] = "-";

	if (f->known)
		snprintf(retransmits, sizeof(retransmits), "%llu",
			 (unsigned long long)f->retransmits);
	printf("%c%-20s %-21s %-6s %8s %6s %7s %5s\n", f->g.paused ? 'P' : ' ',
	       fitting(f->g.local, 20), fitting(f->g.remote, 21), f->g.cc,
	       f->known ? tx_rate(f->bit_ps) : "-", tx_fixed(f->g.window), tx_ns(f->g.srtt_ns),
	       retransmits);
}

/* Lines that there is room for; all of them where it is no terminal's */
static unsigned int height(void)
{
	struct winsize size = { 0 };

	if (opt.batch || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 8)
		return ~0U;
	return size.ws_row - 1;
}

static void show_text(const struct look *l, const struct top_port *port, double seconds,
		      const struct top_flow **flow)
{
	unsigned int i, left = height(), paused = 0;
	char clock[16];
	time_t now = time(NULL);

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime(&now));
	for (i = 0; i < l->n_flows; i++)
		paused += l->flow[i].g.paused;
	if (!opt.batch)
		fputs("\033[H\033[J\033[?7l", stdout);	/* a line that is too long ends there */
	printf("subrtt top - %s, %.2f s: %u flows, %u paused; %u ports\n", clock, seconds,
	       l->n_flows, paused, l->n_ports);
	left--;
	if (l->n_ports && left > 2) {
		printf("%-16s %9s %6s %7s %7s %7s %7s %6s %6s\n", "PORT", "SENT", "USED", "QUEUE",
		       "PEAK", "DROPS", "SRC", "BTS", "MARKS");
		left--;
	}
	/* flows have at least half of it */
	for (i = 0; i < l->n_ports && left > (l->n_flows ? height() / 2 : 0); i++, left--)
		port_text(&port[i]);
	if (l->n_flows && left > 1) {
		printf(" %-20s %-21s %-6s %8s %6s %7s %5s\n", "LOCAL", "REMOTE", "CC", "ACKED",
		       "WINDOW", "SRTT", "RETR");
		left--;
	}
	for (i = 0; i < l->n_flows && left; i++, left--)
		flow_text(flow[i]);
	if (!opt.batch)
		fputs("\033[?7h", stdout);
}

static void show_json(const struct look *l, const struct top_port *port, double seconds,
		      const struct top_flow **flow)
{
	unsigned int i;

	js_begin(NULL, '{');
	js_u64("interval_ns", seconds * 1e9);
	js_begin("ports", '[');
	for (i = 0; i < l->n_ports; i++)
		port_json(&port[i]);
	js_end(']');
	js_begin("flows", '[');
	for (i = 0; i < l->n_flows; i++)
		flow_json(flow[i]);
	js_end(']');
	js_end('}');
}

static int show(struct look *l, const struct look *before)
{
	double seconds = bc_seconds(&before->at, &l->at);
	const struct top_flow **flow;
	struct top_port *port;
	unsigned int i;
	bool there;

	if (seconds <= 0)
		seconds = 0.000000001;
	for (i = 0; i < l->n_flows; i++)
		compare_flow(&l->flow[i], before, seconds);
	flow = sorted(l);
	port = sorted_ports(l, before, seconds);
	there = flow && port;
	if (there && conf.json)
		show_json(l, port, seconds, flow);
	else if (there)
		show_text(l, port, seconds, flow);
	free(flow);
	free(port);
	return there ? bc_flush() : bc_error(BC_FAIL, "no memory");
}

/* --- a terminal's keys --- */

static struct termios keys_before;
static bool keys_taken;

static void give_keys(void)
{
	if (keys_taken)
		tcsetattr(STDIN_FILENO, TCSANOW, &keys_before);
	keys_taken = false;
}

static void take_keys(void)
{
	struct termios t;

	if (opt.batch || tcgetattr(STDIN_FILENO, &keys_before))
		return;
	t = keys_before;
	t.c_lflag &= ~(ICANON | ECHO);
	keys_taken = !tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

/* Until @next, a signal, or q */
static void wait_until(const struct timespec *next)
{
	struct pollfd in = { .fd = keys_taken ? STDIN_FILENO : -1, .events = POLLIN };

	while (!bc_stop) {
		struct timespec now, left;
		char key;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left.tv_sec = next->tv_sec - now.tv_sec;
		left.tv_nsec = next->tv_nsec - now.tv_nsec;
		if (left.tv_nsec < 0) {
			left.tv_sec--;
			left.tv_nsec += 1000 * 1000 * 1000;
		}
		if (left.tv_sec < 0 || !ppoll(&in, 1, &left, NULL))
			return;
		if (!(in.revents & POLLIN))
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1)
			in.fd = -1;
		else if (key == 'q')
			bc_stop = 1;
	}
}

static int watch(void)
{
	struct look look_of[2] = { { .n_flows = 0 }, { .n_flows = 0 } };
	struct timespec next;
	unsigned int now = 0;
	uint64_t i;
	int status;

	bc_stop_on_signals();
	status = look(&look_of[0]);
	if (!status && !look_of[0].bolt && !look_of[0].n_ports)
		status = bc_error(BC_ABSENT,
				  "neither tcp_bolt nor a port with sfc is here: subrtt doctor");
	take_keys();
	next = look_of[0].at;
	for (i = 0; !status && (!opt.times || i < opt.times); i++) {
		bc_later(&next, opt.delay_ms);
		wait_until(&next);
		if (bc_stop)
			break;
		now = !now;
		status = look(&look_of[now]);
		if (!status)
			status = show(&look_of[now], &look_of[!now]);
	}
	give_keys();
	for (i = 0; i < 2; i++) {
		free(look_of[i].flow);
		free(look_of[i].port);
	}
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "batch", no_argument, NULL, 'b' },
		{ "count", required_argument, NULL, 'c' },
		{ "delay", required_argument, NULL, 'd' },
		BC_LONG_COMMON
	};
	int c, status;

	opt.batch = !isatty(STDOUT_FILENO);
	while ((c = bc_getopt(argc, argv, "bc:d:", longs, &status))) {
		switch (c) {
		case 'b':
			opt.batch = true;
			break;
		case 'c':
			status = bc_number("--count", optarg, 1, 1000000000, &opt.times);
			break;
		case 'd':
			status = bc_interval("--delay", optarg, &opt.delay_ms);
			break;
		}
		if (status)
			return status;
	}
	if (!status)
		status = bc_no_more(argc, argv);
	opt.batch |= conf.json;
	return status ? status : watch();
}

const struct bc_cmd cmd_top = {
	.name = "top",
	.run = run,
	.what = "connections and ports by what they carry, live",
	.usage = "[--delay SECONDS] [--count N] [--batch]",
	.help =
"Shows ports with sfc, and the connections that subrtt flows shows, every second until q or ^C;\n"
"those with the highest rate come first.  Of a port: bytes sent, utilization of its link, queue now\n"
"and its peak since the last change, and drops, SRC, BTS and ECN marks in the interval.  Of a\n"
"connection: bytes acknowledged, window in packets, RTT, and retransmissions in the interval.\n"
"\n"
"  -d, --delay SECONDS   interval (1)\n"
"  -c, --count N         end after N intervals\n"
"  -b, --batch           print all lines of each interval below the previous ones; the default if\n"
"                        stdout is not a terminal\n"
"\n"
"JSON is one line for each interval.\n"
"\n"
"Examples:\n"
"  subrtt top                              on a host or router\n"
"  subrtt -n r1 top -d 0.2                 in a namespace, five times a second\n"
"  subrtt -j top -c 10 | jq '[.flows[].rate_bps] | add'\n",
};
