// SPDX-License-Identifier: GPL-2.0
/*
 * A middlebox between two hosts: frames from one device leave through the other, with TCP segments
 * changed as the rules say, and with correct checksums.  attack_receiver.sh, bolt_recovery.py and
 * mbox_option.sh put it where a real one, or a receiver that lies, would be.
 *
 * usage: bolt_mbox CLIENT-DEVICE SERVER-DEVICE [RULE [up|down] [port N] [after N] [on FILE]]...
 *
 * A rule is for what comes from the client (up) or goes to it (down), by default for both, and for
 * connections with that port at either end (port N).  The first N segments that it would change
 * pass as they are (after N), or all do until FILE exists (on FILE).
 *
 *	strip-syn, strip-synack, strip-data, strip-ack, strip
 *				NOPs for the option: on SYNs, on SYN-ACKs, on segments with
 *				payload, on those without, on all
 *	flags XX		exclusive-or of the option's flags with hexadecimal XX
 *	stale			the first option seen this way takes the place of all later ones
 *	reflect			an option gets the place of that which last came the other way
 *	inc N			for a receiver that lies: each segment without payload counts N
 *				packets with INC more than the one before it did
 *	older N			likewise: what it echoes left N us earlier, or later where N < 0
 *	ahead N			likewise: it echoes the Nth departure behind what it received, as
 *				far apart as the last two
 *	waited N		likewise: data waited N us at the receiver, 133 ms at most
 *	echo-syn		the SYN's option of four bytes is put onto the SYN-ACK, as some
 *				do with what they do not know
 *	swap			segments with payload trade options with the one before
 *	split N			payload leaves in segments of N bytes, each with all options
 *	merge			segments with payload that follow each other leave as one, with
 *				the options of the first
 *	lose LIST		segments with payload, counted by sequence number from 1 in units of
 *				the first: 1,5-8x2 are the first, and 5 to 8 twice each
 *
 * Prints "ready" first; ends on SIGTERM and prints what it has done.  The option is taken apart
 * by code of its own.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define OPTION		12	/* bytes of the full form */
#define FRAME_MAX	65536
#define LOSE_MAX	256	/* segments of a connection that may be lost */

enum kind { SYN, SYNACK, DATA, ACK, ANY };

enum action {
	STRIP, FLAGS, STALE, REFLECT, INC, OLDER, AHEAD, WAITED, ECHO_SYN, SWAP, SPLIT, MERGE, LOSE
};

struct rule {
	enum action action;
	enum kind kind;
	unsigned int ways;		/* bit 0: up, bit 1: down */
	unsigned int arg;
	unsigned int port;		/* 0: any */
	uint8_t inc;			/* how much INC says too much */
	uint32_t tx;			/* what the ACK before echoed */
	unsigned long after;
	const char *on;			/* NULL once the file was seen */
	unsigned long seen[2], done;
	uint8_t opt[2][OPTION];		/* one per way, as the rule needs it */
	bool have[2];
	uint8_t lose[LOSE_MAX];		/* how often yet, by number */
	uint32_t lose_seq, lose_len;	/* of the first segment; 0: not seen yet */
};

/* A TCP segment within its frame; NULL pointers where there is none */
struct seg {
	uint8_t *l3, *th, *opt;		/* opt: Bolt's, of either form */
	unsigned int family, doff, opt_len, payload;
};

static struct rule rules[8];
static unsigned int n_rules;
static int fds[2];			/* client's side, server's side */
static unsigned long forwarded, refused, bad;
static volatile sig_atomic_t ending;

static struct {
	uint8_t frame[FRAME_MAX];
	unsigned int len;
	int way;
} held;					/* what MERGE waits with */

static unsigned int tcp_sum(const struct seg *s)
{
	unsigned int len = s->doff + s->payload;
	uint32_t v;

	v = s->family == 4 ? sum(s->l3 + 12, 8, 6 + len) : sum(s->l3 + 8, 32, 6 + len);
	return sum(s->th, len, v);
}

/* Lengths and checksums, after whatever was done to the segment */
static void mend(struct seg *s)
{
	if (s->family == 4) {
		put16(s->l3 + 2, s->th - s->l3 + s->doff + s->payload);
		put16(s->l3 + 10, 0);
		put16(s->l3 + 10, ~sum(s->l3, s->th - s->l3, 0));
	} else {
		put16(s->l3 + 4, s->doff + s->payload);
	}
	put16(s->th + 16, 0);
	put16(s->th + 16, ~tcp_sum(s));
}

static void find_option(struct seg *s)
{
	uint8_t *p = s->th + 20, *end = s->th + s->doff;

	s->opt = NULL;
	while (p < end && *p) {
		if (*p == 1) {
			p++;
			continue;
		}
		if (end - p < 2 || p[1] < 2 || p[1] > end - p)
			return;
		if (p[0] == 254 && p[1] >= 4 && be16(p + 2) == 0xb017) {
			s->opt = p;
			s->opt_len = p[1];
			return;
		}
		p += p[1];
	}
}

static bool take_apart(uint8_t *frame, unsigned int len, struct seg *s)
{
	unsigned int l4len;

	memset(s, 0, sizeof(*s));
	if (len < 14 + 40)
		return false;
	s->l3 = frame + 14;
	if (be16(frame + 12) == ETH_P_IP && s->l3[9] == 6) {
		s->family = 4;
		s->th = s->l3 + (s->l3[0] & 15) * 4;
		l4len = be16(s->l3 + 2) - (s->th - s->l3);
	} else if (be16(frame + 12) == ETH_P_IPV6 && s->l3[6] == 6) {
		s->family = 6;
		s->th = s->l3 + 40;
		l4len = be16(s->l3 + 4);
	} else {
		return false;
	}
	if (l4len < 20 || s->th + l4len > frame + len)
		return false;
	s->doff = (s->th[12] >> 4) * 4;
	if (s->doff < 20 || s->doff > l4len)
		return false;
	s->payload = l4len - s->doff;
	find_option(s);
	if (tcp_sum(s) == 0xffff)
		return true;
	bad++;
	return false;
}

static bool is_kind(const struct seg *s, enum kind kind)
{
	bool syn = s->th[13] & 2, ack = s->th[13] & 16;

	switch (kind) {
	case SYN:
		return syn && !ack;
	case SYNACK:
		return syn && ack;
	case DATA:
		return !syn && s->payload;
	case ACK:
		return !syn && !s->payload;
	case ANY:
		return true;
	}
	return false;
}

static void transmit(const uint8_t *frame, unsigned int len, int way)
{
	if (send(fds[!way], frame, len, 0) == (ssize_t)len)
		forwarded++;
	else
		refused++;
}

static void flush(void)
{
	if (held.len)
		transmit(held.frame, held.len, held.way);
	held.len = 0;
}

/* Does the rule hold for this segment, which it is about? */
static bool applies(struct rule *r, int way)
{
	if (r->on && access(r->on, F_OK))
		return false;
	r->on = NULL;
	return r->seen[way]++ >= r->after;
}

static void echo_syn(struct rule *r, struct seg *s, int way, unsigned int *len)
{
	if (is_kind(s, SYN) && s->opt && s->opt_len == 4) {
		memcpy(r->opt[0], s->opt, 4);
		r->have[0] = true;
	} else if (way == 1 && is_kind(s, SYNACK) && r->have[0] && !s->opt && s->doff <= 56) {
		memcpy(s->th + s->doff, r->opt[0], 4);
		s->doff += 4;
		s->th[12] = s->doff / 4 << 4;
		*len += 4;
		r->done++;
	}
}

/* Remote queuing of so many us: m << e units of 16 ns, e in 4 bits and m in 8 */
static unsigned int wait_of(unsigned int us)
{
	unsigned int m = us < 133000 ? us * 1000 / 16 : 255 << 15, e = 0;

	while (m >> e > 255)
		e++;
	return e << 8 | m >> e;
}

/* What a receiver says with an ACK; it may know of what it has not received */
static void lie(struct rule *r, struct seg *s, int way)
{
	uint32_t tx;

	if (!s->opt || s->opt_len != OPTION || s->payload || !applies(r, way))
		return;
	tx = be32(s->opt + 6);
	if (r->action == INC)
		s->opt[5] += r->inc += r->arg;
	else if (r->action == OLDER)
		put32(s->opt + 6, tx - 1000 * r->arg);
	else if (r->action == AHEAD)
		put32(s->opt + 6, tx + r->arg * (tx - r->tx));
	else
		put16(s->opt + 10, (be16(s->opt + 10) & 0xf000) | wait_of(r->arg));
	r->tx = tx;
	r->done++;
}

/* One of those that exchange the full form for another */
static void exchange(struct rule *r, struct seg *s, int way)
{
	uint8_t now[OPTION];
	int from = r->action == REFLECT ? !way : way;
	bool use = r->have[from];

	if (!s->opt || s->opt_len != OPTION || (r->action == SWAP && !s->payload))
		return;
	memcpy(now, s->opt, OPTION);
	if (applies(r, way) && use) {
		memcpy(s->opt, r->opt[from], OPTION);
		r->done++;
	}
	if (r->action != STALE || !r->have[way])
		memcpy(r->opt[way], now, OPTION);
	r->have[way] = true;
}

/* The segment's frame has to be the buffer's first @len bytes; both may change. */
static void change(struct rule *r, struct seg *s, int way, unsigned int *len)
{
	switch (r->action) {
	case STRIP:
		if (s->opt && is_kind(s, r->kind) && applies(r, way)) {
			memset(s->opt, 1, s->opt_len);
			find_option(s);
			r->done++;
		}
		break;
	case FLAGS:
		if (s->opt && s->opt_len == OPTION && applies(r, way)) {
			s->opt[4] ^= r->arg;
			r->done++;
		}
		break;
	case ECHO_SYN:
		echo_syn(r, s, way, len);
		break;
	case STALE:
	case REFLECT:
	case SWAP:
		exchange(r, s, way);
		break;
	case INC:
	case OLDER:
	case AHEAD:
	case WAITED:
		lie(r, s, way);
		break;
	case SPLIT:
	case MERGE:
	case LOSE:
		break;
	}
}

static bool loses(struct rule *r, const struct seg *s, int way)
{
	uint32_t n;

	if (r->action != LOSE || !is_kind(s, DATA) || !applies(r, way))
		return false;
	if (!r->lose_len) {
		r->lose_seq = be32(s->th + 4);
		r->lose_len = s->payload;
	}
	n = (be32(s->th + 4) - r->lose_seq) / r->lose_len + 1;
	if (n >= LOSE_MAX || !r->lose[n])
		return false;
	r->lose[n]--;
	r->done++;
	return true;
}

static void split(struct rule *r, const uint8_t *frame, const struct seg *s, int way)
{
	unsigned int head = s->th - frame + s->doff, at, n;
	uint8_t out[FRAME_MAX];
	struct seg o = *s;

	o.l3 = out + 14;
	o.th = out + (s->th - frame);
	for (at = 0; at < s->payload; at += n) {
		n = s->payload - at < r->arg ? s->payload - at : r->arg;
		memcpy(out, frame, head);
		memcpy(out + head, frame + head + at, n);
		put32(o.th + 4, be32(s->th + 4) + at);
		o.payload = n;
		if (at + n < s->payload)
			o.th[13] &= ~9;		/* FIN and PSH belong to the last */
		mend(&o);
		transmit(out, head + n, way);
		r->done++;
	}
}

/* Returns whether the segment joined the one that waits, or waits itself now. */
static bool merge(struct rule *r, const uint8_t *frame, unsigned int len, const struct seg *s,
		  int way)
{
	struct seg h;

	if (held.len && (held.way != way || !is_kind(s, DATA) ||
			 !take_apart(held.frame, held.len, &h) || be16(h.th) != be16(s->th) ||
			 be32(h.th + 4) + h.payload != be32(s->th + 4)))
		flush();
	if (held.len) {
		memcpy(held.frame + held.len, s->th + s->doff, s->payload);
		held.len += s->payload;
		h.payload += s->payload;
		h.th[13] |= s->th[13] & 9;
		mend(&h);
		r->done++;
		flush();
		return true;
	}
	if (!is_kind(s, DATA))
		return false;
	held.len = s->th - frame + s->doff + s->payload;
	memcpy(held.frame, frame, held.len < len ? held.len : len);
	held.way = way;
	return true;
}

static void frame_in(uint8_t *frame, unsigned int len, int way)
{
	struct rule *last = NULL;
	unsigned int i;
	struct seg s;

	if (!take_apart(frame, len, &s)) {
		flush();
		transmit(frame, len, way);
		return;
	}
	for (i = 0; i < n_rules; i++) {
		struct rule *r = &rules[i];

		if (!(r->ways & 1 << way) ||
		    (r->port && be16(s.th) != r->port && be16(s.th + 2) != r->port))
			continue;
		if (loses(r, &s, way))
			return;
		if (r->action == SPLIT || r->action == MERGE)
			last = r;
		else
			change(r, &s, way, &len);
	}
	mend(&s);
	if (last && last->action == MERGE && merge(last, frame, len, &s, way))
		return;
	if (last && last->action == SPLIT && is_kind(&s, DATA) && s.payload > last->arg)
		split(last, frame, &s, way);
	else
		transmit(frame, len, way);
}

static int open_device(const char *name)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd, one = 1, size = 64 << 20;

	fd = socket(AF_PACKET, SOCK_RAW, 0);
	sll.sll_ifindex = if_nametoindex(name);
	if (fd < 0 || !sll.sll_ifindex)
		errx(1, "%s: %s", name, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    bind(fd, (void *)&sll, sizeof(sll)))
		errx(1, "%s: %s", name, strerror(errno));
	return fd;
}

static char **words;

static unsigned long number(int base)
{
	if (!*words)
		errx(1, "an argument is missing");
	return strtoul(*words++, NULL, base);
}

static void read_list(struct rule *r)
{
	unsigned long first, times, last;
	char *at = *words;

	if (!at)
		errx(1, "lose: what?");
	do {
		first = strtoul(at, &at, 10);
		last = first;
		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		times = *at == 'x' ? strtoul(at + 1, &at, 10) : 1;
		if (!first || last >= LOSE_MAX || (*at && *at != ','))
			errx(1, "lose: what is %s?", *words);
		for (; first <= last; first++)
			r->lose[first] = times;
	} while (*at++);
	words++;
}

static void read_rule(struct rule *r)
{
	static const struct {
		const char *name;
		enum action action;
		enum kind kind;
		int base;		/* of its argument, 0: has none */
	} known[] = {
		{ "strip-syn", STRIP, SYN, 0 },		{ "strip-synack", STRIP, SYNACK, 0 },
		{ "strip-data", STRIP, DATA, 0 },	{ "strip-ack", STRIP, ACK, 0 },
		{ "strip", STRIP, ANY, 0 },		{ "flags", FLAGS, ANY, 16 },
		{ "stale", STALE, ANY, 0 },		{ "reflect", REFLECT, ANY, 0 },
		{ "inc", INC, ACK, 10 },		{ "older", OLDER, ACK, 10 },
		{ "ahead", AHEAD, ACK, 10 },		{ "waited", WAITED, ACK, 10 },
		{ "echo-syn", ECHO_SYN, ANY, 0 },	{ "swap", SWAP, DATA, 0 },
		{ "split", SPLIT, DATA, 10 },		{ "merge", MERGE, DATA, 0 },
		{ "lose", LOSE, DATA, 0 },
	};
	const char *w = *words++;
	unsigned int i, n = sizeof(known) / sizeof(known[0]);

	for (i = 0; i < n && strcmp(w, known[i].name); i++)
		;
	if (i == n)
		errx(1, "what is %s?", w);
	r->action = known[i].action;
	r->kind = known[i].kind;
	r->ways = 3;
	if (known[i].base)
		r->arg = number(known[i].base);
	if (r->action == LOSE)
		read_list(r);
	if (r->action == SPLIT && !r->arg)
		errx(1, "split: into what?");
	for (; *words; ) {
		if (!strcmp(*words, "up")) {
			r->ways = 1;
			words++;
		} else if (!strcmp(*words, "down")) {
			r->ways = 2;
			words++;
		} else if (!strcmp(*words, "port")) {
			words++;
			r->port = number(10);
		} else if (!strcmp(*words, "after")) {
			words++;
			r->after = number(10);
		} else if (!strcmp(*words, "on") && words[1]) {
			r->on = words[1];
			words += 2;
		} else {
			break;
		}
	}
}

static void end(int sig)
{
	(void)sig;
	ending = 1;
}

static void forward_all(void)
{
	static uint8_t buf[FRAME_MAX];
	struct pollfd pfd[2] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };
	/* as long as an interface that merges waits for more */
	const struct timespec hold = { 0, 50000 };
	int way;

	while (!ending) {
		if (ppoll(pfd, 2, held.len ? &hold : NULL, NULL) <= 0) {
			flush();
			continue;
		}
		for (way = 0; way < 2; way++) {
			ssize_t len = recv(fds[way], buf, sizeof(buf) - 64, MSG_DONTWAIT);

			if (len > 0)
				frame_in(buf, len, way);
		}
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = end };
	unsigned long done = 0;
	unsigned int i;

	if (argc < 3)
		errx(1, "usage: bolt_mbox CLIENT-DEVICE SERVER-DEVICE [RULE...]");
	prctl(PR_SET_TIMERSLACK, 1);
	fds[0] = open_device(argv[1]);
	fds[1] = open_device(argv[2]);
	for (words = argv + 3; *words;) {
		if (n_rules == sizeof(rules) / sizeof(rules[0]))
			errx(1, "too many rules");
		read_rule(&rules[n_rules++]);
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	printf("ready\n");
	fflush(stdout);
	forward_all();
	for (i = 0; i < n_rules; i++)
		done += rules[i].done;
	printf("done changed=%lu forwarded=%lu refused=%lu bad=%lu\n", done, forwarded, refused,
	       bad);
	return 0;
}
