// SPDX-License-Identifier: GPL-2.0
/*
 * bolt_xfer's socket options, each a word with a number:
 *	maxseg BYTES		TCP_MAXSEG
 *	nodelay 0|1		TCP_NODELAY (1 when not said)
 *	cork 0|1		TCP_CORK
 *	linger SECONDS		SO_LINGER
 *	sndbuf, rcvbuf BYTES	SO_SNDBUF, SO_RCVBUF
 *	pacing BYTES_PER_S	SO_MAX_PACING_RATE
 *	fastopen QLEN		TCP_FASTOPEN, of a listener
 *	fastopen-connect 0|1	TCP_FASTOPEN_CONNECT: the first send() connects
 *	keepalive SECONDS	SO_KEEPALIVE, idle and interval of SECONDS, three probes
 *	user-timeout MS		TCP_USER_TIMEOUT
 *	reuseport 0|1		SO_REUSEPORT
 *	zerocopy 0|1		SO_ZEROCOPY
 *	tx-delay US		TCP_TX_DELAY
 *	transparent 0|1		IP_TRANSPARENT, of IPv6 too
 *	notsent BYTES		TCP_NOTSENT_LOWAT
 *	device NAME		SO_BINDTODEVICE
 *	ao ADDR KEY		sign with TCP-AO (RFC 5925) towards ADDR
 */

#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "xfer.h"

#ifndef TCP_AO_ADD_KEY
#define TCP_AO_ADD_KEY	38

/* include/uapi/linux/tcp.h, since 6.7 */
struct tcp_ao_add {
	struct sockaddr_storage addr;
	char	 alg_name[64];
	int32_t	 ifindex;
	uint32_t flags;			/* set_current, set_rnext */
	uint16_t reserved2;
	uint8_t	 prefix, sndid, rcvid, maclen, keyflags, keylen, key[80];
} __attribute__((aligned(8)));
#endif

static const struct option {
	const char *name;
	int level, opt;
} options[] = {
	{ "maxseg",		IPPROTO_TCP,	TCP_MAXSEG },
	{ "nodelay",		IPPROTO_TCP,	TCP_NODELAY },
	{ "cork",		IPPROTO_TCP,	TCP_CORK },
	{ "fastopen",		IPPROTO_TCP,	TCP_FASTOPEN },
	{ "fastopen-connect",	IPPROTO_TCP,	TCP_FASTOPEN_CONNECT },
	{ "user-timeout",	IPPROTO_TCP,	TCP_USER_TIMEOUT },
	{ "notsent",		IPPROTO_TCP,	TCP_NOTSENT_LOWAT },
	{ "keepalive",		IPPROTO_TCP,	TCP_KEEPIDLE },
	{ "tx-delay",		IPPROTO_TCP,	TCP_TX_DELAY },
	{ "transparent",	IPPROTO_IP,	IP_TRANSPARENT },
	{ "sndbuf",		SOL_SOCKET,	SO_SNDBUF },
	{ "rcvbuf",		SOL_SOCKET,	SO_RCVBUF },
	{ "pacing",		SOL_SOCKET,	SO_MAX_PACING_RATE },
	{ "linger",		SOL_SOCKET,	SO_LINGER },
	{ "reuseport",		SOL_SOCKET,	SO_REUSEPORT },
	{ "zerocopy",		SOL_SOCKET,	SO_ZEROCOPY },
};

static struct {
	const struct option *o;
	int value;
} kept[16];

static unsigned int n_kept;
static const char *device, *ao_addr, *ao_key;

static void set(int level, int opt, const void *value, socklen_t len, const char *name)
{
	if (setsockopt(fd, level, opt, value, len))
		errx(1, "%s: %s", name, strerror(errno));
}

static void apply(const struct option *o, int value)
{
	struct linger linger = { 1, value };
	int one = 1, three = 3;

	if (o->opt == SO_LINGER && o->level == SOL_SOCKET) {
		set(o->level, o->opt, &linger, sizeof(linger), o->name);
		return;
	}
	set(o->level, o->opt, &value, sizeof(value), o->name);
	if (o->opt == TCP_KEEPIDLE && o->level == IPPROTO_TCP) {
		set(o->level, TCP_KEEPINTVL, &value, sizeof(value), o->name);
		set(o->level, TCP_KEEPCNT, &three, sizeof(three), o->name);
		set(SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one), o->name);
	}
}

static void apply_ao(void)
{
	struct tcp_ao_add ao = { .alg_name = "hmac(sha1)", .sndid = 100, .rcvid = 100 };
	struct sockaddr_storage ss;

	to_sockaddr(&ss, ao_addr, 0);
	memcpy(&ao.addr, &ss, sizeof(ss));
	ao.prefix = ss.ss_family == AF_INET ? 32 : 128;
	ao.keylen = strlen(ao_key);
	memcpy(ao.key, ao_key, ao.keylen);
	set(IPPROTO_TCP, TCP_AO_ADD_KEY, &ao, sizeof(ao), "TCP_AO_ADD_KEY");
}

void opt_apply(void)
{
	unsigned int i;

	for (i = 0; i < n_kept; i++)
		apply(kept[i].o, kept[i].value);
	if (device)
		set(SOL_SOCKET, SO_BINDTODEVICE, device, strlen(device) + 1, "device");
	if (ao_key)
		apply_ao();
}

int opt_word(const char *w)
{
	unsigned int i;
	int value;

	if (!strcmp(w, "device")) {
		device = next(w);
		return 1;
	}
	if (!strcmp(w, "ao")) {
		ao_addr = next(w);
		ao_key = next(w);
		return 1;
	}
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strcmp(w, options[i].name))
			continue;
		value = number(w);
		if (fd >= 0) {
			apply(&options[i], value);
		} else {
			if (n_kept == sizeof(kept) / sizeof(kept[0]))
				errx(1, "too many options");
			kept[n_kept].o = &options[i];
			kept[n_kept++].value = value;
		}
		return 1;
	}
	return 0;
}
