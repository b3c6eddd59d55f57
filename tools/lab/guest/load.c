// SPDX-License-Identifier: GPL-2.0
/*
 * Drives the lab's load: opens connections beforehand, starts messages on them
 * at their times (open loop), notes when each arrived whole.
 *
 * The lab's kernel pays dearly for a system call and a wakeup, not for CPU, so:
 * one process holds both ends of every connection and moves between namespaces;
 * one timer for all starts; 4 MB at a time into a deep send buffer; receive with
 * MSG_TRUNC (no copy), woken once by SO_RCVLOWAT when the message at the head is
 * complete.  A low-water mark above what is still to come would sleep for ever,
 * so it never exceeds what is left of that message.
 *
 * It also pays for memory that nobody has touched yet, and thousands of flows hold
 * gigabytes between them: all send the pages of one file (sendfile), and none has
 * bytes of its own.
 *
 * Clock: CLOCK_MONOTONIC, which is what the link device counts in.  It is read only
 * when a message is complete: virtual time stands still while this runs, but for the
 * nanosecond that every reading costs.
 *
 * When the last byte was acknowledged the kernel says itself (SCM_TSTAMP_ACK), in the
 * nanosecond in which the ACK is processed.  It stamps the end of what one call hands over,
 * 64 KB of sendfile() at most; of two messages in one packet only the later end.
 *
 * A stopped flow is reset (SO_LINGER 0): what is queued is discarded at once, so
 * the transport never sees "nothing left to send" coming and cannot announce it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define PORT_SHARED	5000		/* + index of the congestion control */
#define SETTLE_NS	(50 * NSEC_PER_MSEC)	/* the first timers after boot fire late */
#define WARM_BYTES	100
#define WARM_QUIET_NS	(2 * NSEC_PER_MSEC)
#define STAMPS		16
#define END_GAP_NS	10		/* leaves the nanosecond of the end to the link device */
#define START_GRID_NS	(100 * NSEC_PER_MSEC)
#define WRITE_BYTES	(4 << 20)
#define LOWAT_MAX	(1 << 20)
#define FOREVER		INT64_MAX
#define NO_MSG		UINT32_MAX
#define EPOLL_TIMER	UINT64_MAX
#define EPOLL_PROGRAM	(1ULL << 63)	/* | its number */
#define STOP_GRACE_NS	(100 * NSEC_PER_MSEC)	/* from SIGTERM to SIGKILL */

struct msg {
	uint32_t id, next_tx, next_rx, next_ack;
	uint64_t last_byte;		/* numbered as handed_over */
	int pair, conn;
	int64_t at_ns;			/* offset from the start of the measurement */
	int64_t bytes, tx_left, rx_left;
	uint64_t start_ns, end_ns, end_ack_ns, stop_ns;
	uint64_t acked_base, acked;	/* what the sender knows to have arrived */
	uint32_t retrans_base, retrans;
	bool forever, started, done;
};

struct conn {
	int tx, rx, pair;
	uint32_t tx_head, rx_head, tail; /* messages, oldest first: one list, two places in it */
	uint32_t ack_head, ack_tail;	/* those of a known size that are not acknowledged */
	uint64_t handed_over;		/* bytes: SOF_TIMESTAMPING_OPT_ID numbers them mod 2^32 */
	uint64_t acked;			/* the last byte that the kernel has stamped, likewise */
	unsigned int pending;		/* messages not yet arrived whole */
	unsigned int lowat;
};

struct pair {
	int from, to, first_conn, listener;
	unsigned int nconns;
	uint16_t sport, port;
	char dst[48], cc[16];
	int sample_id, dscp;
	unsigned int follow_mb;		/* 0: not followed */
	bool fresh;
};

struct listener {
	int ns, family, port, fd;
	char cc[16];
};

struct ccname {
	char name[16];
};

struct event {
	int64_t at_ns;
	uint32_t order, arg;
	enum { EV_MESSAGE, EV_STOP, EV_COMMAND, EV_PROGRAM, EV_PROGRAM_STOP, EV_PROGRAM_KILL,
	       EV_END } type;
};

struct command {
	int ns;
	char *text;
	bool to_links;			/* for /proc/lablink */
	char *output;			/* file for what it prints; NULL: nobody wants it */
	int memory;			/* which has that until the run is over */
};

/* A growing array: GROWING(pair, pairs); then struct pair *p = PUSH(pairs). */
#define GROWING(type, name)						\
	static struct {							\
		struct type *v;						\
		unsigned int n, cap;					\
	} name
#define PUSH(a) ({							\
	if ((a).n == (a).cap) {						\
		(a).cap = (a).cap ? 2 * (a).cap : 64;			\
		(a).v = realloc((a).v, (a).cap * sizeof(*(a).v));	\
		if (!(a).v)						\
			die("out of memory");				\
	}								\
	memset(&(a).v[(a).n], 0, sizeof(*(a).v));			\
	&(a).v[(a).n++]; })

GROWING(pair, pairs);
GROWING(conn, conns);
GROWING(msg, msgs);
GROWING(event, events);
GROWING(command, commands);
GROWING(listener, listeners);
GROWING(ccname, ccs);

static int sndbuf = 8 << 20, rcvbuf = 16 << 20;
static unsigned int need_window;
static int epfd, timer;
static uint64_t start_ns, end_ns;
static unsigned int unfinished, unacked; /* messages of a known size */
static uint64_t real_minus_mono_ns;	/* CLOCK_REALTIME, which stamps are in */
static int payload;			/* a file of WRITE_BYTES */

/* ---- sockets ---- */

static unsigned int cc_index(const char *cc)
{
	unsigned int i;

	for (i = 0; i < ccs.n; i++)
		if (!strcmp(ccs.v[i].name, cc))
			return i;
	snprintf(PUSH(ccs)->name, sizeof(ccs.v[0].name), "%s", cc);
	return i;
}

static void set_int(int fd, int level, int option, int value, const char *what)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		die("%s %d: %s", what, value, strerror(errno));
}

/* Closed with a reset, however we end, a connection is gone at once, and its namespace with it. */
static void reset_at_close(int fd, bool reset)
{
	struct linger linger = { .l_onoff = reset, .l_linger = 0 };

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		die("SO_LINGER: %s", strerror(errno));
}

/* What a listener accepts is as the listener. */
static int new_socket(int family, const char *cc)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char got[16] = "";
	socklen_t len = sizeof(got);

	if (fd < 0)
		die("socket: %s", strerror(errno));
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die("congestion control %s: %s (not built into, or loaded in, this kernel?)", cc,
		    strerror(errno));
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, got, &len) || strcmp(got, cc))
		die("congestion control %s: the kernel gave %s instead", cc, got);
	set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, sndbuf, "SO_SNDBUFFORCE");
	set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, rcvbuf, "SO_RCVBUFFORCE");
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
	reset_at_close(fd, true);
	return fd;
}

union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static socklen_t make_addr(union addr *a, int family, const char *text, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	a->sa.sa_family = family;
	if (family == AF_INET6) {
		a->in6.sin6_port = htons(port);
		if (text && inet_pton(family, text, &a->in6.sin6_addr) != 1)
			die("%s is not an address", text);
		return sizeof(a->in6);
	}
	a->in.sin_port = htons(port);
	if (text && inet_pton(family, text, &a->in.sin_addr) != 1)
		die("%s is not an address", text);
	return sizeof(a->in);
}

static int listen_on(int ns, int family, uint16_t port, const char *cc)
{
	union addr a;
	socklen_t len = make_addr(&a, family, NULL, port);
	int fd;

	net_enter(ns);
	fd = new_socket(family, cc);
	if (bind(fd, &a.sa, len) || listen(fd, 1024))
		die("listening on port %u in namespace %s: %s", port, net_ns_name(ns),
		    strerror(errno));
	return fd;
}

void load_listen(int ns, const char *family, const char *cc)
{
	struct listener *l = PUSH(listeners);

	l->ns = ns;
	l->family = *family == '6' ? AF_INET6 : AF_INET;
	l->port = PORT_SHARED + cc_index(cc);
	snprintf(l->cc, sizeof(l->cc), "%s", cc);
	l->fd = listen_on(ns, l->family, l->port, cc);
}

static const struct listener *find_listener(int ns, int family, const char *cc)
{
	for (unsigned int i = 0; i < listeners.n; i++) {
		const struct listener *l = &listeners.v[i];

		if (l->ns == ns && l->family == family && !strcmp(l->cc, cc))
			return l;
	}
	die("the plan opens a %s connection to %s, where nothing listens for it", cc,
	    net_ns_name(ns));
}

void load_buffers(int snd, int rcv, unsigned int window)
{
	sndbuf = snd;
	rcvbuf = rcv;
	need_window = window;
}

static int family_of(const struct pair *p)
{
	return strchr(p->dst, ':') ? AF_INET6 : AF_INET;
}

void load_pair(int from, int to, const char *dst, unsigned int connections, const char *cc,
	       unsigned int sport, unsigned int fresh, int sample_id, unsigned int dscp)
{
	struct pair *p = PUSH(pairs);

	p->from = from;
	p->to = to;
	p->nconns = connections;
	p->first_conn = conns.n;
	p->sport = sport;
	p->fresh = fresh;
	p->sample_id = sample_id;
	p->dscp = dscp;
	snprintf(p->dst, sizeof(p->dst), "%s", dst);
	snprintf(p->cc, sizeof(p->cc), "%s", cc);
	for (unsigned int i = 0; i < connections; i++) {
		struct conn *c = PUSH(conns);

		c->tx = -1;
		c->rx = -1;
		c->pair = pairs.n - 1;
		c->tx_head = NO_MSG;
		c->rx_head = NO_MSG;
		c->tail = NO_MSG;
		c->ack_head = NO_MSG;
		c->ack_tail = NO_MSG;
		c->lowat = 1;
	}
	p->listener = -1;
	if (fresh) {
		p->port = fresh;
		p->listener = listen_on(to, family_of(p), p->port, cc);
	}
}

static void never_wait(int fd)
{
	if (ioctl(fd, FIONBIO, &(int){ 1 }))
		die("FIONBIO: %s", strerror(errno));
}

/* From port `sport`, or any when 0. */
static int open_tx(struct pair *p, uint16_t sport, bool wait)
{
	int fd, family = family_of(p);
	socklen_t len;
	union addr a;

	if (!p->fresh)
		p->port = find_listener(p->to, family, p->cc)->port;
	net_enter(p->from);
	fd = new_socket(family, p->cc);
	if (p->dscp && family == AF_INET6)
		set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, p->dscp << 2, "IPV6_TCLASS");
	else if (p->dscp)
		set_int(fd, IPPROTO_IP, IP_TOS, p->dscp << 2, "IP_TOS");
	len = make_addr(&a, family, NULL, sport);
	if (sport && bind(fd, &a.sa, len))
		die("port %u in namespace %s: %s", sport, net_ns_name(p->from), strerror(errno));
	if (!wait)
		never_wait(fd);
	len = make_addr(&a, family, p->dst, p->port);
	if (connect(fd, &a.sa, len) && errno != EINPROGRESS)
		die("connecting %s to %s: %s", net_ns_name(p->from), net_ns_name(p->to),
		    strerror(errno));
	return fd;
}

/*
 * Before any data: bytes count from here.  (Where this finds the SYN unanswered they are one more,
 * which is no matter: the end of a message is what is at or beyond it.)
 */
static void stamp_acks(int fd)
{
	set_int(fd, SOL_SOCKET, SO_TIMESTAMPING,
		SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
		SOF_TIMESTAMPING_OPT_TSONLY, "SO_TIMESTAMPING");
}

static int accept_on(int listener, int ns)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		die("accept in namespace %s: %s", net_ns_name(ns), strerror(errno));
	return fd;
}

static uint16_t conn_sport(const struct conn *c)
{
	const struct pair *p = &pairs.v[c->pair];

	return p->sport + (c - &conns.v[p->first_conn]);
}

/*
 * Opens the receive window of an idle connection by hand.  Before 6.11 a window
 * starts at 64 KB at most and grows only with data received, which would inflate
 * the sender's congestion window too.  TCP_REPAIR_WINDOW sets both ends' view.
 */
static void repair_window(struct conn *c)
{
	struct tcp_repair_window w;
	socklen_t len = sizeof(w);
	int fds[2] = { c->rx, c->tx };

	for (int i = 0; i < 2; i++) {
		set_int(fds[i], IPPROTO_TCP, TCP_REPAIR, 1, "TCP_REPAIR");
		if (getsockopt(fds[i], IPPROTO_TCP, TCP_REPAIR_WINDOW, &w, &len))
			die("TCP_REPAIR_WINDOW: %s", strerror(errno));
		if (i == 0) {
			w.rcv_wnd = rcvbuf / 2;
		} else {
			w.snd_wnd = rcvbuf / 2;
			w.max_window = rcvbuf / 2;
		}
		if (setsockopt(fds[i], IPPROTO_TCP, TCP_REPAIR_WINDOW, &w, sizeof(w)))
			die("TCP_REPAIR_WINDOW: %s", strerror(errno));
		set_int(fds[i], IPPROTO_TCP, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP, "TCP_REPAIR");
	}
	set_int(c->rx, IPPROTO_TCP, TCP_WINDOW_CLAMP, rcvbuf, "TCP_WINDOW_CLAMP");
}

static void tcp_info(int fd, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len))
		die("TCP_INFO: %s", strerror(errno));
}

static void exchange(const struct pair *p, int tx, int rx)
{
	if (sendfile(tx, payload, &(off_t){ 0 }, WARM_BYTES) != WARM_BYTES ||
	    recv(rx, NULL, WARM_BYTES, MSG_TRUNC | MSG_WAITALL) != WARM_BYTES)
		die("warming the connection %s to %s: %s", net_ns_name(p->from),
		    net_ns_name(p->to), strerror(errno));
}

/*
 * A window locked by the route binds a connection only once the kernel has metrics
 * of the destination, which the end of an earlier connection leaves behind.
 */
void load_prime(void)
{
	for (unsigned int i = 0; i < pairs.n; i++) {
		struct pair *p = &pairs.v[i];
		int tx, rx;

		if (p->fresh)
			continue;
		tx = open_tx(p, 0, true);
		rx = accept_on(find_listener(p->to, family_of(p), p->cc)->fd, p->to);
		exchange(p, tx, rx);
		reset_at_close(tx, false);
		reset_at_close(rx, false);
		close(tx);
		sleep_until(now_ns() + NSEC_PER_MSEC);
		close(rx);
	}
	sleep_until(now_ns() + NSEC_PER_MSEC);
}

static uint32_t longest_rtt_us;

/* Little is sent: enough to measure the RTT, too little to move a congestion window. */
static void warm(struct conn *c)
{
	const struct pair *p = &pairs.v[c->pair];
	struct tcp_info info;

	exchange(p, c->tx, c->rx);
	tcp_info(c->tx, &info);
	if (info.tcpi_rtt > longest_rtt_us)
		longest_rtt_us = info.tcpi_rtt;
	if (info.tcpi_snd_wnd >= need_window)
		return;
	repair_window(c);
	tcp_info(c->tx, &info);
	if (info.tcpi_snd_wnd < need_window)
		die("the receive window of %s to %s is %u bytes, the path needs %u",
		    net_ns_name(p->from), net_ns_name(p->to), info.tcpi_snd_wnd, need_window);
}

static void watch_conn(unsigned int i)
{
	struct epoll_event tx = { .events = EPOLLOUT | EPOLLET, .data.u64 = 2 * i };
	struct epoll_event rx = { .events = EPOLLIN, .data.u64 = 2 * i + 1 };
	struct conn *c = &conns.v[i];

	if (epoll_ctl(epfd, EPOLL_CTL_ADD, c->tx, &tx) ||
	    (c->rx >= 0 && epoll_ctl(epfd, EPOLL_CTL_ADD, c->rx, &rx)))
		die("epoll: %s", strerror(errno));
}

static void sample_conn(const struct conn *c)
{
	const struct pair *p = &pairs.v[c->pair];

	if (p->sample_id >= 0)
		net_lablink("sock %d %d", c->tx, p->sample_id);
}

/* On whose connections a message is that `lab explain` is to explain. */
void load_follow(unsigned int pair, unsigned int buffer_mb)
{
	if (pair >= pairs.n)
		die("connection %u is followed, which the plan did not open", pair);
	pairs.v[pair].follow_mb = buffer_mb;
}

/* From the next byte on. */
static void follow_conn(const struct conn *c)
{
	const struct pair *p = &pairs.v[c->pair];

	if (p->follow_mb)
		net_lablink("follow %d %d %u", c->tx, (int)(c - conns.v), p->follow_mb);
}

/*
 * Written: what has never been is read as the kernel's one page of zeros, the last of UML's memory,
 * and csum_partial() looks a few bytes beyond what it is given.
 */
static int make_payload(void)
{
	int fd = memfd_create("payload", MFD_CLOEXEC);
	char *p = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, WRITE_BYTES))
		p = mmap(NULL, WRITE_BYTES, PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("%d bytes to send: %s", WRITE_BYTES, strerror(errno));
	memset(p, 0x5a, WRITE_BYTES);
	munmap(p, WRITE_BYTES);
	return fd;
}

void load_settle(void)
{
	epfd = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (epfd < 0 || timer < 0)
		die("epoll or timerfd: %s", strerror(errno));
	payload = make_payload();
	/* the reset of a stopped flow; there is no MSG_NOSIGNAL for sendfile() */
	signal(SIGPIPE, SIG_IGN);
	sleep_until(now_ns() + SETTLE_NS);
}

void load_connect(void)
{
	uint64_t quiet_ns;

	for (unsigned int i = 0; i < conns.n; i++) {
		struct conn *c = &conns.v[i];
		struct pair *p = &pairs.v[c->pair];

		if (p->fresh)
			continue;
		c->tx = open_tx(p, conn_sport(c), true);
		c->rx = accept_on(find_listener(p->to, family_of(p), p->cc)->fd, p->to);
		stamp_acks(c->tx);
		warm(c);
		c->handed_over = WARM_BYTES;
		never_wait(c->tx);
		sample_conn(c);
		follow_conn(c);
		watch_conn(i);
	}
	/* the last ACKs are on their way */
	quiet_ns = 2000ULL * longest_rtt_us;
	sleep_until(now_ns() + (quiet_ns > WARM_QUIET_NS ? quiet_ns : WARM_QUIET_NS));
}

/* ---- the schedule ---- */

static void add_event(int64_t at_ns, int type, uint32_t arg)
{
	struct event *e = PUSH(events);

	e->at_ns = at_ns;
	e->type = type;
	e->arg = arg;
	e->order = events.n;
}

void load_message(unsigned int id, int pair, int64_t at_ns, int64_t bytes)
{
	struct msg *m = PUSH(msgs);

	if (pair < 0 || (unsigned int)pair >= pairs.n)
		die("message %u is on connection %d, which the plan did not open", id, pair);
	m->id = id;
	m->pair = pair;
	m->conn = -1;
	m->at_ns = at_ns;
	m->forever = bytes < 0;
	m->bytes = m->forever ? FOREVER : bytes;
	m->tx_left = m->bytes;
	m->rx_left = m->bytes;
	m->next_tx = NO_MSG;
	m->next_rx = NO_MSG;
	m->next_ack = NO_MSG;
	unfinished += !m->forever;
	unacked += !m->forever;
	add_event(at_ns, EV_MESSAGE, msgs.n - 1);
}

void load_stop(unsigned int id, int64_t at_ns)
{
	for (unsigned int i = 0; i < msgs.n; i++) {
		if (msgs.v[i].id == id) {
			add_event(at_ns, EV_STOP, i);
			return;
		}
	}
	die("message %u is stopped but never started", id);
}

void load_command(int ns, int64_t at_ns, const char *output, const char *command)
{
	struct command *c = PUSH(commands);

	c->ns = ns;
	c->text = strdup(command);
	if (output) {
		c->output = strdup(output);
		c->memory = memfd_create(output, MFD_CLOEXEC);
		if (c->memory < 0)
			die("%s: %s", output, strerror(errno));
	}
	add_event(at_ns, EV_COMMAND, commands.n - 1);
}

/* What the link device is told then. */
void load_fault(int64_t at_ns, const char *command)
{
	load_command(NS_INIT, at_ns, NULL, command);
	commands.v[commands.n - 1].to_links = true;
}

void load_program(int program, int64_t at_ns, int64_t stop_ns)
{
	add_event(at_ns, EV_PROGRAM, program);
	if (stop_ns == PROGRAM_NEVER)
		return;
	add_event(stop_ns, EV_PROGRAM_STOP, program);
	add_event(stop_ns + STOP_GRACE_NS, EV_PROGRAM_KILL, program);
}

static int event_cmp(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static uint64_t armed_ns;

static void arm_timer(uint64_t at_ns)
{
	struct itimerspec its = {
		.it_value = { at_ns / NSEC_PER_SEC, at_ns % NSEC_PER_SEC },
	};

	if (at_ns == armed_ns)
		return;
	armed_ns = at_ns;
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &its, NULL))
		die("timerfd: %s", strerror(errno));
}

/* ---- messages ---- */

static void set_lowat(struct conn *c)
{
	int64_t left = c->rx_head == NO_MSG ? 1 : msgs.v[c->rx_head].rx_left;
	unsigned int want = left < LOWAT_MAX ? left : LOWAT_MAX;

	if (c->rx < 0 || c->rx_head == NO_MSG || want == c->lowat)
		return;
	set_int(c->rx, SOL_SOCKET, SO_RCVLOWAT, want, "SO_RCVLOWAT");
	c->lowat = want;
}

static void note_progress(struct msg *m, const struct conn *c)
{
	struct tcp_info info;

	if (c->tx < 0)
		return;
	tcp_info(c->tx, &info);
	m->acked = info.tcpi_bytes_acked - m->acked_base;
	/* each counts once: for the message at the head, not for those behind it */
	if (c->rx_head == m - msgs.v)
		m->retrans = info.tcpi_total_retrans - m->retrans_base;
}

/* Writes until the buffer is full; the edge of EPOLLOUT says when it is not. */
static void pump(struct conn *c)
{
	while (c->tx_head != NO_MSG) {
		struct msg *m = &msgs.v[c->tx_head];

		while (m->tx_left) {
			size_t want = m->tx_left < WRITE_BYTES ? m->tx_left : WRITE_BYTES;
			ssize_t n = sendfile(c->tx, payload, &(off_t){ 0 }, want);

			if (n < 0 && errno != EAGAIN && errno != ENOTCONN)
				die("message %u: sendfile: %s", m->id, strerror(errno));
			if (n < 0)
				return;
			if (!m->forever)
				m->tx_left -= n;
			if ((size_t)n < want)
				return;
		}
		c->tx_head = m->next_tx;
	}
}

/* Of the connections between two hosts, the first idle one, else the least busy. */
static struct conn *choose_conn(const struct pair *p)
{
	struct conn *best = &conns.v[p->first_conn];

	for (unsigned int i = 0; i < p->nconns && best->pending; i++) {
		struct conn *c = &conns.v[p->first_conn + i];

		if (c->pending < best->pending)
			best = c;
	}
	return best;
}

static void await_ack(struct conn *c, struct msg *m)
{
	uint32_t index = m - msgs.v;

	c->handed_over += m->bytes;
	m->last_byte = c->handed_over - 1;
	if (c->ack_head == NO_MSG)
		c->ack_head = index;
	else
		msgs.v[c->ack_tail].next_ack = index;
	c->ack_tail = index;
}

/* All up to and including the byte `acked` arrived at `ns`. */
static void note_ack(struct conn *c, uint32_t acked, uint64_t ns)
{
	int32_t more = acked - (uint32_t)c->acked;

	if (more > 0)
		c->acked += more;
	while (c->ack_head != NO_MSG) {
		struct msg *m = &msgs.v[c->ack_head];

		if (c->acked < m->last_byte)
			return;
		m->end_ack_ns = ns;
		unacked--;
		c->ack_head = m->next_ack;
	}
}

static void read_stamp(struct conn *c, struct msghdr *hdr)
{
	const struct scm_timestamping *stamp = NULL;
	const struct sock_extended_err *err = NULL;
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
		if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_TIMESTAMPING)
			stamp = (const void *)CMSG_DATA(cmsg);
		else if ((cmsg->cmsg_level == SOL_IP && cmsg->cmsg_type == IP_RECVERR) ||
			 (cmsg->cmsg_level == SOL_IPV6 && cmsg->cmsg_type == IPV6_RECVERR))
			err = (const void *)CMSG_DATA(cmsg);
	}
	if (stamp && err && err->ee_origin == SO_EE_ORIGIN_TIMESTAMPING &&
	    err->ee_info == SCM_TSTAMP_ACK)
		note_ack(c, err->ee_data, stamp->ts[0].tv_sec * NSEC_PER_SEC +
			 stamp->ts[0].tv_nsec - real_minus_mono_ns);
}

/* A call that finds nothing would cost a nanosecond of the lab's time: ask for many at once. */
static void read_stamps(struct conn *c)
{
	char control[STAMPS][256];
	struct mmsghdr v[STAMPS];
	int n;

	do {
		memset(v, 0, sizeof(v));
		for (n = 0; n < STAMPS; n++) {
			v[n].msg_hdr.msg_control = control[n];
			v[n].msg_hdr.msg_controllen = sizeof(control[n]);
		}
		n = recvmmsg(c->tx, v, STAMPS, MSG_ERRQUEUE | MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			read_stamp(c, &v[i].msg_hdr);
	} while (n == STAMPS);
}

static void start_message(unsigned int index, uint64_t now)
{
	struct msg *m = &msgs.v[index];
	struct pair *p = &pairs.v[m->pair];
	struct conn *c = choose_conn(p);
	struct tcp_info info;

	m->conn = c - conns.v;
	m->started = true;
	m->start_ns = now;
	if (c->tx < 0 && p->fresh) {
		struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 2 * m->conn + 1 };

		c->tx = open_tx(p, conn_sport(c), false);
		stamp_acks(c->tx);
		follow_conn(c);
		watch_conn(m->conn);
		if (epoll_ctl(epfd, EPOLL_CTL_ADD, p->listener, &ev))
			die("epoll: %s", strerror(errno));
	}
	if (c->tx < 0)
		die("message %u starts on a connection that was stopped", m->id);
	tcp_info(c->tx, &info);
	m->acked_base = info.tcpi_bytes_acked;
	m->retrans_base = info.tcpi_total_retrans;

	if (c->tail != NO_MSG) {
		msgs.v[c->tail].next_tx = index;
		msgs.v[c->tail].next_rx = index;
	}
	c->tail = index;
	c->pending++;
	if (!m->forever)
		await_ack(c, m);
	if (c->rx_head == NO_MSG) {
		c->rx_head = index;
		set_lowat(c);
	}
	if (c->tx_head == NO_MSG) {
		c->tx_head = index;
		pump(c);
	}
}

static void accept_fresh(struct conn *c)
{
	struct pair *p = &pairs.v[c->pair];
	struct epoll_event rx = { .events = EPOLLIN, .data.u64 = 2 * (c - conns.v) + 1 };

	c->rx = accept_on(p->listener, p->to);
	if (epoll_ctl(epfd, EPOLL_CTL_ADD, c->rx, &rx))
		die("epoll: %s", strerror(errno));
	close(p->listener);
	set_lowat(c);
}

static void finish_message(struct msg *m, struct conn *c, uint64_t now)
{
	m->end_ns = now;
	m->done = true;
	note_progress(m, c);
	c->pending--;
	unfinished--;
	c->rx_head = m->next_rx;
	if (c->rx_head != NO_MSG)
		msgs.v[c->rx_head].retrans_base = m->retrans_base + m->retrans;
	if (c->tail == m - msgs.v)
		c->tail = NO_MSG;
}

static void receive(struct conn *c)
{
	uint64_t now = 0;
	ssize_t n;

	if (c->rx < 0) {
		if (pairs.v[c->pair].fresh)
			accept_fresh(c);
		return;
	}
	n = recv(c->rx, NULL, 1 << 30, MSG_TRUNC | MSG_DONTWAIT);
	if (n <= 0) {
		/* The reset of a stopped flow; an unexpected one would fail its sender. */
		if (n == 0 || errno != EAGAIN) {
			close(c->rx);
			c->rx = -1;
		}
		return;
	}
	while (n && c->rx_head != NO_MSG) {
		struct msg *m = &msgs.v[c->rx_head];

		if (m->forever)
			break;
		if (n < m->rx_left) {
			m->rx_left -= n;
			break;
		}
		n -= m->rx_left;
		m->rx_left = 0;
		if (!now)
			now = now_ns();
		finish_message(m, c, now);
	}
	set_lowat(c);
}

static void stop_message(struct msg *m, uint64_t now)
{
	struct conn *c;

	if (!m->started || m->done)
		return;
	c = &conns.v[m->conn];
	note_progress(m, c);
	m->stop_ns = now;
	m->done = true;
	if (!m->forever) {
		unfinished--;
		unacked--;
	}
	close(c->tx);
	c->tx = -1;
	c->tx_head = NO_MSG;
	c->rx_head = NO_MSG;
	c->ack_head = NO_MSG;
}

static void sender_ready(struct conn *c, uint32_t what)
{
	if (c->tx >= 0 && (what & EPOLLERR))
		read_stamps(c);
	if (c->tx_head != NO_MSG)
		pump(c);
}

/* ---- running ---- */

static void mark_wall(const char *name)
{
	/*
	 * The file's time of creation is the machine's own; virtual time cannot tell.
	 * What it holds is for who follows virtual time from outside.
	 */
	FILE *f = fopen(name, "w");

	if (!f || fprintf(f, "%llu\n", (unsigned long long)start_ns) < 0)
		die("%s: %s", name, strerror(errno));
	fclose(f);
}

/* To the nanosecond where a reading costs one. */
static void compare_clocks(void)
{
	struct timespec real;
	uint64_t before = now_ns(), after;

	clock_gettime(CLOCK_REALTIME, &real);
	after = now_ns();
	real_minus_mono_ns = real.tv_sec * NSEC_PER_SEC + real.tv_nsec - (before + after) / 2;
}

static void note_all_progress(void)
{
	for (unsigned int i = 0; i < msgs.n; i++)
		if (msgs.v[i].started && !msgs.v[i].done)
			note_progress(&msgs.v[i], &conns.v[msgs.v[i].conn]);
}

static void start_program(int program, uint64_t now)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT };

	ev.data.u64 = EPOLL_PROGRAM | program;
	if (epoll_ctl(epfd, EPOLL_CTL_ADD, program_start(program, now), &ev))
		die("epoll: %s", strerror(errno));
}

/* All programs that end the run have ended: the window ends here, not after its duration. */
static void finish_measure(void)
{
	if (now_ns() <= start_ns)
		die("the programs that end the run ended before the measurement began");
	net_lablink("finish");
	note_all_progress();
}

static const char *memory_path(const struct command *c)
{
	static char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", c->memory);
	return path;
}

static void carry_out(const struct command *c, int64_t at_ns)
{
	if (c->to_links)
		net_lablink("%s", c->text);
	else if (run_command(c->ns, c->text, c->output ? memory_path(c) : NULL))
		die("\"%s\" in namespace %s at %lld ns failed", c->text, net_ns_name(c->ns),
		    (long long)at_ns);
}

static void save_outputs(void)
{
	for (unsigned int i = 0; i < commands.n; i++)
		if (commands.v[i].output)
			save_file(memory_path(&commands.v[i]), commands.v[i].output);
}

static bool run_event(const struct event *e, uint64_t now)
{
	switch (e->type) {
	case EV_MESSAGE:
		start_message(e->arg, now);
		return true;
	case EV_STOP:
		stop_message(&msgs.v[e->arg], now);
		return true;
	case EV_COMMAND:
		carry_out(&commands.v[e->arg], e->at_ns);
		return true;
	case EV_PROGRAM:
		start_program(e->arg, now);
		return true;
	case EV_PROGRAM_STOP:
		program_stop(e->arg);
		return true;
	case EV_PROGRAM_KILL:
		program_kill(e->arg);
		return true;
	case EV_END:
		note_all_progress();
		return false;
	}
	return true;
}

void load_run(uint64_t duration_ns, uint64_t interval_ns, uint64_t drain_ns, uint64_t lead_ns)
{
	struct epoll_event tick = { .events = EPOLLIN | EPOLLET, .data.u64 = EPOLL_TIMER };
	struct epoll_event ready[64];
	bool measuring = true;
	unsigned int next = 0;
	uint64_t until;

	add_event(duration_ns + END_GAP_NS, EV_END, 0);
	qsort(events.v, events.n, sizeof(*events.v), event_cmp);
	compare_clocks();
	/* On a fixed grid of virtual time: the same timer ticks fall into every run. */
	start_ns = now_ns() + lead_ns + NSEC_PER_MSEC;
	start_ns += START_GRID_NS - start_ns % START_GRID_NS;
	end_ns = start_ns + duration_ns;
	until = end_ns + END_GAP_NS + drain_ns;
	if (!serve_wanted())
		net_lablink("measure %llu %llu %llu", (unsigned long long)start_ns,
			    (unsigned long long)duration_ns, (unsigned long long)interval_ns);
	if (epoll_ctl(epfd, EPOLL_CTL_ADD, timer, &tick))
		die("epoll: %s", strerror(errno));
	arm_timer(start_ns + events.v[0].at_ns);
	/* no files from here on: where idle time is skipped, waiting for one takes any time */
	mark_wall("wall.begin");
	sleep_until(start_ns + (events.v[0].at_ns < 0 ? events.v[0].at_ns : 0) - 1000);
	if (serve_wanted())
		serve_begin(epfd);

	while (measuring || unfinished || unacked) {
		int n = epoll_wait(epfd, ready, 64, -1);
		bool due = false, ended = false;

		if (n < 0 && errno != EINTR)
			die("epoll_wait: %s", strerror(errno));
		for (int i = 0; i < n; i++) {
			struct conn *c = &conns.v[ready[i].data.u64 / 2];

			if (ready[i].data.u64 == EPOLL_TIMER) {
				due = true;
			} else if (ready[i].data.u64 & EPOLL_PROGRAM) {
				if (program_ended((int)ready[i].data.u64) && measuring) {
					finish_measure();
					measuring = false;
					ended = true;
					next = events.n;
					until = now_ns() + drain_ns;
					arm_timer(until);
				}
			} else if (ready[i].data.u64 & EPOLL_SERVE) {
				serve_ready(ready[i].data.u64);
			} else if (ready[i].data.u64 & 1) {
				receive(c);
			} else {
				sender_ready(c, ready[i].events);
			}
		}
		if (serve_wanted())
			serve_rest();
		/* what the timer was set for before the end is over as well */
		if (!due || ended)
			continue;
		/*
		 * What the timer was set for is the time: to read the clock would
		 * move it, and make late what the links do in this nanosecond.
		 */
		while (next < events.n && start_ns + events.v[next].at_ns <= armed_ns) {
			const struct event *e = &events.v[next++];

			measuring &= run_event(e, start_ns + e->at_ns);
		}
		/* without a drain the end of the measurement is it */
		if (!measuring && armed_ns >= until)
			break;
		arm_timer(next < events.n && start_ns + events.v[next].at_ns < until ?
			  start_ns + events.v[next].at_ns : until);
	}
	mark_wall("wall.end");
	program_end_all();
	save_outputs();
}

void load_write_time(FILE *out, uint64_t ns)
{
	if (ns)
		fprintf(out, " %lld", (long long)(ns - start_ns));
	else
		fprintf(out, " -");
}

/* Where its connection has it, from the first byte that is followed on, modulo 2^32. */
static uint32_t first_byte(const struct msg *m)
{
	return m->last_byte + 1 - m->bytes - (pairs.v[m->pair].fresh ? 0 : WARM_BYTES);
}

void load_write(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		die("%s: %s", path, strerror(errno));
	fprintf(out, "# id start_ns end_ns end_ack_ns stop_ns acked_bytes retransmits");
	fprintf(out, " connection first_byte; - is never\n");
	for (unsigned int i = 0; i < msgs.n; i++) {
		const struct msg *m = &msgs.v[i];

		if (!m->started)
			continue;
		fprintf(out, "%u %lld", m->id, (long long)(m->start_ns - start_ns));
		load_write_time(out, m->end_ns);
		load_write_time(out, m->end_ack_ns);
		load_write_time(out, m->stop_ns);
		fprintf(out, " %llu %u %d %u\n", (unsigned long long)m->acked, m->retrans, m->conn,
			first_byte(m));
	}
	if (fclose(out))
		die("%s: %s", path, strerror(errno));
}
